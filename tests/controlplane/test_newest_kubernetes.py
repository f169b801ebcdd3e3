"""The newest Kubernetes that a release offers: what older ones need feature gates for works there
without any, and it accepts every object of the sites."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from components.making.manifest import Json
from components.site import objects_by_name
from controlplane import ApiError
from controlplane.crds import install_crds
from schemas.facts.feature_gates import (
    api_server_gates,
    device_taint_api,
    runtime_config,
    scheduler_gates,
)
from schemas.facts.site import Site
from schemas.kubernetes.node_labels import POOL_LABEL
from schemas.kubernetes.objects import check_objects, load_crds
from schemas.load import load
from schemas.model.primitives import minor
from schemas.reading.catalogue import load_release, release_names
from tests.components.remediation.test_devicetaints import ON
from tests.controlplane.test_twin_models import asking, fake_slices, no_plugins, parts, waiting
from tests.kit.accelerator_sites import V100, by_dra
from tests.kit.repository import written_out
from tests.kit.twin.cluster import Parts
from tests.kit.twin.world import World
from tests.kit.twin.world import world as running
from tests.schemas.facts.test_feature_gates import at
from tools.toolchain import Tools, locate

RELEASE = release_names()[-1]


def offered() -> list[str]:
    """The Kubernetes versions of the newest release."""
    release, problems = load_release(RELEASE)
    assert release is not None and not problems
    return list(release.kubernetes)


def moved(folder: Path, version: str) -> dict[str, Site]:
    """The repository's sites, written for the newest release and ``version``."""
    yaml = YAML()
    (folder / "sites").mkdir()
    for source in (written_out() / "sites").rglob("*"):
        target = folder / source.relative_to(written_out())
        if source.is_dir():
            target.mkdir(exist_ok=True)
        elif source.parent.name == "sites" and source.suffix == ".yaml":
            file = yaml.load(source)
            file["release"] = RELEASE
            file["cluster"]["kubernetes"] = version
            yaml.dump(file, target)
        else:
            target.write_bytes(source.read_bytes())
    loaded = load(folder)
    assert {str(problem) for each in loaded.values() for problem in each.problems} == set()
    return {name: each.site for name, each in loaded.items() if each.site is not None}


def bodies(of: Site) -> list[Json]:
    return [each.body for each in objects_by_name(of).values()]


@pytest.mark.parametrize("version", offered())
def test_sites_can_move_to_every_version_of_the_newest_release(
    tmp_path: Path, version: str
) -> None:
    for name, of in moved(tmp_path, version).items():
        assert check_objects(bodies(of)) == [], name


def newest_tools() -> Tools:
    """The tools of a twin, with the newest servers in place of the oldest."""
    tools = locate(["controlplane", "scheduling"])
    newest = {name.rpartition("-")[0]: tool for name, tool in locate(["newest"]).items()}
    return {**tools, **newest}


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A site with DRA drivers and taints of single devices, on the newest servers."""
    of = at(by_dra(remediation=ON), offered()[-1])
    # Neither gates nor further APIs: the twin starts with what the site asks for.
    assert (api_server_gates(of), scheduler_gates(of), runtime_config(of)) == ({}, {}, ())
    folder = tmp_path_factory.mktemp("newest")
    chosen: Parts = {**parts(of), "tools": newest_tools()}
    with running(folder, of, no_plugins, **chosen) as found:
        served = found.t.client.request("GET", "/version")
        assert served["minor"].rstrip("+") == str(minor(offered()[-1]))
        found.t.create(fake_slices(found))
        yield found


@pytest.mark.scheduling
def test_devices_are_allocated_and_tainted_without_feature_gates(here: World) -> None:
    """Pods name a model, and a tainted device of a host is given to none of them."""
    nodes = [
        each["metadata"]["name"]
        for each in here.watch.nodes()
        if each["metadata"]["labels"][POOL_LABEL] == "v100"
    ]
    taint = {"key": "foresite.dev/faulty", "value": "test", "effect": "NoSchedule"}
    rule: Json = {
        "apiVersion": device_taint_api(here.site),
        "kind": "DeviceTaintRule",
        "metadata": {"name": "card-3"},
        "spec": {
            "deviceSelector": {"driver": "gpu.nvidia.com", "pool": nodes[0], "device": "card-3"},
            "taint": taint,
        },
    }
    here.t.create([rule])
    space = here.t.namespace("newest")
    here.run(asking(space, f"whole-{n}", V100, 8) for n in range(len(nodes)))
    here.watch.until(
        "all hosts but the one with a tainted device",
        lambda: len(here.watch.bound(space)) == len(nodes) - 1 and waiting(here, space),
        120,
    )
    assert nodes[0] not in here.watch.bound(space).values()
    here.run([asking(space, "seven", V100, 7)])
    here.watch.until("seven devices", lambda: "seven" in here.watch.bound(space), 120)
    assert here.watch.bound(space)["seven"] == nodes[0]
    here.clear(space)


@pytest.mark.scheduling
def test_the_newest_api_server_accepts_every_object(here: World, tmp_path: Path) -> None:
    """A strict dry run, once the namespaces are there."""
    refused = []
    for name, of in moved(tmp_path, offered()[-1]).items():
        made = bodies(of)
        kinds = {f"{body['apiVersion']}/{body['kind']}" for body in made}
        install_crds(here.t.client, load_crds(kinds))
        spaces = {body["metadata"].get("namespace") for body in made} - {None}
        for space in sorted(spaces):
            body: Json = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": space}}
            here.t.client.apply(body)
        for body in made:
            try:
                here.t.client.apply(body, dry_run=True)
            except ApiError as error:
                refused.append(f"{name}: {body['kind']}/{body['metadata']['name']}: {error}")
    assert refused == []
