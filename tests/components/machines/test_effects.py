"""Effects of a change on hosts, by the rules of the machines component.

Sites are changed, or a single object of one, and what the rules make of the difference is compared
with what the controllers do; the source of each expectation is named where it is tested. CAPI is
Cluster API v1.13.6, CAPM3 v1.13.2, BMO the Bare Metal Operator v0.13.2, IPAM Metal3's v1.13.2.
"""

import copy
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from components.effects.rules import find, find_whole, judge_object
from components.effects.vocabulary import (
    ABSENT,
    Action,
    Effect,
    FieldChange,
    Impact,
    Name,
    ObjectChange,
    Path,
    Side,
    SiteChange,
)
from components.machines.effects import RULES
from components.machines.fleet import side_of
from components.making.manifest import Manifest
from components.site import site_objects
from components.source import site_of
from schemas.facts.site import Site
from schemas.model.control_plane import Encryption
from schemas.model.first_boot import Proxy
from schemas.model.object_cache import ImageLayers
from schemas.model.vocabulary import Remedy, RolloutStrategy
from schemas.reading.host_list import Host
from tests.golden import every_site, pools, walk, with_file, with_pool

MACHINES = "machines"
Change = Callable[[Site], Site]
PROXY = Proxy(http="http://proxy.example:3128")
NO_OBJECT: tuple[Path, ...] = (("apiVersion",), ("kind",), ("metadata", "name"))
"""Fields that every object has."""
DELETE = "cluster.x-k8s.io/delete-machine"


def side(site: Site) -> Side:
    made = site_objects(site)[MACHINES]
    return side_of(site, {(MACHINES, each.name): each for each in made})


def difference(before: Any, after: Any, at: Path = ()) -> Iterator[FieldChange]:
    """The fields that differ; lists of one length by index, others as a whole."""
    if before == after:
        return
    if isinstance(before, dict) and isinstance(after, dict):
        for key in dict.fromkeys((*before, *after)):
            mine, theirs = before.get(key, ABSENT), after.get(key, ABSENT)
            yield from difference(mine, theirs, (*at, key))
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for index, pair in enumerate(zip(before, after, strict=True)):
            yield from difference(*pair, (*at, index))
    else:
        yield FieldChange(at, before, after)


def compared(before: Side | None, after: Side) -> SiteChange:
    """Objects paired by component and logical name."""
    changes: dict[Name, ObjectChange] = {}
    for name in dict.fromkeys((*after.objects, *(before.objects if before else ()))):
        old, new = before.objects.get(name) if before else None, after.objects.get(name)
        if old != new:
            both = old is not None and new is not None
            fields = tuple(difference(old.body, new.body)) if both else ()  # type: ignore[union-attr]
            changes[name] = ObjectChange(MACHINES, old, new, fields)
    return SiteChange(site_of(after).name, before, after, changes)


class Verdict:
    """The effects of a change, by the logical name of the object and by field."""

    def __init__(self, change: SiteChange) -> None:
        self.change = change
        self.effects = [e for c in change.changes.values() for e in judge_object(RULES, change, c)]
        known = {name for each in change.sides for name in each.fleet.names}
        for each in self.effects:  # What holds for every effect of every rule.
            assert each.why and each.source, each
            assert known.issuperset(each.hosts), each
            # 1 of 1 is "may", as nobody knows of that host.
            assert each.at_most is None or 0 < each.at_most <= len(each.hosts), each
            assert each.hosts or each.impact is Impact.NONE, each

    def of(self, name: str, *at: str | int) -> list[Effect]:
        """The effects of one object's fields at a path and below."""
        return [e for e in self.effects if e.name[1] == name and e.path[: len(at)] == at]

    def one(self, name: str, *at: str | int) -> Effect:
        (effect,) = self.of(name, *at)
        return effect

    def worst(self, host: str) -> Impact:
        mine = [each.impact for each in self.effects if host in each.hosts]
        return max(mine, key=lambda impact: impact.rank, default=Impact.NONE)


def verdict(before: Site | None, after: Site) -> Verdict:
    return verdict_of(side(before) if before else None, side(after))


def verdict_of(before: Side | None, after: Side) -> Verdict:
    return Verdict(compared(before, after))


def body_with(manifest: Manifest, edits: dict[Path, Any]) -> dict[str, Any]:
    """An object's body with other values at some paths; ``ABSENT`` takes one away."""
    body = copy.deepcopy(manifest.body)
    for at, item in edits.items():
        inner: Any = body
        for step in at[:-1]:
            inner = inner[step]
        if item is ABSENT:
            del inner[at[-1]]
        else:
            inner[at[-1]] = item
    return body


def edited(site: Site, name: str, edits: dict[str, Any]) -> Verdict:
    """The verdict on another body of one object; paths are dotted, indexes are numbers."""
    before, key = side(site), (MACHINES, name)
    steps = {
        tuple(int(step) if step.isdigit() else step for step in at.split(".")): item
        for at, item in edits.items()
    }
    old = before.objects[key]
    new = old._replace(body=body_with(old, steps))
    return verdict_of(before, side_of(site, {**before.objects, key: new}))


