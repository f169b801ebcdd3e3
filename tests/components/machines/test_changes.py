"""Effects of a change of a site: the changed objects, and the machines that are replaced for it."""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from components.making.manifest import Target
from schemas.facts.site import Site
from schemas.model.kubelet import Kubelet
from schemas.model.site_file import Zone
from schemas.model.vocabulary import Remedy
from schemas.reading.host_list import Host
from tests.golden import every_site, objects, one, pools, with_file, with_pool

ALERTS_OF_HOSTS = {f"PrometheusRule/foresite-{each}" for each in ("fleet", "inventory", "nodes")}
"""They say which host is of which pool, and how many there are."""


def with_cluster(site: Site, **fields: Any) -> Site:
    return with_file(site, cluster=site.file.cluster.model_copy(update=fields))


def with_boot(site: Site, name: str, **fields: Any) -> Site:
    boot = site.first_boot(pools(site)[name])
    return with_pool(site, name, first_boot=boot.model_copy(update=fields))


def with_rollout(site: Site, name: str, **fields: Any) -> Site:
    return with_pool(site, name, rollout=pools(site)[name].rollout.model_copy(update=fields))


def with_image(site: Site, name: str) -> Site:
    """The site with another build of an operating system, for every version."""
    system = site.release.operating_systems[name]
    images = {v: i.model_copy(update={"sha256": "f" * 64}) for v, i in system.images.items()}
    systems = {
        **site.release.operating_systems,
        name: system.model_copy(update={"images": images}),
    }
    return replace(site, release=site.release.model_copy(update={"operating_systems": systems}))


def changed(before: Site, after: Site) -> set[str]:
    """The logical names of the objects that differ, or that only one of two sites has."""
    old, new = ({m.name: m.body for m in objects(site)} for site in (before, after))
    return {name for name in old | new if old.get(name) != new.get(name)}


def renamed(before: Site, after: Site) -> set[str]:
    """Of those, the objects that get another name: new templates, so machines are replaced."""
    old, new = ({m.name: m.key[3] for m in objects(site)} for site in (before, after))
    return {name for name in old.keys() & new.keys() if old[name] != new[name]}


def tsukuba() -> Site:
    return every_site()["tsukuba-1"]


@pytest.mark.parametrize(
    "change",
    [
        lambda site: with_pool(site, "cpu", labels={"node-role.kubernetes.io/batch": ""}),
        lambda site: with_pool(site, "cpu", labels={"x.node.cluster.x-k8s.io/team": "a"}),
        lambda site: with_rollout(site, "cpu", drain_timeout_seconds=7200),
        lambda site: with_rollout(site, "cpu", max_unavailable=1),
    ],
    ids=["synced label", "label of a sub-domain", "drain timeout", "rollout width"],
)
def test_a_change_in_place_touches_the_deployment_only(change: Callable[[Site], Site]) -> None:
    after = change(tsukuba())
    assert changed(tsukuba(), after) == {"MachineDeployment/cpu"}
    assert not renamed(tsukuba(), after)


BOOTSTRAP = {"KubeadmConfigTemplate/cpu"}
IMAGE = {"Metal3MachineTemplate/cpu"}
DATA = {"Metal3DataTemplate/cpu"}


@pytest.mark.parametrize(
    ("change", "templates"),
    [
        (lambda site: with_pool(site, "cpu", kubelet=Kubelet(max_pods=50)), BOOTSTRAP),
        (lambda site: with_pool(site, "cpu", labels={"example.com/a": "b"}), BOOTSTRAP),
        (lambda site: with_pool(site, "cpu", taints=[]), BOOTSTRAP),
        (lambda site: with_boot(site, "cpu", ntp=["192.0.2.9"]), BOOTSTRAP),
        (lambda site: with_image(site, "rocky-9"), IMAGE),
        (lambda site: with_boot(site, "cpu", dns=["192.0.2.9"]), IMAGE | DATA),
    ],
    ids=["kubelet", "kubelet's label", "taints", "ntp", "os image", "dns"],
)
def test_a_change_of_a_pool_replaces_the_machines_of_that_pool(
    change: Callable[[Site], Site], templates: set[str]
) -> None:
    after = change(tsukuba())
    assert renamed(tsukuba(), after) == templates
    # Cluster API sees a new template by its name, so the deployment has to follow.
    assert changed(tsukuba(), after) == templates | {"MachineDeployment/cpu"}


