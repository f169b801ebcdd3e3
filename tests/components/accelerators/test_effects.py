"""Effects of changes to a site's accelerators on its hosts, with those on the machines beside
them."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from components.accelerators.effects import RULES
from components.accelerators.objects import objects as accelerators
from components.effects.kubernetes import RULES as KUBERNETES
from components.effects.rules import Rules, judge_object
from components.effects.vocabulary import (
    Action,
    Effect,
    Impact,
    Name,
    ObjectChange,
    Path,
    Side,
    SiteChange,
)
from components.machines.effects import RULES as MACHINES
from components.machines.fleet import side_of
from components.machines.objects import objects as machines
from schemas.facts.site import Site
from schemas.model.accelerators import AcceleratorModel
from schemas.model.scheduling import Scheduling
from tests.kit.accelerator_sites import SETTINGS, by_dra, operated_by, site
from tests.kit.effects_cases import fields
from tests.kit.fields import unruled
from tests.kit.sharing_sites import operated_slices

OURS = {"accelerators": accelerators, "machines": machines}
EVERY_RULE = {
    "accelerators": Rules((*RULES, *KUBERNETES)),
    "machines": Rules((*MACHINES, *KUBERNETES)),
}
NVIDIA = ("v100", "h100", "t4")
CARDS = (*NVIDIA, "mncore")
Outcome = dict[str, Impact]


def side(of: Site) -> Side:
    return side_of(of, {(c, each.name): each for c, make in OURS.items() for each in make(of)})


def change(before: Site, after: Site) -> SiteChange:
    sides = side(before), side(after)
    old, new = (each.objects for each in sides)
    changes: dict[Name, ObjectChange] = {}
    for name in dict.fromkeys((*old, *new)):
        pair = old.get(name), new.get(name)
        if pair[0] != pair[1]:
            found = tuple(fields(pair[0].body, pair[1].body)) if pair[0] and pair[1] else ()
            changes[name] = ObjectChange(name[0], *pair, found)
    return SiteChange(after.name, *sides, changes)


def effects(before: Site, after: Site) -> list[Effect]:
    """Every effect of a change; each says where it is known from, unless it is not known."""
    both = change(before, after)
    found = [
        effect
        for (component, _), each in both.changes.items()
        for effect in judge_object(EVERY_RULE[component], both, each)
    ]
    assert all(each.source or each.impact is Impact.UNKNOWN for each in found)
    return found


def outcome(before: Site, after: Site) -> Outcome:
    """The worst that happens to each pool's hosts; pools to which nothing happens are left out."""
    worst: Outcome = {}
    for effect in effects(before, after):
        named = {pool for pool in after.by_pool if touches(after, pool, effect)}
        for pool in named if effect.impact is not Impact.NONE else ():
            known = worst.get(pool, Impact.NONE)
            worst[pool] = max(known, effect.impact, key=lambda each: each.rank)
    return worst


def touches(of: Site, pool: str, effect: Effect) -> bool:
    names = {host.name for host in of.by_pool[pool]}
    assert names.isdisjoint(effect.hosts) or names <= set(effect.hosts)
    return names <= set(effect.hosts)


def changed_kinds(before: Site, after: Site) -> set[str]:
    return {each.kind for each in change(before, after).changes.values()}


def all_of(pools: tuple[str, ...], impact: Impact) -> Outcome:
    return dict.fromkeys(pools, impact)


def with_model(of: Site, name: str, **changed: Any) -> Site:
    """The site with another record of a model."""
    record = of.accelerators[name].model_dump()
    merged = {
        key: {**record[key], **value} if isinstance(value, dict) else value
        for key, value in changed.items()
    }
    made = AcceleratorModel.model_validate({**record, **merged})
    return replace(of, accelerators={**of.accelerators, name: made})


def with_image(of: Site, name: str) -> Site:
    """The site with another build of one of the release's images."""
    images = {**of.release.images, name: f"registry.example/{name}:v9@sha256:{'ef' * 32}"}
    return replace(of, release=of.release.model_copy(update={"images": images}))