def tsukuba() -> Site:
    return every_site()["tsukuba-1"]


def edge() -> Site:
    return every_site()["edge-1"]


def names(site: Site, pool: str, zone: str = "") -> tuple[str, ...]:
    return tuple(h.name for h in site.hosts if h.pool == pool and zone in ("", h.zone))


def with_hosts(site: Site, change: Callable[[Host], Host | None]) -> Site:
    return replace(site, hosts=tuple(new for host in site.hosts if (new := change(host))))


def with_host(site: Site, name: str, **fields: Any) -> Site:
    return with_hosts(site, lambda h: h._replace(**fields) if h.name == name else h)


def without_host(site: Site, name: str) -> Site:
    return with_hosts(site, lambda h: None if h.name == name else h)


def with_new_host(site: Site, like: str, name: str) -> Site:
    (model,) = (host for host in site.hosts if host.name == like)
    return replace(site, hosts=(*site.hosts, model._replace(name=name, ip="10.17.0.250")))


def with_cluster(site: Site, **fields: Any) -> Site:
    return with_file(site, cluster=site.file.cluster.model_copy(update=fields))


def with_boot(site: Site, **fields: Any) -> Site:
    return with_file(site, first_boot=site.file.first_boot.model_copy(update=fields))


def with_rollout(site: Site, name: str, **fields: Any) -> Site:
    return with_pool(site, name, rollout=pools(site)[name].rollout.model_copy(update=fields))


def with_health(site: Site, name: str, **fields: Any) -> Site:
    check = pools(site)[name].health_check.model_copy(update=fields)
    return with_pool(site, name, health_check=check)


def with_os_images(site: Site, url: str = "http://other.example/os") -> Site:
    return with_file(site, sources=site.file.sources.model_copy(update={"os_images": url}))


def with_image_layers(site: Site, *registries: str) -> Site:
    """The site with tokyo-1's cache, in which its hosts look for layers of the registries."""
    cache = every_site()["tokyo-1"].file.cache
    assert cache is not None
    layers = ImageLayers(bucket="image-layers", registries=list(registries))
    return with_file(site, cache=cache.model_copy(update={"image_layers": layers}))


@pytest.mark.parametrize("name", sorted(every_site()))
def test_every_field_of_every_object_has_a_rule(name: str) -> None:
    made = site_objects(every_site()[name])[MACHINES]
    leaves = {
        (each.group_kind, path)
        for each in made
        for path, value in walk(each.body)
        if not isinstance(value, dict | list) or not value
    }
    assert not [leaf for leaf in leaves if find(RULES, *leaf) is None]
    assert not {each.kind for each in made if find_whole(RULES, each.group_kind) is None}


@pytest.mark.parametrize("name", ["edge-1", "tsukuba-1"])
def test_of_every_field_something_is_said_when_it_goes_and_when_it_comes(name: str) -> None:
    there = side(every_site()[name])
    first: set[str] = set()
    for key, manifest in there.objects.items():
        if manifest.kind == "BareMetalHost" and manifest.kind in first:
            continue  # one stands for all
        first.add(manifest.kind)
        for path, value in walk(manifest.body):
            if path in NO_OBJECT or not find(RULES, manifest.group_kind, path):
                continue
            less = manifest._replace(body=body_with(manifest, {path: ABSENT}))
            other = replace(there, objects={**there.objects, key: less})
            for pair in ((there, other), (other, there)):
                assert verdict_of(*pair).effects, (manifest.name, path, value)


# CAPI internal/controllers/machinedeployment/mdutil/util.go: MachineTemplateUpToDate.


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (with_os_images, "image.url of Metal3MachineTemplate/cpu changed"),
        (
            lambda site: with_boot(site, ntp=["10.17.0.3"]),
            "ntp.servers[0] of KubeadmConfigTemplate/cpu changed",
        ),
        (  # The machine template changes only in the name of its data template.
            lambda site: with_boot(site, dns=["10.17.0.3"]),
            "spec.networkData.services.dns[0] of Metal3DataTemplate/cpu changed",
        ),
        (
            lambda site: with_image_layers(site, "docker.io"),
            "files of KubeadmConfigTemplate/cpu changed",
        ),
    ],
    ids=["image", "time servers", "name servers", "image layers"],
)
def test_what_is_in_a_template_re_images_the_pool_and_is_named(change: Change, said: str) -> None:
    found = verdict(tsukuba(), change(tsukuba()))
    effect = found.one("MachineDeployment/cpu", "spec", "template")
    assert effect.impact is Impact.REIMAGE
    assert effect.hosts == names(tsukuba(), "cpu")
    assert effect.at_most is None
    assert said in effect.why
    # A pool with a spare: any of its hosts may be the one without a machine.
    effect = found.one("MachineDeployment/mncore2", "spec", "template")
    assert effect.hosts == names(tsukuba(), "mncore2")
    assert effect.at_most == 39


