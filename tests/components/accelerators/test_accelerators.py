"""The objects that serve the accelerators of a site: plugins, exporters, labels, the operator,
classes."""

import re
from dataclasses import replace
from typing import Any

import pytest

from components.accelerators.names import NAMESPACE
from components.accelerators.objects import objects
from components.effects.placement import Fit, fits, tolerating
from components.machines.fleet import side_of
from components.making.manifest import Json, Target
from schemas.facts.site import Site
from schemas.kubernetes.node_labels import is_system_label
from tests.kit.accelerator_sites import (
    H100,
    MNCORE,
    OWN,
    SETTINGS,
    T4,
    V100,
    bodies,
    by_dra,
    manifests,
    only,
    operated_by,
    site,
)

POOLS = ("v100", "h100", "t4", "mncore")
IMAGES = site().release.images


def pod_of(of: Site, daemon: str) -> Json:
    spec: Json = bodies(of, "DaemonSet")[daemon]["spec"]["template"]["spec"]
    return spec


def container(of: Site, daemon: str) -> Json:
    (found,) = pod_of(of, daemon)["containers"]
    assert isinstance(found, dict)
    return found


def test_a_site_that_serves_none_has_no_objects() -> None:
    assert objects(site(settings=None)) == []


def test_all_is_on_the_sites_own_cluster_and_in_the_components_namespace() -> None:
    for each in objects(site()):
        assert each.target is Target.SITE
        assert each.key[2] in ("", NAMESPACE)
    assert manifests(site())["Namespace/accelerators"].protect


@pytest.mark.parametrize("part", ["device-plugin", "exporter"])
def test_each_part_runs_on_the_hosts_of_its_pool_and_on_no_other(part: str) -> None:
    of = site()
    side = side_of(of, {})
    for pool in POOLS:
        spec = tolerating(pod_of(of, f"{part}-{pool}"))
        runs = {name for name, fit in fits(side, spec).items() if fit is not Fit.NO}
        (hosts,) = (of.hosts_of(each) for each in of.file.pools if each.name == pool)
        assert runs == {host.name for host in hosts}


def test_parts_tolerate_every_taint() -> None:
    """A host under repair gets its plugin and driver back, or it would never be found healthy."""
    for body in bodies(site(), "DaemonSet").values():
        assert {"operator": "Exists"} in body["spec"]["template"]["spec"]["tolerations"]


def test_images_are_the_records_or_the_releases() -> None:
    of = site()
    assert container(of, "device-plugin-v100")["image"] == IMAGES["nvidia-device-plugin"]
    assert container(of, "exporter-v100")["image"] == IMAGES["nvidia-exporter"]
    assert container(of, "device-plugin-mncore")["image"] == OWN["mncore2"]["plugin"]["image"]
    assert container(of, "exporter-mncore")["image"] == OWN["mncore2"]["exporter"]["image"]


def mounted(of: Site, daemon: str) -> dict[str, str]:
    """The host's paths that a container sees, and where."""
    paths = {each["name"]: each["hostPath"]["path"] for each in pod_of(of, daemon)["volumes"]}
    mounts = container(of, daemon)["volumeMounts"]
    return {each["mountPath"]: paths[each["name"]] for each in mounts}


def test_a_plugin_meets_the_kubelet_and_an_exporter_asks_it() -> None:
    plugins, resources = "/var/lib/kubelet/device-plugins", "/var/lib/kubelet/pod-resources"
    # Unprivileged, they get every device by a mount: the host's runtime ignores their variable.
    every = {"/var/run/nvidia-container-devices/all": "/dev/null"}
    assert mounted(site(), "device-plugin-v100") == {plugins: plugins, **every}
    assert mounted(site(), "exporter-v100") == {resources: resources, **every}
    assert mounted(site(), "exporter-mncore") == {resources: resources}


def test_images_choose_no_devices() -> None:
    env = container(site(), "device-plugin-v100")["env"]
    assert {"name": "DEVICE_LIST_STRATEGY", "value": "volume-mounts"} in env
    policy = only(operated_by(), "ClusterPolicy")["spec"]
    said = {each["name"]: each["value"] for each in policy["toolkit"]["env"]}
    assert said["ACCEPT_NVIDIA_VISIBLE_DEVICES_ENVVAR_WHEN_UNPRIVILEGED"] == "false"
    assert policy["cdi"] == {"enabled": True}


def test_a_record_says_what_a_program_gets() -> None:
    of = site()
    plugin = container(of, "device-plugin-mncore")
    assert plugin["args"] == ["--boards=8"]
    assert plugin["securityContext"] == {"privileged": True}
    seen = mounted(of, "device-plugin-mncore")
    assert {"/dev/mncore0": "/dev/mncore0", "/dev/mncore1": "/dev/mncore1"}.items() <= seen.items()
    exporter = container(of, "exporter-mncore")
    assert {"name": "LEVEL", "value": "info"} in exporter["env"]
    rights = exporter["securityContext"]
    assert rights == {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "seccompProfile": {"type": "RuntimeDefault"},
    }