def test_a_change_of_a_pool_by_zone_replaces_its_machines_in_every_zone() -> None:
    site = every_site()["edge-1"]
    after = with_boot(site, "gpu", dns=["10.30.0.2"])
    templates = {"Metal3DataTemplate/gpu", *(f"Metal3MachineTemplate/gpu/{z}" for z in "ab")}
    assert renamed(site, after) == templates
    assert changed(site, after) == templates | {f"MachineDeployment/gpu/{z}" for z in "ab"}


def test_a_change_of_the_control_plane_is_in_its_own_object() -> None:
    after = with_pool(tsukuba(), "control", kubelet=Kubelet(max_pods=50))
    assert changed(tsukuba(), after) == {"KubeadmControlPlane"}


def with_mirror(site: Site) -> Site:
    sources = site.file.sources.model_copy(update={"registry_mirror": "https://m.example"})
    return with_file(site, sources=sources)


def with_layers_in(site: Site, address: str) -> Site:
    """The site with tokyo-1's cache at an address, where hosts look for layers of images."""
    cache = every_site()["tokyo-1"].file.cache
    assert cache is not None
    return with_file(site, cache=cache.model_copy(update={"address": address}))


def machines_changed(before: Site, after: Site) -> set[str]:
    """Of what changed, the objects of the management cluster."""
    there = {m.name for site in (before, after) for m in objects(site) if m.target is Target.SITE}
    return changed(before, after) - there


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (tsukuba(), with_mirror(tsukuba())),
        (tsukuba(), with_layers_in(tsukuba(), "10.96.0.80")),
        (with_layers_in(tsukuba(), "10.96.0.80"), with_layers_in(tsukuba(), "10.96.0.81")),
    ],
    ids=["mirror", "image layers", "another address of the cache"],
)
def test_where_hosts_look_for_images_is_in_the_bootstrap_of_every_pool(
    before: Site, after: Site
) -> None:
    workers = {"cpu", "mncore2"}
    templates = {f"KubeadmConfigTemplate/{name}" for name in workers}
    assert renamed(before, after) >= templates
    assert machines_changed(before, after) == templates | {
        "KubeadmControlPlane",
        *(f"MachineDeployment/{name}" for name in workers),
    }


def test_buckets_are_no_concern_of_the_machines() -> None:
    before = with_layers_in(tsukuba(), "10.96.0.80")
    cache = before.file.cache
    assert cache is not None
    fewer = cache.model_copy(update={"buckets": cache.buckets[1:]})
    assert machines_changed(before, with_file(before, cache=fewer)) == set()


def test_a_new_host_is_one_object_one_address_and_one_machine_more() -> None:
    pool = pools(tsukuba())["cpu"]
    # The limit of the health check would follow at a multiple of ten machines.
    assert tsukuba().replicas(pool) % 10 != 9
    new = Host("new", "cpu", "b", "b-01", "10.25.0.250", "52:54:00:0f:00:01", "10.17.1.250", "X", 0)
    after = replace(tsukuba(), hosts=(*tsukuba().hosts, new))
    assert changed(tsukuba(), after) == {
        "BareMetalHost/new",
        "IPPool",
        "MachineDeployment/cpu",
        *ALERTS_OF_HOSTS,
    }
    assert not renamed(tsukuba(), after)
    for key, old in one(tsukuba(), "MachineDeployment/cpu")["spec"].items():
        new_value = one(after, "MachineDeployment/cpu")["spec"][key]
        assert new_value == (old + 1 if key == "replicas" else old)