def test_a_new_template_does_nothing_by_itself() -> None:
    found = verdict(tsukuba(), with_os_images(tsukuba()))
    effects = found.of("Metal3MachineTemplate/cpu")
    assert {each.impact for each in effects} == {Impact.NONE}
    (renamed,) = [each for each in effects if each.action]
    assert (renamed.path, renamed.action) == (("metadata", "name"), Action.REPLACED)


def test_a_template_whose_lists_are_reordered_is_another_one() -> None:
    """Its name counts the order; the change may be told without a field that differs."""
    there = with_boot(tsukuba(), dns=["10.17.0.2", "10.17.0.3"])
    full = compared(side(there), side(with_boot(tsukuba(), dns=["10.17.0.3", "10.17.0.2"])))
    name = (MACHINES, "Metal3DataTemplate/cpu")
    names_only = tuple(f for f in full.changes[name].fields if f.path[0] == "metadata")
    told = {**full.changes, name: full.changes[name]._replace(fields=names_only)}
    effect = Verdict(replace(full, changes=told)).one("MachineDeployment/cpu")
    assert effect.impact is Impact.REIMAGE
    assert effect.why.startswith("the order of Metal3DataTemplate/cpu changed")


def test_fields_of_a_template_beyond_three_are_counted() -> None:
    boot = tsukuba().file.first_boot
    ssh = boot.ssh.model_copy(update={"user": "admin"})
    other = {"ntp": ["10.17.0.3", "10.17.0.4"], "ssh": ssh, "proxy": PROXY}
    found = verdict(tsukuba(), with_boot(tsukuba(), **other))
    why = found.one("MachineDeployment/cpu", "spec", "template").why
    changed = [
        each
        for each in found.change.changes[MACHINES, "KubeadmConfigTemplate/cpu"].fields
        if each.path[0] == "spec"
    ]
    assert len(changed) > 3
    assert why.partition(" of KubeadmConfigTemplate/cpu")[0].count(",") == 2, "three fields"
    assert f"and {len(changed) - 3} more changed" in why


@pytest.mark.parametrize(
    "change",
    [
        lambda site: with_pool(site, "cpu", labels={"node-role.kubernetes.io/batch": ""}),
        lambda site: with_rollout(site, "cpu", drain_timeout_seconds=7200, max_unavailable=3),
        lambda site: with_rollout(site, "cpu", strategy=RolloutStrategy.ON_DELETE),
    ],
    ids=["synced label", "timeout and width", "on delete"],
)
def test_what_cluster_api_does_not_compare_changes_in_place(change: Change) -> None:
    found = verdict(tsukuba(), change(tsukuba()))
    effects = found.of("MachineDeployment/cpu")
    assert effects
    assert {each.impact for each in effects} == {Impact.NONE}


def test_on_delete_replaces_nothing_until_it_ends() -> None:
    # CAPI machinedeployment_rollout_ondelete.go: only scale-downs delete machines.
    effect = verdict(edge(), with_os_images(edge())).one("MachineDeployment/disk")
    assert (effect.impact, effect.hosts) == (Impact.NONE, ())
    assert "until a person deletes it" in effect.why
    # Then a rollout replaces what was left behind, if anything was.
    rolling = with_rollout(edge(), "disk", strategy=RolloutStrategy.ROLLING_UPDATE)
    effect = verdict(edge(), rolling).one(
        "MachineDeployment/disk", "spec", "rollout", "strategy", "type"
    )
    assert (effect.impact, effect.hosts) == (Impact.UNKNOWN, names(edge(), "disk"))


@pytest.mark.parametrize("at", ["spec.rollout", "spec.rollout.strategy"])
def test_on_delete_also_ends_with_the_map_that_it_is_in(at: str) -> None:
    # CAPI internal/webhooks/machinedeployment.go, Default: no type is RollingUpdate.
    effect = edited(edge(), "MachineDeployment/disk", {at: ABSENT}).one("MachineDeployment/disk")
    assert (effect.impact, effect.hosts) == (Impact.UNKNOWN, names(edge(), "disk"))
    found = edited(tsukuba(), "MachineDeployment/cpu", {at: ABSENT})
    assert found.one("MachineDeployment/cpu").impact is Impact.NONE


def test_no_smaller_way_is_offered_beside_a_rollout_that_is_asked_for() -> None:
    before, after = (side(each) for each in (tsukuba(), with_boot(tsukuba(), ntp=["10.17.0.3"])))
    name = (MACHINES, "MachineDeployment/cpu")
    assert verdict_of(before, after).one(name[1], "spec", "template").way
    body = body_with(after.objects[name], {("spec", "rollout", "after"): "2026-01-01T00:00:00Z"})
    asking = after.objects[name]._replace(body=body)
    after = replace(after, objects={**after.objects, name: asking})
    found = verdict_of(before, after)
    assert {each.way for each in found.of(name[1]) if each.impact is Impact.REIMAGE} == {""}