def test_a_missing_driver_is_seen() -> None:
    """A plugin that waits for a driver would leave its node without a word."""
    env = container(site(), "device-plugin-v100")["env"]
    assert {"name": "FAIL_ON_INIT_ERROR", "value": "true"} in env


@pytest.mark.parametrize(("pool", "port"), [("v100", 9400), ("mncore", 9500)])
def test_metrics_are_found(pool: str, port: int) -> None:
    ports = container(site(), f"exporter-{pool}")["ports"]
    assert ports == [{"name": "metrics", "containerPort": port}]
    template = bodies(site(), "DaemonSet")[f"exporter-{pool}"]["spec"]["template"]
    notes = template["metadata"]["annotations"]
    assert notes == {"prometheus.io/scrape": "true", "prometheus.io/port": str(port)}


def test_a_container_runtime_is_named_where_the_model_needs_one() -> None:
    of = site()
    assert only(of, "RuntimeClass")["handler"] == "nvidia"
    named = only(of, "RuntimeClass")["metadata"]["name"]
    assert pod_of(of, "device-plugin-v100")["runtimeClassName"] == named
    assert "runtimeClassName" not in pod_of(of, "device-plugin-mncore")


def test_nodes_are_labelled_by_the_cards_that_they_show() -> None:
    of = site()
    for rule in bodies(of, "NodeFeatureRule").values():
        (each,) = rule["spec"]["rules"]
        label, _, count = each["labelsTemplate"].partition("=")
        record = of.accelerators[each["name"]]
        (match,) = each["matchFeatures"]
        asked = {key: set(test["value"]) for key, test in match["matchExpressions"].items()}
        assert match["feature"] == "pci.device"
        assert asked["vendor"] == {record.pci.vendor}
        assert asked["class"] == set(record.pci.classes)
        assert asked.get("device", set()) == set(record.pci.devices)
        assert count == "{{ len .pci.device }}"
        assert label.endswith(f"/{each['name']}")
        assert is_system_label(label)  # no pool can claim it


def test_kueue_finds_a_models_resource_on_nodes_that_show_all_cards() -> None:
    """With a topology it counts on nodes, where no plugin makes the model's own resource."""
    backend = {"name": "q", "kind": "kueue", "pools": ["v100", "mncore"], "topology": ["rack"]}
    rules = bodies(site(scheduling={"backends": [backend]}), "NodeFeatureRule")
    found = {name: body["spec"]["rules"][1:] for name, body in rules.items()}
    (mine,) = found.pop("accelerator-v100-sxm2-32gb")
    seen = {"seen.foresite.dev/v100-sxm2-32gb": {"op": "In", "value": ["8"]}}
    assert mine["matchFeatures"] == [{"feature": "rule.matched", "matchExpressions": seen}]
    assert mine["extendedResources"] == {V100: "8"}
    # The plugin makes it, or Kueue does not look for it.
    assert set(map(str, found.values())) == {"[]"}


def test_expected_devices_are_data() -> None:
    found = bodies(site(), "ConfigMap")
    assert found.keys() == {f"expected-devices-{pool}" for pool in POOLS}
    assert found["expected-devices-v100"]["data"] == {
        "count": "8",
        "model": "v100-sxm2-32gb",
        "resource": V100,
        "seen-label": "seen.foresite.dev/v100-sxm2-32gb",
    }
    assert found["expected-devices-t4"]["data"]["count"] == "1"


# --- DRA ---


def test_with_dra_a_card_is_handed_out_once() -> None:
    of = by_dra()
    daemons = bodies(of, "DaemonSet")
    assert daemons.keys() == {f"exporter-{pool}" for pool in POOLS}
    kinds = {each.kind for each in objects(of)}
    assert "MutatingAdmissionPolicy" not in kinds


def test_with_dra_a_card_without_a_driver_for_it_keeps_its_plugin() -> None:
    own = {name: {k: v for k, v in each.items() if k != "dra"} for name, each in OWN.items()}
    of = site({**SETTINGS, "model_by": "dra", "models": own})
    plugins = {name for name in bodies(of, "DaemonSet") if name.startswith("device-plugin")}
    assert plugins == {"device-plugin-mncore"}
    names = {body["spec"]["extendedResourceName"] for body in bodies(of, "DeviceClass").values()}
    assert names == {V100, H100, T4}
    claims = bodies(of, "ValidatingAdmissionPolicy")["accelerator-claims.foresite.dev"]
    (classes,) = (e for e in claims["spec"]["variables"] if e["name"] == "classes")
    assert "mncore2.preferred.jp" not in classes["expression"]


