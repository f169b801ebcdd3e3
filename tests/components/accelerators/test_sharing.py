"""Cards of 2026 and cards that pods share: counts, names, plugins, labels, jobs, NCCL."""

import json
from collections.abc import Callable
from datetime import date
from typing import Any

import pytest
import yaml

from components.machines.bootstrap import machine_labels
from components.making.manifest import CONFIGURATION_ANNOTATION, Json
from components.site import objects_by_name
from components.training.request import Template
from policies import Object
from policies.judge import judge
from schemas.facts.quotas import supply
from schemas.facts.sharing import devices_of_pod
from schemas.facts.site import Site
from schemas.model.accelerators import AcceleratorModel
from schemas.model.site_file import Pool
from schemas.reading.catalogue import accelerator_catalogue, hardware_catalogue
from tests.kit.accelerator_sites import (
    FILE,
    OWN_RELEASE,
    bodies,
    loaded,
)
from tests.kit.accelerator_sites import site as osaka
from tests.kit.sharing_sites import (
    MI300X,
    RAILS,
    ROCE,
    SHARED,
    SLICES,
    mi300x,
    operated_slices,
    settings,
    slices,
)
from tests.kit.training_site import made, refused, request

MODELS, PROFILES = accelerator_catalogue().entries, hardware_catalogue().entries
SITES: dict[str, Callable[[], Site]] = {
    "mi300x": mi300x,
    "slices": slices,
    "operated": lambda: operated_slices(mps=4),
}


def pool(site: Site, name: str) -> Pool:
    return next(each for each in site.file.pools if each.name == name)


def plugin(site: Site, name: str) -> tuple[Json, Json]:
    template = bodies(site, "DaemonSet")[f"device-plugin-{name}"]["spec"]["template"]
    (box,) = template["spec"]["containers"]
    return template, box


@pytest.mark.parametrize("name", sorted(MODELS))
def test_every_model_of_the_catalogue_can_be_served(name: str) -> None:
    """A site with one pool of it has no problem, and each of its programs an image."""
    profiles = [each for each, profile in PROFILES.items()
                if profile.accelerators and profile.accelerators.model == name]  # fmt: skip
    assert profiles, "no hardware profile has it"
    record: AcceleratorModel = MODELS[name]
    assert record.health and record.memory_gib and record.pci.devices
    for way in ("admission", "dra")[: 2 if record.dra else 1]:
        pools = [{**each, "hardware": profiles[0]} if each["name"] == "h100" else each
                 for each in FILE["pools"]]  # fmt: skip
        found = loaded({**settings(), "model_by": way}, pools=pools, release=OWN_RELEASE,
                       cluster={**FILE["cluster"], "kubernetes": "v1.36.3"})  # fmt: skip
        assert [str(each) for each in found.problems] == []
        assert found.site is not None
        kind, one = ("DeviceClass", f"{name}.preferred.jp") if way == "dra" else (
            "DaemonSet", "device-plugin-h100")  # fmt: skip
        assert one in bodies(found.site, kind)


def broken(site: Site) -> set[str]:
    every = [Object(each.target.value, each.body) for each in objects_by_name(site).values()]
    found = judge(every, date(2026, 11, 24), []).violations
    return {f"{each.rule.name}: {each.object.title}" for each in found}


@pytest.mark.parametrize("name", SITES)
def test_the_sites_keep_every_policy(name: str) -> None:
    assert broken(SITES[name]()) - broken(osaka()) == set()


def test_a_card_in_slices_counts_as_slices_for_pods_and_as_one_for_repairs() -> None:
    site = slices()
    h100 = pool(site, "h100")
    devices = site.devices(h100)
    assert (site.model(h100), devices, devices_of_pod(h100, devices)) == (SLICES, 56, 1)
    assert supply(site, SLICES).devices == 3 * 56
    expected = bodies(site, "ConfigMap")["expected-devices-h100"]["data"]
    assert (expected["count"], expected["sharing"]) == ("8", "1g-10gb")
    assert site.accelerators[SLICES].reset is None and site.accelerators[SLICES].memory_gib == 10


def test_the_plugin_makes_a_resource_of_slices_and_pods_get_it_by_the_sites_name() -> None:
    site = slices()
    _, box = plugin(site, "h100")
    assert {"name": "MIG_STRATEGY", "value": "mixed"} in box["env"]
    assert box["securityContext"]["capabilities"]["add"] == ["SYS_ADMIN"]
    (policy,) = bodies(site, "MutatingAdmissionPolicy").values()
    said = {each["name"]: each["expression"] for each in policy["spec"]["variables"]}
    assert json.loads(said["plugin"])[f"preferred.jp/{SLICES}"] == "nvidia.com/mig-1g.10gb"
    assert json.loads(said["node"])[f"preferred.jp/{SLICES}"] == SLICES
    assert json.loads(said["most"])[f"preferred.jp/{SLICES}"] == 1
    assert machine_labels(site, pool(site, "h100"))["node.cluster.x-k8s.io/accelerator"] == SLICES