def test_the_webhook_of_deployments_refuses_other_clusters_and_selectors() -> None:
    # CAPI internal/webhooks/machinedeployment.go: clusterName; selector against template labels.
    for field in ("clusterName", "template.spec.clusterName"):
        effect = edited(tsukuba(), "MachineDeployment/cpu", {f"spec.{field}": "other"}).one(
            "MachineDeployment/cpu"
        )
        assert (effect.impact, effect.action) == (Impact.UNKNOWN, Action.REFUSED)
    labels = {"spec.selector": {"matchLabels": {"a": "b"}}}
    effect = edited(tsukuba(), "MachineDeployment/cpu", labels).of("MachineDeployment/cpu")[0]
    assert effect.action is Action.REFUSED
    both = {**labels, "spec.template.metadata": {"labels": {"a": "b"}}}
    found = edited(tsukuba(), "MachineDeployment/cpu", both).of(
        "MachineDeployment/cpu", "spec", "selector"
    )
    assert {(each.impact, each.action) for each in found} == {(Impact.UNKNOWN, None)}


# CAPI internal/controllers/machineset/machineset_deletion_order.go, machineset_controller.go.


def test_a_host_that_leaves_may_cost_another_one_its_machine() -> None:
    gone, *rest = names(tsukuba(), "cpu")
    found = verdict(tsukuba(), without_host(tsukuba(), gone))
    lost = found.one(f"BareMetalHost/{gone}")
    assert (lost.impact, lost.hosts, lost.action) == (Impact.REMOVE, (gone,), Action.REFUSED)
    fewer = found.one("MachineDeployment/cpu", "spec", "replicas")
    assert (fewer.impact, fewer.hosts, fewer.at_most) == (Impact.REMOVE, tuple(rest), 1)
    assert DELETE in fewer.why
    assert "whatever max_unavailable says" in fewer.why


def test_more_spares_take_machines_from_some_hosts_and_fewer_give_them_back() -> None:
    more = with_pool(tsukuba(), "mncore2", spares=3)
    effect = verdict(tsukuba(), more).one("MachineDeployment/mncore2", "spec", "replicas")
    assert (effect.impact, effect.at_most) == (Impact.REMOVE, 2)
    assert effect.hosts == names(tsukuba(), "mncore2")
    effect = verdict(more, tsukuba()).one("MachineDeployment/mncore2", "spec", "replicas")
    assert (effect.impact, effect.at_most) == (Impact.ADD, 2)
    assert effect.hosts == names(tsukuba(), "mncore2")


def test_new_hosts_join_and_no_other_is_touched() -> None:
    like = names(tsukuba(), "cpu")[0]
    found = verdict(tsukuba(), with_new_host(tsukuba(), like, "tsukuba-1-a-999"))
    effect = found.one("MachineDeployment/cpu", "spec", "replicas")
    assert (effect.impact, effect.hosts) == (Impact.ADD, ("tsukuba-1-a-999",))
    assert found.one("BareMetalHost/tsukuba-1-a-999").impact is Impact.NONE, "a Machine makes it"
    assert {found.worst(name) for name in names(tsukuba(), "cpu")} == {Impact.NONE}
    # Where the pool has a free host already, CAPM3 takes any of them (pickHost).
    like = names(tsukuba(), "mncore2")[0]
    found = verdict(tsukuba(), with_new_host(tsukuba(), like, "tsukuba-1-a-999"))
    new, spare = found.of("MachineDeployment/mncore2", "spec", "replicas")
    assert [(len(each.hosts), each.at_most, each.together) for each in (new, spare)] == [
        (1, 1, 1),
        (40, 1, 1),
    ]


def test_a_whole_site_is_added() -> None:
    found = verdict(None, tsukuba())
    assert {found.worst(host.name) for host in tsukuba().hosts} == {Impact.ADD}
    assert found.one("MachineDeployment/mncore2").at_most == 39
    assert Action.REFUSED not in {each.action for each in found.effects}


def test_zones_rolled_apart_take_the_old_deployment_away_which_is_refused() -> None:
    # Pulumi pkg/resource/deploy/step.go: DeleteStep of a protected resource fails.
    found = verdict(tsukuba(), with_rollout(tsukuba(), "cpu", by_zone=True))
    old = found.of("MachineDeployment/cpu")
    assert {(each.impact, each.action) for each in old} == {(Impact.REIMAGE, Action.REFUSED)}
    assert [each.hosts for each in old] == [names(tsukuba(), "cpu", zone) for zone in ("a", "b")]
    for zone in ("a", "b"):
        new = found.one(f"MachineDeployment/cpu/{zone}")
        assert (new.impact, new.hosts) == (Impact.NONE, ()), "their hosts are told above"


# CAPM3 baremetal/metal3machine_manager.go: a host is chosen by its labels once, by chooseHost.