def test_no_device_breaks_an_expression_of_the_catalogue() -> None:
    """The scheduler stops at an error, for every pod of the class."""
    for record in site().accelerators.values():
        for text in record.dra.expressions if record.dra else ():
            assert not re.search(r"\]\.(?!\?)", text)


def test_with_dra_a_class_bears_each_models_resource() -> None:
    classes = bodies(by_dra(), "DeviceClass")
    names = {body["spec"]["extendedResourceName"] for body in classes.values()}
    assert names == {V100, H100, T4, MNCORE}
    selectors = classes["gpu-v100-24gb.preferred.jp"]["spec"]["selectors"]
    first, *others = (each["cel"]["expression"] for each in selectors)
    # The others read what only this driver's devices have, and what fails stops the scheduler.
    assert first == "device.driver == 'gpu.nvidia.com'"
    assert others == site().accelerators["v100-sxm2-32gb"].dra.expressions  # type: ignore[union-attr]
    (mncore,) = classes["mncore2.preferred.jp"]["spec"]["selectors"]
    assert mncore["cel"]["expression"] == "device.driver == 'boards.mncore.example'"


# --- the GPU operator ---


def policy(**chosen: Any) -> Json:
    spec: Json = only(operated_by(**chosen), "ClusterPolicy")["spec"]
    return spec


def test_the_operator_serves_its_vendors_pools_alone() -> None:
    of = operated_by()
    assert bodies(of, "DaemonSet").keys() == {"device-plugin-mncore", "exporter-mncore"}
    assert bodies(of, "NVIDIADriver").keys() == {"v100", "h100", "t4"}
    # It makes the RuntimeClass itself, and pods need none.
    assert bodies(of, "RuntimeClass") == {}
    mutating = str(only(of, "MutatingAdmissionPolicy"))
    assert '"nvidia"' not in mutating


def test_each_pool_has_the_driver_of_its_card() -> None:
    of = operated_by()
    for pool, body in bodies(of, "NVIDIADriver").items():
        model = next(of.model(each) for each in of.file.pools if each.name == pool)
        assert body["spec"]["version"] == of.accelerators[str(model)].driver
        assert body["spec"]["nodeSelector"] == {"node.cluster.x-k8s.io/pool": pool}
        assert body["spec"]["tolerations"] == [{"operator": "Exists"}]
    versions = {body["spec"]["version"] for body in bodies(of, "NVIDIADriver").values()}
    assert len(versions) == 2  # the old branch for Volta


def test_drivers_stay_out_where_the_os_image_brings_them() -> None:
    assert policy(drivers=False)["driver"] == {"enabled": False}
    assert bodies(operated_by(drivers=False), "NVIDIADriver") == {}


def test_no_driver_is_renewed_by_itself_unless_that_is_asked_for() -> None:
    assert policy()["driver"]["upgradePolicy"] == {"autoUpgrade": False}


def test_renewing_waits_for_jobs_as_long_as_the_pools_drains() -> None:
    upgrade = policy(max_parallel_upgrades=3)["driver"]["upgradePolicy"]
    assert upgrade["autoUpgrade"] is True
    assert upgrade["maxParallelUpgrades"] == 3
    # h100 drains for four hours.
    assert upgrade["waitForCompletion"]["timeoutSeconds"] == 14400
    assert upgrade["waitForCompletion"]["podSelector"]
    # Without these two the operator of 26.3 stops half way.
    assert {"podDeletion", "drain"} <= upgrade.keys()


def test_the_operators_parts_have_the_releases_images() -> None:
    spec = policy()
    assert spec["devicePlugin"]["image"] == IMAGES["nvidia-device-plugin"]
    assert spec["dcgmExporter"]["image"] == IMAGES["nvidia-exporter"]
    assert spec["toolkit"]["image"] == IMAGES["nvidia-container-toolkit"]
    # An image that is whole goes without repository and version.
    assert not {"repository", "version"} & spec["devicePlugin"].keys()


def test_with_dra_the_operator_hands_out_no_card() -> None:
    plain = operated_by()
    chosen = by_dra().file.accelerators
    assert chosen is not None
    assert plain.file.accelerators is not None
    operator = plain.file.accelerators.gpu_operator
    both = chosen.model_copy(update={"gpu_operator": operator})
    file = plain.file.model_copy(update={"accelerators": both})
    of = replace(plain, file=file)
    assert only(of, "ClusterPolicy")["spec"]["devicePlugin"] == {"enabled": False}


def test_names_are_the_models_own_where_the_site_gives_none() -> None:
    of = site({**SETTINGS, "names": {}})
    assert of.resource("v100-sxm2-32gb") == "preferred.jp/v100-sxm2-32gb"
    data = bodies(of, "ConfigMap")["expected-devices-v100"]["data"]
    assert data["resource"] == "preferred.jp/v100-sxm2-32gb"
