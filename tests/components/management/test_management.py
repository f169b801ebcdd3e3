"""A management cluster's objects: what the operators get, and what of vendored manifests stays."""

from collections import Counter
from pathlib import Path

import pytest

from components.making.manifest import Json, Manifest
from components.making.validation import object_problems
from components.management.objects import NAME, objects
from components.site import objects_by_name, site_objects
from controlplane import ControlPlane
from schemas.site_parts import load_management
from tests.kit.management import OPERATOR, managed_site, put, vendor
from tests.kit.repository import all_sites

LAB = all_sites()["lab-1"]


def made(root: Path | None = None) -> dict[str, Json]:
    return {each.kind: each.body for each in objects(managed_site(LAB, root))}


def test_the_managers_get_the_flags_that_sites_need() -> None:
    found = made()
    specs = {kind: body["spec"] for kind, body in found.items() if kind.endswith("Provider")}
    gates = {"featureGates": {"MachineTaintPropagation": True}}
    assert {kind: spec.get("manager", {}) for kind, spec in specs.items()} == {
        "CoreProvider": gates, "BootstrapProvider": gates, "ControlPlaneProvider": gates,
        "IPAMProvider": {}, "InfrastructureProvider": {},
    }  # fmt: skip
    # additionalArgs would fail: Metal3's own components have the argument already.
    (metal3,) = specs["InfrastructureProvider"]["deployment"]["containers"]
    assert metal3 == {
        "name": "manager",
        "args": {"--enable-bmh-name-based-preallocation": "true"},
    }
    (core,) = specs["CoreProvider"]["deployment"]["containers"]
    assert core["args"] == {"--additional-sync-machine-labels": r"^example\.com/mig$"}
    release = LAB.release.cluster_api
    assert specs["IPAMProvider"]["version"] == release.ipam
    assert specs["CoreProvider"]["fetchConfig"] == {
        "oci": f"registry.our-lan/capi/core:{release.core}"
    }


def test_ironic_downloads_nothing_by_itself() -> None:
    spec = made()["Ironic"]["spec"]
    assert spec["deployRamdisk"] == {"disableDownloader": True}
    (ramdisk,) = spec["overrides"]["agentImages"]
    assert ramdisk["architecture"] == "x86_64"
    assert spec["networking"] == {
        "ipAddress": "10.33.0.4",
        "interface": "em2",
        "dhcp": {
            "networkCIDR": "10.33.0.0/24", "rangeBegin": "10.33.0.100", "rangeEnd": "10.33.0.199",
            "gatewayAddress": "10.33.0.1",
        },
    }  # fmt: skip


@pytest.mark.parametrize("source", ["github", "config-maps"])
def test_other_sources_of_components(tmp_path: Path, source: str) -> None:
    image = f"registry.our-lan/capm3:v1.13.2@sha256:{'a' * 64}"
    put(tmp_path, providers={"source": source, "images": {"infrastructure": image}})
    spec = made(tmp_path)["InfrastructureProvider"]["spec"]
    assert spec["deployment"]["containers"][0]["imageUrl"] == image
    labels = {"selector": {"matchLabels": {"provider-components": "infrastructure"}}}
    assert spec.get("fetchConfig") == (labels if source == "config-maps" else None)


def test_vendored_manifests_stay_and_settings_are_added(tmp_path: Path) -> None:
    put(tmp_path, manifests=vendor(tmp_path), provisioning_limit=8)
    found = objects(managed_site(LAB, tmp_path))
    assert Counter(each.key for each in found).most_common(1)[0][1] == 1
    by_name = {each.title: each.body for each in found}
    settings = by_name["ConfigMap baremetal-operator-system/ironic"]["data"]
    assert settings == {"IRONIC_NAME": "ironic", "BMO_CONCURRENCY": "30", "PROVISIONING_LIMIT": "8"}
    assert by_name["Namespace baremetal-operator-system"]["metadata"]["labels"]["theirs"] == "kept"
    container = by_name["Deployment baremetal-operator-system/controller-manager"]["spec"]
    assert container["template"]["spec"]["containers"][0]["args"] == ["--x"]


def test_without_providers_none_is_made(tmp_path: Path) -> None:
    flag = "args: [--enable-bmh-name-based-preallocation=true]"
    text = OPERATOR.replace("args: [--x]", flag)
    put(tmp_path, providers=None, manifests=vendor(tmp_path, text))
    assert not [kind for kind in made(tmp_path) if kind.endswith("Provider")]


def test_deleting_what_takes_clusters_along_is_refused() -> None:
    held = {each.kind for each in objects(managed_site(LAB)) if each.protect}
    assert held == set(made()) - {"ConfigMap"}


def test_a_site_has_none_of_them_and_the_preview_sees_all() -> None:
    site = managed_site(LAB)
    assert NAME not in site_objects(site)
    seen = {name for component, name in objects_by_name(site) if component == NAME}
    assert len(seen) == len(objects(site)) == 12
    assert objects(LAB) == []


def of_cluster(root: Path) -> list[Manifest]:
    put(root, manifests=vendor(root))
    loaded = load_management(root, "mgmt-jp-east")
    assert loaded.site is not None, loaded.problems
    every = site_objects(loaded.site)
    assert object_problems(loaded.site, every) == []
    return every[NAME]


@pytest.mark.controlplane
def test_the_api_server_takes_them_strictly(api: ControlPlane, tmp_path: Path) -> None:
    # The engine makes Namespaces first, whatever file they are in.
    manifests = sorted(of_cluster(tmp_path), key=lambda each: each.kind != "Namespace")
    with api.client() as client:
        for each in manifests:
            client.apply(each.body, dry_run=each.kind != "Namespace")