def test_a_host_in_another_pool_keeps_its_machine_until_that_goes() -> None:
    host, *rest = names(tsukuba(), "mncore2")
    found = verdict(tsukuba(), with_host(tsukuba(), host, pool="cpu"))
    moved = found.one(f"BareMetalHost/{host}", "metadata", "labels")
    assert (moved.impact, moved.hosts) == (Impact.NONE, (host,))
    assert DELETE in moved.why
    fewer, its = found.of("MachineDeployment/mncore2", "spec", "replicas")
    assert (fewer.impact, fewer.hosts, fewer.at_most) == (Impact.REMOVE, tuple(rest), 1)
    assert (its.impact, its.hosts, its.at_most) == (Impact.REIMAGE, (host,), 1)
    assert fewer.together == its.together == 1, "one Machine goes"
    assert found.one("MachineDeployment/cpu", "spec", "replicas").impact is Impact.ADD
    assert found.worst(host) is Impact.REIMAGE


def test_a_host_in_a_pool_that_has_a_free_one_may_stay_without_a_machine() -> None:
    host = names(tsukuba(), "cpu")[0]
    found = verdict(tsukuba(), with_host(tsukuba(), host, pool="mncore2"))
    _, its = found.of("MachineDeployment/cpu", "spec", "replicas")
    assert (its.impact, its.hosts, its.together) == (Impact.REMOVE, (host,), 1)
    assert "may stay without a machine" in its.why


def test_hosts_that_change_places_keep_their_machines() -> None:
    one, other = names(tsukuba(), "cpu")[0], names(tsukuba(), "mncore2")[0]
    swapped = with_host(with_host(tsukuba(), one, pool="mncore2"), other, pool="cpu")
    found = verdict(tsukuba(), swapped)
    assert {found.worst(each) for each in (one, other)} == {Impact.NONE}


@pytest.mark.parametrize(("by_zone", "impact"), [(False, Impact.NONE), (True, Impact.REIMAGE)])
def test_a_host_in_another_zone_moves_where_zones_are_kept_apart(
    by_zone: bool, impact: Impact
) -> None:
    site = with_rollout(tsukuba(), "cpu", by_zone=by_zone)
    host = names(site, "cpu", "a")[0]
    found = verdict(site, with_host(site, host, zone="b"))
    effects = found.of(f"BareMetalHost/{host}", "metadata", "labels", "foresite.dev/zone")
    assert [each.impact for each in effects] == [Impact.NONE]
    assert found.worst(host) is impact


@pytest.mark.parametrize(
    ("field", "value", "action"),
    [
        # BMO internal/webhooks/metal3.io/v1alpha1/baremetalhost_validation.go: validateChanges.
        ("spec.bmc.address", "redfish://10.25.0.99/redfish/v1/Systems/1", Action.REFUSED),
        ("spec.bootMACAddress", "52:54:00:02:ff:01", Action.REFUSED),
        # BMO pkg/provisioner/ironic/register.go: driver_info.
        ("spec.bmc.credentialsName", "other", None),
        ("spec.bmc.disableCertificateVerification", True, None),
        # BMO host_state_machine.go (updateHostStateFrom), baremetalhost_controller.go.
        ("spec.bootMode", "legacy", None),
        ("spec.rootDeviceHints.deviceName", "/dev/sdz", None),
        ("spec.online", False, None),
    ],
)
def test_a_host_in_use_goes_on_whatever_its_object_says(
    field: str, value: Any, action: Action | None
) -> None:
    host = tsukuba().hosts[0].name
    effect = edited(tsukuba(), f"BareMetalHost/{host}", {field: value}).one(f"BareMetalHost/{host}")
    assert (effect.impact, effect.hosts, effect.action) == (Impact.NONE, (host,), action)


def test_rack_and_address_wait_for_the_next_installation() -> None:
    # CAPM3 baremetal/metal3data_manager.go: secrets are rendered once; IPAM ipam/ippool_manager.go.
    host = tsukuba().hosts[0].name
    other = with_host(tsukuba(), host, rack="z-9", ip="10.17.0.250", serial="EX1")
    found = verdict(tsukuba(), other)
    assert found.worst(host) is Impact.NONE
    for effect in (
        found.one(f"BareMetalHost/{host}", "metadata", "labels"),
        found.one("IPPool", "spec", "preAllocations"),
    ):
        assert effect.hosts == (host,)
        assert "installed next" in effect.why


# IPAM internal/webhooks/v1alpha1/ippool_webhook.go: ValidateUpdate.


def test_addresses_stay_inside_the_ranges() -> None:
    host = tsukuba().hosts[0].name
    outside = edited(tsukuba(), "IPPool", {f"spec.preAllocations.{host}-tsukuba-1": "10.99.0.1"})
    effect = outside.one("IPPool")
    assert (effect.impact, effect.hosts, effect.action) == (Impact.NONE, (host,), Action.REFUSED)
    effect = edited(tsukuba(), "IPPool", {"spec.pools.1.start": "10.17.0.100"}).one("IPPool")
    assert effect.action is Action.REFUSED
    effect = edited(tsukuba(), "IPPool", {"spec.pools.1.gateway": "10.17.0.254"}).one("IPPool")
    assert (effect.impact, effect.action) == (Impact.NONE, None)
    assert edited(tsukuba(), "IPPool", {"spec.namePrefix": "x"}).one("IPPool").action