def with_settings(of: Site, **changed: Any) -> Site:
    assert of.file.accelerators is not None
    settings = of.file.accelerators.model_copy(update=changed)
    return replace(of, file=of.file.model_copy(update={"accelerators": settings}))


def renamed(of: Site) -> Site:
    return with_settings(of, names={**SETTINGS["names"], "t4-pcie-16gb": "gpu-small"})


def in_context(of: Site, context: str | None) -> Site:
    cluster = of.file.cluster.model_copy(update={"context": context})
    return replace(of, file=of.file.model_copy(update={"cluster": cluster}))


def on_a_scheduler_of_its_own(of: Site) -> Site:
    """The site with all its NVIDIA pools on a scheduler of its own, and none on the default one."""
    scheduler = {"image": f"registry.example/gang:1@sha256:{'ab' * 32}", "throttler": "t"}
    backend = {"name": "gang", "kind": "kube-scheduler", "pools": NVIDIA, "scheduler": scheduler}
    scheduling = Scheduling.model_validate({"backends": [{**backend, "pools": list(NVIDIA)}]})
    return replace(of, file=of.file.model_copy(update={"scheduling": scheduling}))


V100_OTHERWISE = {"driver": "gpu.nvidia.com", "expressions": ["true"]}


@pytest.mark.parametrize(
    "edit",
    [
        lambda of: with_model(of, "mncore2", description="a board of another name"),
        lambda of: with_model(of, "v100-sxm2-32gb", memory_gib=31),
        # Nobody installs drivers here.
        lambda of: with_model(of, "v100-sxm2-32gb", driver="570.10"),
        lambda of: with_model(of, "v100-sxm2-32gb", dra=V100_OTHERWISE),
    ],
)
def test_what_no_object_says_changes_nothing(edit: Callable[[Site], Site]) -> None:
    assert change(site(), edit(site())).changes == {}


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        (
            lambda of: with_image(of, "nvidia-device-plugin"),
            all_of(NVIDIA, Impact.POD_RESTART),
        ),
        (lambda of: with_image(of, "nvidia-exporter"), all_of(NVIDIA, Impact.POD_RESTART)),
        (lambda of: with_image(of, "nvidia-container-toolkit"), {}),
        (
            lambda of: with_model(of, "mncore2", plugin={"args": ["--boards=4"]}),
            {"mncore": Impact.POD_RESTART},
        ),
        (
            lambda of: with_model(of, "t4-pcie-16gb", plugin={"env": {"A": "b"}}),
            {"t4": Impact.POD_RESTART},
        ),
        (
            lambda of: with_model(of, "mncore2", exporter={"port": 9600}),
            {"mncore": Impact.POD_RESTART},
        ),
        # Which cards count as the model: labels of nodes, by which nothing is placed.
        (lambda of: with_model(of, "mncore2", pci={"devices": ["0002", "0003"]}), {}),
    ],
)
def test_a_changed_part_restarts_on_its_pools_hosts_and_drains_none(
    edit: Callable[[Site], Site], expected: Outcome
) -> None:
    assert outcome(site(), edit(site())) == expected


RENAMED = {"resource": "mncore.example/board"}
RENAMED_BY_PLUGIN = {**RENAMED, "args": ["--boards=8", "--name=board"]}


@pytest.mark.parametrize(
    ("plugin", "expected"),
    [
        # Its pods are the same, and so is what they advertise.
        (RENAMED, {}),
        (RENAMED_BY_PLUGIN, {"mncore": Impact.UNKNOWN}),
        ({**RENAMED, "args": ["--boards=4", "--name=board"]}, {"mncore": Impact.UNKNOWN}),
    ],
)
def test_cards_under_another_name_may_be_given_to_two_pods(
    plugin: dict[str, Any], expected: Outcome
) -> None:
    """The devices that a pod holds are counted by the resource's name (kubelet,
    allocatedDevices)."""
    found = outcome(site(), with_model(site(), "mncore2", plugin=plugin))
    assert found == {"control": Impact.REIMAGE, **expected}