def test_a_host_keeps_its_object_wherever_it_stands_in_the_list() -> None:
    after = replace(tsukuba(), hosts=tuple(reversed(tsukuba().hosts)))
    assert changed(tsukuba(), after) == set()


def test_a_zone_s_network_is_in_the_address_pool_only() -> None:
    first, *rest = tsukuba().file.zones
    wider = first.model_copy(update={"network": "10.17.0.0/25"})
    assert changed(tsukuba(), with_file(tsukuba(), zones=[wider, *rest])) == {"IPPool"}


def test_a_new_zone_replaces_no_machine() -> None:
    zone = Zone(name="c", network="10.17.2.0/24", gateway="10.17.2.1")
    after = with_file(tsukuba(), zones=[*tsukuba().file.zones, zone])
    assert changed(tsukuba(), after) == {"IPPool", "Metal3Cluster"}


def test_workers_stay_as_they_are_while_the_control_plane_is_upgraded() -> None:
    after = with_cluster(tsukuba(), kubernetes="v1.34.8", workers="v1.34.3")
    assert changed(tsukuba(), after) == {"KubeadmControlPlane", "Metal3MachineTemplate/control"}
    done = with_cluster(tsukuba(), kubernetes="v1.34.8")
    workers = {"cpu", "mncore2"}
    assert changed(after, done) == {
        f"{kind}/{name}"
        for kind in ("MachineDeployment", "Metal3MachineTemplate")
        for name in workers
    }


def test_spares_only_change_how_many_machines_there_are() -> None:
    after = with_pool(tsukuba(), "cpu", spares=1)
    before, then = (one(site, "MachineDeployment/cpu")["spec"] for site in (tsukuba(), after))
    counts = {f"PrometheusRule/foresite-{each}" for each in ("fleet", "nodes")}
    assert changed(tsukuba(), after) == {"MachineDeployment/cpu", *counts}
    assert then == {**before, "replicas": before["replicas"] - 1}


def test_a_spare_lets_the_control_plane_surge() -> None:
    lab = every_site()["lab-1"]
    extra = lab.hosts[0]._replace(name="extra", ip="10.18.0.99")
    after = with_pool(replace(lab, hosts=(*lab.hosts, extra)), "lab", spares=1)
    spec = one(after, "KubeadmControlPlane")["spec"]
    assert spec["replicas"] == 3
    assert spec["rollout"]["strategy"]["rollingUpdate"] == {"maxSurge": 1}


def test_a_renamed_pool_leaves_all_others_alone() -> None:
    site = with_pool(tsukuba(), "cpu", name="general")
    hosts = tuple(h._replace(pool="general") if h.pool == "cpu" else h for h in tsukuba().hosts)
    after = replace(site, hosts=hosts)
    moved = {f"BareMetalHost/{host.name}" for host in tsukuba().by_pool["cpu"]}
    # On the site's own cluster policies and job templates name the pools that a scheduler serves.
    both = [*objects(tsukuba()), *objects(after)]
    elsewhere = {m.name for m in both if m.target is Target.SITE}
    touched = changed(tsukuba(), after) - elsewhere
    assert moved < touched
    assert all(re.search(r"/(cpu|general)$", name) for name in touched - moved)
    gone = touched - {manifest.name for manifest in objects(after)}
    kinds = {m.kind: m.protect or m.keep for m in objects(tsukuba()) if m.name in gone}
    # A health check that goes harms nothing; everything else stays or is refused.
    lost = {kind for kind, guarded in kinds.items() if not guarded}
    assert lost == {"MachineHealthCheck", "Metal3RemediationTemplate"}


def test_another_remedy_replaces_no_machine() -> None:
    check = pools(tsukuba())["cpu"].health_check.model_copy(update={"remedy": Remedy.REPLACE})
    after = with_pool(tsukuba(), "cpu", health_check=check)
    assert changed(tsukuba(), after) == {
        "MachineDeployment/cpu",
        "MachineHealthCheck/cpu",
        "Metal3RemediationTemplate/cpu",
    }
    assert not renamed(tsukuba(), after)