def test_an_address_that_another_host_holds_is_said_to_be_held() -> None:
    first, second = tsukuba().hosts[:2]
    swapped = with_host(with_host(tsukuba(), first.name, ip=second.ip), second.name, ip=first.ip)
    effects = verdict(tsukuba(), swapped).of("IPPool")
    holders = {each.hosts[0]: each.why for each in effects}
    assert f"still held by {second.name}-tsukuba-1" in holders[first.name]
    assert f"still held by {first.name}-tsukuba-1" in holders[second.name]


# CAPI controlplane/kubeadm/internal/filters.go and internal/webhooks/kubeadmcontrolplane.go.

KCP = "KubeadmControlPlane"
CONFIG = "spec.kubeadmConfigSpec"


@pytest.mark.parametrize(
    ("edits", "impact", "at_most"),
    [
        ({f"{CONFIG}.ntp.servers": ["10.17.0.9"]}, Impact.REIMAGE, None),
        ({f"{CONFIG}.users": []}, Impact.REIMAGE, None),
        ({"spec.machineTemplate.spec.infrastructureRef.name": "x"}, Impact.REIMAGE, None),
        ({"spec.version": "v1.34.8"}, Impact.REIMAGE, None),
        ({f"{CONFIG}.joinConfiguration.patches.directory": "/x"}, Impact.REIMAGE, None),
        # Machines that joined have no initConfiguration, and the first one's still equals the
        # joinConfiguration.
        ({f"{CONFIG}.initConfiguration.patches.directory": "/x"}, Impact.NONE, None),
        ({"spec.machineTemplate.metadata": {"labels": {"a": "b"}}}, Impact.NONE, None),
        ({"spec.machineTemplate.spec.deletion": {}}, Impact.NONE, None),
        ({"spec.rollout.strategy.rollingUpdate.maxSurge": 1}, Impact.NONE, None),
        # Machines whose certificates end before that: machine_filters.go, ShouldRolloutBefore.
        ({"spec.rollout.before.certificatesExpiryDays": 60}, Impact.REIMAGE, 3),
        ({"spec.rollout.before.certificatesExpiryDays": 7}, Impact.NONE, None),
        ({"spec.remediation": {"maxRetry": 3}}, Impact.NONE, None),
        # Scaled down one at a time, by zone and age: scale.go.
        ({"spec.replicas": 1}, Impact.REMOVE, 2),
    ],
)
def test_what_replaces_control_plane_machines(
    edits: dict[str, Any], impact: Impact, at_most: int | None
) -> None:
    effects = edited(tsukuba(), KCP, edits).of(KCP)
    assert {each.impact for each in effects} == {impact}
    hosts = names(tsukuba(), "control") if impact is not Impact.NONE else ()
    assert {(each.hosts, each.at_most) for each in effects} == {(hosts, at_most)}
    assert not [each for each in effects if each.action]


def test_a_roll_says_that_a_secret_decides_what_new_api_servers_read() -> None:
    for keys, said in ({"secret": "keys"}, True), ({"kms": "vault"}, False):
        site = with_cluster(tsukuba(), encryption=Encryption.model_validate(keys))
        (effect,) = edited(site, KCP, {"spec.version": "v1.34.8"}).of(KCP)
        assert effect.impact is Impact.REIMAGE
        assert ("Secret of encryption.secret" in effect.why) == said


def test_the_first_machine_alone_is_compared_by_its_own_configuration() -> None:
    site = tsukuba()
    edits = {f"{CONFIG}.{each}Configuration.patches.directory": "/x" for each in ("init", "join")}
    found = edited(site, KCP, edits)
    assert found.one(KCP, "spec", "kubeadmConfigSpec", "joinConfiguration").at_most is None
    first = found.one(KCP, "spec", "kubeadmConfigSpec", "initConfiguration")
    assert (first.impact, first.at_most) == (Impact.REIMAGE, 1)


@pytest.mark.parametrize(
    ("edits", "impact"),
    [
        ({f"{CONFIG}.clusterConfiguration.certificatesDir": "/x"}, Impact.NONE),
        ({"spec.version": "v1.36.0"}, Impact.NONE),
    ],
    ids=["not in the list of what may change", "a minor version skipped"],
)
def test_the_webhook_of_the_control_plane_refuses(edits: dict[str, Any], impact: Impact) -> None:
    effect = edited(tsukuba(), KCP, edits).one(KCP)
    assert (effect.impact, effect.action) == (impact, Action.REFUSED)


def test_nobody_refuses_the_way_back_of_a_control_plane() -> None:
    effect = edited(tsukuba(), KCP, {"spec.version": "v1.33.9"}).one(KCP)
    assert (effect.impact, effect.action) == (Impact.UNKNOWN, None)