def test_another_name_of_cards_concerns_those_machines_that_there_are() -> None:
    plugin = {"resource": "nvidia.com/v100", "args": ["--name=v100"]}
    told = effects(site(), with_model(site(), "v100-sxm2-32gb", plugin=plugin))
    (v100,) = (each for each in told if each.impact is Impact.UNKNOWN)
    assert v100.name[1] == "DaemonSet/device-plugin/v100"
    assert "from nvidia.com/gpu to nvidia.com/v100" in v100.why
    assert v100.at_most == 3  # the fourth is a spare


@pytest.mark.parametrize(("before", "after"), [("tokyo", None), (None, "tokyo")])
def test_cards_have_one_name_where_the_plugin_runs_on_one_side_only(
    before: str | None, after: str | None
) -> None:
    renamed = with_model(site(), "mncore2", plugin=RENAMED_BY_PLUGIN)
    found = outcome(in_context(site(), before), in_context(renamed, after))
    assert found["mncore"] is Impact.POD_RESTART


def test_an_exporter_that_restarts_takes_no_card_from_anyone() -> None:
    after = with_model(site(), "mncore2", plugin=RENAMED, exporter={"port": 9600})
    assert outcome(site(), after)["mncore"] is Impact.POD_RESTART


def test_another_way_of_handing_devices_out_concerns_the_pods_that_come_later() -> None:
    before = with_model(site(), "v100-sxm2-32gb", plugin={"env": {}})
    (told,) = (each for each in effects(before, site()) if each.impact is Impact.POD_RESTART)
    assert told.name[1] == "DaemonSet/device-plugin/v100"
    assert "by volume-mounts: pods that start later get theirs only where" in told.why


def test_a_plugin_is_replaced_a_tenth_at_a_time() -> None:
    told = effects(site(), with_image(site(), "nvidia-device-plugin"))
    (v100,) = (each for each in told if each.name[1] == "DaemonSet/device-plugin/v100")
    assert "1 at a time" in v100.why
    assert v100.at_most == 3  # the fourth is a spare


def test_a_new_name_of_a_model_changes_what_admission_knows() -> None:
    """The default scheduler reads what it ignores from a file of the control plane's machines."""
    before = site()
    kinds = changed_kinds(before, renamed(before))
    policies = {"MutatingAdmissionPolicy", "ValidatingAdmissionPolicy"}
    assert kinds == {*policies, "ConfigMap", "KubeadmControlPlane"}
    assert outcome(before, renamed(before)) == {"control": Impact.REIMAGE}


def test_on_a_scheduler_of_its_own_a_new_name_touches_no_host() -> None:
    before = on_a_scheduler_of_its_own(site())
    after = renamed(before)
    assert "KubeadmControlPlane" not in changed_kinds(before, after)
    assert outcome(before, after) == {}


def test_more_cards_in_a_host_are_data() -> None:
    before = site()
    host = before.hardware["t4-pcie-16gb-x1"]
    assert host.accelerators is not None
    two = host.accelerators.model_copy(update={"count": 2})
    wider = host.model_copy(update={"accelerators": two})
    after = replace(before, hardware={**before.hardware, "t4-pcie-16gb-x1": wider})
    assert outcome(before, after) == {}
    assert "ConfigMap" in changed_kinds(before, after)


def test_serving_accelerators_for_the_first_time_rolls_the_control_plane() -> None:
    found = outcome(site(settings=None), site())
    assert found == {"control": Impact.REIMAGE, **all_of(CARDS, Impact.POD_RESTART)}
    (policy, *_) = (
        each
        for each in effects(site(settings=None), site())
        if each.name[1].startswith("MutatingAdmissionPolicy/")
    )
    assert "has to be run again" in policy.why


def test_what_the_api_server_was_told_is_not_taken_back() -> None:
    """Cluster API lets no KubeadmControlPlane lose its whole ClusterConfiguration."""
    told = effects(site(), site(settings=None))
    (refusal,) = (each for each in told if each.path[-1:] == ("clusterConfiguration",))
    assert refusal.action is Action.REFUSED
    assert refusal.hosts == ()


# --- DRA ---


@pytest.mark.parametrize(
    "edit",
    [
        renamed,
        lambda of: with_model(of, "t4-pcie-16gb", dra={"expressions": ["true"]}),
    ],
)
def test_a_device_class_touches_no_host(edit: Callable[[Site], Site]) -> None:
    before = by_dra()
    assert "DeviceClass" in changed_kinds(before, edit(before))
    assert outcome(before, edit(before)) == {}