def test_turns_are_a_configuration_of_the_pools_plugin_which_restarts_with_it() -> None:
    site = slices()
    template, box = plugin(site, "t4")
    (name,) = (v["configMap"]["name"] for v in template["spec"]["volumes"] if "configMap" in v)
    config = yaml.safe_load(bodies(site, "ConfigMap")[name]["data"]["config.yaml"])
    assert config["sharing"] == {"timeSlicing": {
        "failRequestsGreaterThanOne": True,
        "resources": [{"name": "nvidia.com/gpu", "replicas": 4}]}}  # fmt: skip
    assert {"name": "CONFIG_FILE", "value": "/etc/device-plugin/config.yaml"} in box["env"]
    assert CONFIGURATION_ANNOTATION in template["metadata"]["annotations"]
    assert (site.devices(pool(site, "t4")), site.model(pool(site, "t4"))) == (4, SHARED)


@pytest.mark.parametrize("way", ["mps", "time_slicing"])
def test_the_operator_divides_by_labels_of_nodes(way: str) -> None:
    site = operated_slices(**{way: 4})
    assert machine_labels(site, pool(site, "h100"))["nvidia.com/mig.config"] == "all-1g.10gb"
    # With another number the label names another part: the plugin does not read the same one again.
    key, kind = {"mps": ("t4-mps-4", "mps"), "time_slicing": ("t4-shared-4", "timeSlicing")}[way]
    assert machine_labels(site, pool(site, "t4"))["nvidia.com/device-plugin.config"] == key
    (policy,) = bodies(site, "ClusterPolicy").values()
    assert policy["spec"]["mig"] == {"strategy": "mixed"}
    assert policy["spec"]["migManager"]["enabled"]
    chosen = policy["spec"]["devicePlugin"]["config"]
    data = bodies(site, "ConfigMap")[chosen["name"]]["data"]
    assert set(data) == {chosen["default"], key}
    assert list(yaml.safe_load(data[key])["sharing"]) == [kind]


def test_dra_selects_slices_by_their_profile() -> None:
    cluster = {**FILE["cluster"], "kubernetes": "v1.36.3"}
    site = slices(model_by="dra", turns=False, cluster=cluster, release="2026.12")
    (each,) = (b for n, b in bodies(site, "DeviceClass").items() if n.startswith(SLICES))
    texts = [s["cel"]["expression"] for s in each["spec"]["selectors"]]
    assert texts[-1] == 'device.attributes["gpu.nvidia.com"].?profile.orValue("") == "1g.10gb"'
    assert any('"mig"' in text for text in texts) and not any('"gpu"' in text for text in texts)


def test_jobs_ask_for_one_slice_each_and_the_team_may_use_all() -> None:
    (service, job) = made(slices(), request(model=SLICES, workers=100))
    box = job["spec"]["template"]["spec"]["containers"][0]
    assert box["resources"]["limits"][f"preferred.jp/{SLICES}"] == "1"
    assert [each.option for each in refused(slices(), request(model=SLICES, per_worker=2))]
    assert service


def test_nccl_gets_what_follows_from_the_rails() -> None:
    wanted = request(model=MI300X, workers=2, rdma=True)
    (job,) = (each for each in made(mi300x(), wanted) if each["kind"] == "Job")
    pod = job["spec"]["template"]["spec"]
    env = {each["name"]: each.get("value") for each in pod["containers"][0]["env"]}
    assert env["NCCL_IB_HCA"] == "=" + ",".join(ROCE["rdma"][0]["hcas"])
    assert env["NCCL_CROSS_NIC"] == "0"
    # With the host's network nobody knows which interface has its address.
    assert pod["hostNetwork"] and "NCCL_SOCKET_IFNAME" not in env
    limits = pod["containers"][0]["resources"]["limits"]
    assert sum(each.startswith("rdma/") for each in limits) == RAILS
    mpi = made(mi300x(), request(Template.MPI, model=MI300X, workers=2, rdma=True))
    assert f"NCCL_IB_HCA={env['NCCL_IB_HCA']}" in json.dumps(mpi)


@pytest.mark.parametrize(
    ("word", "wrong"),
    [("NCCL_CROSS_NIC=1", True), ("NCCL_CROSS_NIC=0", False), ("NCCL_DEBUG=INFO", False)],
)
def test_a_value_of_a_teams_own_that_contradicts_the_rails_is_refused(
    word: str, wrong: bool
) -> None:
    wanted: Any = request(model=MI300X, workers=2, rdma=True, command=("env", word, "train"))
    if not wrong:
        made(mi300x(), wanted)
        return
    (refusal,) = refused(mi300x(), wanted)
    assert refusal.option == "--command" and "NCCL_CROSS_NIC=0" in refusal.fix