# CAPI internal/controllers/machineset/machineset_preflight.go, and our own policy (upgrade.py).


def unguarded(before: Site, after: Site) -> Verdict:
    """The verdict where the management cluster has no policy on versions of workers."""
    sides = []
    for each in (side(before), side(after)):
        kept = {k: m for k, m in each.objects.items() if not m.kind.startswith("Validating")}
        sides.append(replace(each, objects=kept))
    return verdict_of(*sides)


def ubuntu(site: Site) -> Site:
    """The site with an operating system that has an image for every version of the release."""
    return with_pool(site, "cpu", os=None)


@pytest.mark.parametrize(
    ("judge", "action", "said"),
    [
        (verdict, Action.REFUSED, "the management cluster refuses this until"),
        (unguarded, None, "while it upgrades the control plane"),
    ],
)
def test_a_minor_version_in_one_step(
    judge: Callable[[Site, Site], Verdict], action: Action | None, said: str
) -> None:
    site = ubuntu(tsukuba())
    found = judge(site, with_cluster(site, kubernetes="v1.35.5"))
    effect = found.one("MachineDeployment/cpu", "spec", "template", "spec", "version")
    impact = Impact.NONE if action is Action.REFUSED else Impact.REIMAGE
    assert (effect.impact, effect.action, effect.waits) == (impact, action, action is not None)
    assert effect.hosts == names(site, "cpu")
    assert said in effect.why
    control = found.one(KCP, "spec", "version")
    assert (control.impact, control.hosts) == (Impact.REIMAGE, names(site, "control"))


def test_a_patch_version_rolls_workers_while_the_control_plane_is_upgraded() -> None:
    found = verdict(tsukuba(), with_cluster(tsukuba(), kubernetes="v1.34.8"))
    effect = found.one("MachineDeployment/cpu", "spec", "template", "spec", "version")
    assert (effect.impact, effect.action) == (Impact.REIMAGE, None)
    assert "out until every control plane machine runs v1.34.8" in effect.why


def test_workers_held_back_a_minor_version_cannot_be_replaced() -> None:
    site = with_cluster(ubuntu(tsukuba()), kubernetes="v1.35.5", workers="v1.34.3")
    start = with_cluster(ubuntu(tsukuba()), workers="v1.34.3")
    found = verdict(start, site)
    assert not found.of("MachineDeployment/cpu")
    assert "no worker machine of the earlier minor version" in found.one(KCP, "spec", "version").why
    lost = [
        each
        for each in verdict(site, with_os_images(site)).of("MachineDeployment/cpu")
        if each.impact is Impact.REMOVE
    ]
    assert [(each.hosts, each.at_most) for each in lost] == [(names(site, "cpu"), 2)]
    like = names(site, "cpu")[0]
    added = verdict(site, with_new_host(site, like, "tsukuba-1-a-999"))
    effect = added.one("MachineDeployment/cpu", "spec", "replicas")
    assert "makes no machine of another minor version" in effect.why


# CAPI internal/controllers/cluster/cluster_controller_phases.go: the endpoint is copied once.


def test_an_endpoint_cannot_be_changed_later() -> None:
    found = verdict(tsukuba(), with_cluster(tsukuba(), endpoint="10.17.0.99"))
    effect = found.one("Metal3Cluster", "spec", "controlPlaneEndpoint")
    assert (effect.impact, len(effect.hosts)) == (Impact.UNKNOWN, 64)
    # A load balancer of someone else goes on where it is.
    found = verdict(edge(), with_cluster(edge(), port=9443))
    assert found.one("Metal3Cluster", "spec", "controlPlaneEndpoint").impact is Impact.NONE


def test_other_networks_of_a_running_cluster_are_unknown() -> None:
    found = verdict(tsukuba(), with_cluster(tsukuba(), pods="10.128.0.0/12"))
    effect = found.one("Cluster", "spec", "clusterNetwork")
    assert (effect.impact, len(effect.hosts)) == (Impact.UNKNOWN, len(tsukuba().hosts))
    other = {"spec.controlPlaneRef.name": "x"}
    assert edited(tsukuba(), "Cluster", other).one("Cluster").impact is Impact.UNKNOWN


# CAPI internal/controllers/machinehealthcheck; CAPM3 controllers/metal3remediation_controller.go.


@pytest.mark.parametrize(
    ("fields", "impact", "at_most"),
    [
        ({"unhealthy_timeout_seconds": 600}, Impact.REBOOT, 2),
        ({"unhealthy_timeout_seconds": 3600}, Impact.NONE, None),
        ({"remedy": Remedy.REPLACE}, Impact.REIMAGE, 2),
        ({"max_unhealthy_percent": 50}, Impact.REBOOT, 10),
        ({"max_unhealthy_percent": 5}, Impact.NONE, None),
        ({"reboot_retries": 5, "reboot_timeout_seconds": 600}, Impact.NONE, None),
    ],
)
def test_a_stricter_health_check_acts_on_what_has_failed_already(
    fields: dict[str, Any], impact: Impact, at_most: int | None
) -> None:
    found = verdict(tsukuba(), with_health(tsukuba(), "cpu", **fields))
    effects = [
        each
        for name in ("MachineHealthCheck/cpu", "Metal3RemediationTemplate/cpu")
        for each in found.of(name)
    ]
    assert max(effects, key=lambda each: each.impact.rank).impact is impact
    acting = {(e.hosts, e.at_most) for e in effects if e.impact is not Impact.NONE}
    assert acting <= {(names(tsukuba(), "cpu"), at_most)}