def test_from_plugins_to_dra_one_card_may_go_to_two_jobs() -> None:
    for before, after in ((site(), by_dra()), (by_dra(), site())):
        found = outcome(before, after)
        assert {pool: found[pool] for pool in CARDS} == all_of(CARDS, Impact.UNKNOWN)
        assert found["control"] is Impact.REIMAGE


# --- the GPU operator ---


@pytest.mark.parametrize(("at_once", "expected"), [(0, {}), (2, {"v100": Impact.DRAIN})])
def test_a_driver_is_renewed_on_its_pools_hosts_if_at_all(at_once: int, expected: Outcome) -> None:
    before = operated_by(max_parallel_upgrades=at_once)
    after = with_model(before, "v100-sxm2-32gb", driver="570.10.01")
    assert outcome(before, after) == expected
    (told,) = effects(before, after)
    assert told.name[1] == "NVIDIADriver/v100"
    if expected:
        assert "2 at a time" in told.why
        assert "14400 s" in told.why
        assert (told.at_most, told.at_once) == (3, 2)
    else:
        assert "max_parallel_upgrades is 0" in told.why


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        # Which drivers are older than they should be is in no Git.
        (0, 2, all_of(NVIDIA, Impact.DRAIN)),
        (2, 0, {}),
        (2, 3, {}),
    ],
)
def test_whether_drivers_are_renewed_is_said_apart(
    before: int, after: int, expected: Outcome
) -> None:
    sides = (operated_by(max_parallel_upgrades=each) for each in (before, after))
    assert outcome(*sides) == expected


@pytest.mark.parametrize(
    "image",
    ["nvidia-container-toolkit", "nvidia-device-plugin", "nvidia-exporter", "nvidia-gpu-operator"],
)
def test_a_part_of_the_operator_restarts_on_nvidias_hosts(image: str) -> None:
    before = operated_by()
    assert outcome(before, with_image(before, image)) == all_of(NVIDIA, Impact.POD_RESTART)


def test_the_drivers_manager_is_part_of_the_driver() -> None:
    before = operated_by(max_parallel_upgrades=1)
    after = with_image(before, "nvidia-driver-manager")
    assert outcome(before, after) == all_of(NVIDIA, Impact.DRAIN)


def test_what_becomes_of_jobs_when_drivers_come_or_go_is_not_known() -> None:
    for before, after in (
        (operated_by(), operated_by(drivers=False)),
        (operated_by(drivers=False), operated_by()),
        (site(), operated_by()),
    ):
        assert outcome(before, after) == all_of(NVIDIA, Impact.UNKNOWN)


def test_pulumi_does_not_take_drivers_away() -> None:
    told = effects(operated_by(), operated_by(drivers=False))
    drivers = [each for each in told if each.name[1].startswith("NVIDIADriver/")]
    assert {each.action for each in drivers} == {Action.REFUSED}
    assert len(drivers) == len(NVIDIA)


# --- every field ---

NOT_KNOWN: set[tuple[str, Path]] = {
    ("ClusterPolicy", ("spec", *path))
    for path in (
        ("operator", "runtimeClass"),
        ("dcgm", "enabled"),
        ("nodeStatusExporter", "enabled"),
        ("sandboxWorkloads", "enabled"),
    )
}
"""Fields that are written once for all and whose change nobody has looked into."""


def test_every_field_has_a_rule() -> None:
    unknown = set()
    for of in (site(), by_dra(), operated_by(max_parallel_upgrades=1)):
        for each in accelerators(of):
            unknown |= unruled(EVERY_RULE["accelerators"], each)
    assert unknown == NOT_KNOWN


def test_another_number_of_mps_clients_restarts_their_daemon() -> None:
    found = outcome(operated_slices(mps=4), operated_slices(mps=8))
    assert found["t4"] is Impact.UNKNOWN
    turns = outcome(operated_slices(time_slicing=4), operated_slices(time_slicing=8))
    assert Impact.UNKNOWN not in turns.values()
