"""The real Cluster API Operator takes a management cluster's objects, and what it makes of them is
what they say (tests/kit/capi_operator.py). One run, in about 80 s on two busy cores."""

from collections.abc import Iterator

import pytest

from components.making.manifest import Json
from components.management.objects import objects
from tests.kit.capi_operator import PARTS, World, running, states
from tests.kit.management import managed_site, put
from tests.kit.parts import or_skip
from tests.kit.repository import all_sites
from tools.toolchain import ensure

pytestmark = [pytest.mark.controlplane, pytest.mark.proof]
IMAGE = f"registry.our-lan/capm3:v1.13.2@sha256:{'a' * 64}"
FLAG = "--enable-bmh-name-based-preallocation"
PAST = 1 << 20
"""Bytes that no ConfigMap may have (Kubernetes 1.34, pkg/apis/core: MaxSecretSize)."""


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A management cluster with providers from ConfigMaps; skipped where a part is absent."""
    root = tmp_path_factory.mktemp("operator")
    tools = or_skip(ensure, ["controlplane", "management"])
    source = {"source": "config-maps", "images": {"infrastructure": IMAGE}}
    put(root, providers=source, sync_labels=[r"^example\.com/mig$", r"^example\.com/mode$"])
    made = [each.body for each in objects(managed_site(all_sites()["lab-1"], root))]
    with running(root, tools, made) as found:
        yield found


def arguments(deployment: Json) -> dict[str, str]:
    """The arguments of a manager by name."""
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    said = (each.partition("=") for each in container["args"])
    return {name: value for name, _, value in said}


def test_every_provider_is_installed_in_the_version_of_the_release(world: World) -> None:
    release = all_sites()["lab-1"].release.cluster_api
    versions = {"ipam": release.ipam, "infrastructure": release.metal3}
    for part, each in world.providers().items():
        assert each["status"]["installedVersion"] == versions.get(part, release.core), part
        assert each["status"]["contract"] == "v1beta2"
        assert set(states(each).values()) == {"True"}, states(each)


def test_the_managers_run_with_what_the_file_says(world: World) -> None:
    found = world.deployments()
    assert found.keys() == PARTS.keys()
    said = {part: arguments(each) for part, each in found.items()}
    sync = "--additional-sync-machine-labels"
    assert said["core"][sync] == r"^example\.com/mig$,^example\.com/mode$"
    # Metal3's components say false by default, and the object replaces it.
    assert said["infrastructure"][FLAG] == "true"
    for part, each in said.items():
        gates = each.get("--feature-gates", "").split(",")
        assert ("MachineTaintPropagation=true" in gates) == (part not in ("ipam", "infrastructure"))
    # The other gates keep the defaults of the components.
    assert "MachinePool=true" in said["core"]["--feature-gates"]
    (manager,) = found["infrastructure"]["spec"]["template"]["spec"]["containers"]
    assert manager["image"] == IMAGE


def test_objects_that_git_makes_are_not_taken_from_it(world: World) -> None:
    """It takes Namespaces out of components, and labels what it makes for clusterctl."""
    for part, each in world.deployments().items():
        assert each["metadata"]["namespace"] == PARTS[part].namespace
        assert "cluster.x-k8s.io/provider" in each["metadata"]["labels"]
    for each in world.made:
        if each["kind"] == "Namespace":
            now = world.client.get("v1", "Namespace", each["metadata"]["name"])
            assert now is not None
            labels = each["metadata"]["labels"]
            assert labels.items() <= now["metadata"]["labels"].items()


def test_components_of_the_core_are_too_long_for_a_config_map(world: World) -> None:
    assert {part for part, each in world.parts.items() if len(each.text) >= PAST} == {"core"}


def test_another_patch_replaces_components_and_an_older_minor_version_is_refused(
    world: World,
) -> None:
    """What components/management/effects.py says of versions."""

    def crd() -> str:
        kind, name = "CustomResourceDefinition", "metal3machines.infrastructure.cluster.x-k8s.io"
        found = world.client.get("apiextensions.k8s.io/v1", kind, name)
        assert found is not None
        return str(found["metadata"]["uid"])

    def uid() -> str:
        return str(world.deployments()["infrastructure"]["metadata"]["uid"])

    def status() -> Json:
        return dict(world.providers()["infrastructure"]["status"])

    kept, seen = crd(), [uid()]
    for version in ("v1.13.3", "v1.13.1"):
        world.change("infrastructure", version)
        world.wait(version, lambda: status()["installedVersion"] == version)  # noqa: B023
        seen.append(uid())
    world.change("infrastructure", "v1.12.9")
    world.wait("a refusal", lambda: "Downgrade is not supported" in str(status()["conditions"]))
    assert (status()["installedVersion"], uid()) == ("v1.13.1", seen[-1])
    assert len({*seen}) == 3
    assert crd() == kept
    assert arguments(world.deployments()["infrastructure"])[FLAG] == "true"