def test_a_pool_that_grows_is_not_rebooted_for_its_health_check() -> None:
    site = tsukuba()
    for number in range(9):  # 10 % of 30 machines are one more than of 21
        site = with_new_host(site, names(site, "cpu")[0], f"tsukuba-1-a-90{number}")
    effect = verdict(tsukuba(), site).one("MachineHealthCheck/cpu")
    assert (effect.impact, effect.path[:3]) == (
        Impact.NONE,
        ("spec", "remediation", "triggerIf"),
    )


@pytest.mark.parametrize(
    ("after", "impact"),
    [(lambda site: site, Impact.NONE), (with_os_images, Impact.UNKNOWN)],
    ids=["no machine is made", "machines are created again"],
)
def test_a_start_limit_below_a_re_image_deletes_machines_while_they_install(
    after: Change, impact: Impact
) -> None:
    site = with_health(tsukuba(), "cpu", remedy=Remedy.REPLACE)
    short = after(with_health(site, "cpu", node_startup_timeout_seconds=600))
    effect = verdict(site, short).one("MachineHealthCheck/cpu")
    assert effect.impact is impact
    assert "again and again" in effect.why


# What goes: CAPI, BMO and IPAM controllers' reconcileDelete; Pulumi's protect and retainOnDelete.


@pytest.mark.parametrize(
    ("kind", "impact", "action", "hosts"),
    [
        ("Namespace", Impact.REMOVE, Action.REFUSED, 64),
        ("Cluster", Impact.REMOVE, Action.REFUSED, 64),
        ("Metal3Cluster", Impact.UNKNOWN, Action.REFUSED, 64),
        (KCP, Impact.REMOVE, Action.REFUSED, 3),
        ("IPPool", Impact.NONE, Action.REFUSED, 0),
        ("MachineDeployment/cpu", Impact.REMOVE, Action.REFUSED, 21),
        ("KubeadmConfigTemplate/cpu", Impact.NONE, Action.LEFT, 0),
        ("MachineHealthCheck/cpu", Impact.NONE, Action.DELETED, 0),
        ("Metal3RemediationTemplate/cpu", Impact.NONE, Action.DELETED, 0),
        ("ValidatingAdmissionPolicy/worker-version", Impact.NONE, Action.DELETED, 0),
    ],
)
def test_what_goes_with_an_object(kind: str, impact: Impact, action: Action, hosts: int) -> None:
    there = side(tsukuba())
    less = {key: each for key, each in there.objects.items() if key[1] != kind}
    effect = verdict_of(there, replace(there, objects=less)).one(kind)
    assert (effect.impact, effect.action, len(effect.hosts)) == (impact, action, hosts)


@pytest.mark.parametrize(
    ("name", "action"),
    [("MachineDeployment/cpu", Action.REFUSED), ("MachineHealthCheck/cpu", Action.REPLACED)],
)
def test_an_object_of_another_version_is_another_one_to_pulumi(name: str, action: Action) -> None:
    effect = edited(tsukuba(), name, {"apiVersion": "cluster.x-k8s.io/v1beta3"}).one(name)
    assert (effect.impact, effect.action) == (Impact.UNKNOWN, action)


def test_a_template_edited_under_its_name_starts_nothing() -> None:
    url = {"spec.template.spec.image.url": "http://other.example/x"}
    effect = edited(tsukuba(), "Metal3MachineTemplate/cpu", url).one("Metal3MachineTemplate/cpu")
    assert (effect.impact, effect.action) == (Impact.NONE, None)
    assert "only new ones get the change" in effect.why
    # CAPM3 internal/webhooks/v1beta2/metal3datatemplate_webhook.go.
    dns = {"spec.networkData.services.dns": ["10.17.0.9"]}
    effect = edited(tsukuba(), "Metal3DataTemplate/cpu", dns).of("Metal3DataTemplate/cpu")[0]
    assert (effect.impact, effect.action) == (Impact.NONE, Action.REFUSED)


def test_labels_and_annotations_of_the_objects_themselves_do_nothing() -> None:
    there = side(edge())
    for (_, name), manifest in there.objects.items():
        given = {"metadata.labels": {"a": "b"}, "metadata.annotations": {"a": "b"}}
        if manifest.kind != "BareMetalHost":  # hosts are chosen by their labels
            effects = edited(edge(), name, given).effects
            assert {each.impact for each in effects} == {Impact.NONE}
