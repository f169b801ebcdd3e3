"""Experiments on figures: objects that are made anew, hosts that come and move, spares, orders."""

from components.effects.vocabulary import Impact
from tests.real.live.experiment import (
    CHOICE,
    DELETION,
    GUARD,
    KCP_UPDATE,
    PLANNER,
    PREFLIGHT,
    TEMPLATE,
    Experiment,
    done,
    every,
    still,
)
from tests.real.live.predictions import Group, Hosts, Outcome, Prediction
from tests.real.live.recorder import CONTROL
from tests.real.live.state import REMOVED, TURNED, Edit, boot, host_name

UBUNTU = "ubuntu-24.04"
STOCKED_4 = host_name("stocked", 4)
NAMED = sorted(every("named"))
NEW = tuple(host_name("spared", number) for number in (7, 8, 9))
_ZONE_B = {"zone": "b", "rack": "b-01"}


def _in_place_of(
    gone: dict[str, Group], come: dict[str, Group], *pools: str, others: Hosts | None = None
) -> Prediction:
    """The machines of objects that go, installed again for objects that come."""
    hosts = others or Hosts(every(*pools))
    return Prediction(Outcome.DONE, {**gone, **come}, {Impact.REIMAGE: hosts})


SETTINGS = (
    Experiment(
        "spare added",
        Edit({"pools.stocked.spares": 1}, added={STOCKED_4: ("stocked", "a")}),
        still(stocked=3),
        PLANNER,
    ),
    Experiment(
        "order of pools, zones and hosts",
        Edit({"pools": TURNED, "zones": TURNED}, turned=True),
        still(mixed=6),
        TEMPLATE,
    ),
    Experiment(
        "first boot, and OnDelete with it",
        Edit({"pools.giver.first_boot": boot(), "pools.giver.rollout": {"strategy": "OnDelete"}}),
        still(giver=4),
        PLANNER,
    ),
)

MADE_ANEW = (
    Experiment(
        "pool renamed",
        Edit(
            {"pools.named.name": "renamed"}, changed={name: {"pool": "renamed"} for name in NAMED}
        ),
        _in_place_of({"named": Group(4, 0, 4, 0)}, {"renamed": Group(0, 4, 4, 0)}, "named"),
        PLANNER,
        released=True,
    ),
    Experiment(
        "zones kept apart from now on",
        Edit({"pools.joined.rollout": {"max_unavailable": 1, "by_zone": True}}),
        _in_place_of(
            {"joined": Group(4, 0, 4, 0)},
            {"joined-a": Group(0, 2, 2, 0), "joined-b": Group(0, 2, 2, 0)},
            "joined",
        ),
        PLANNER,
        released=True,
    ),
    Experiment(
        "zones no longer kept apart",
        Edit({"pools.parted.rollout": {"max_unavailable": 1}}),
        _in_place_of(
            {"parted-a": Group(2, 0, 2, 0), "parted-b": Group(2, 0, 2, 0)},
            {"parted": Group(0, 4, 4, 0)},
            "parted",
        ),
        PLANNER,
        released=True,
    ),
    Experiment(
        "three lines appended, with two spares",
        Edit(added=dict.fromkeys(NEW, ("spared", "a"))),
        done({"spared": Group(0, 3, 3, 4)}, Impact.ADD, every("spared").union(NEW), 3),
        CHOICE,
    ),
    Experiment(
        "a spare and an image at once",
        Edit({"pools.mixed.spares": 1, "pools.mixed.os": UBUNTU}),
        Prediction(
            Outcome.DONE,
            {"mixed": Group(6, 5, 2, 4)},
            {
                Impact.REIMAGE: Hosts(every("mixed"), at_most=5),
                Impact.REMOVE: Hosts(every("mixed"), at_most=1),
            },
        ),
        PLANNER,
    ),
)

TOGETHER = (
    Experiment(
        "control plane and a pool together",
        Edit(
            {"pools.control.kubelet": {"max_pods": 200}, "pools.zoned.kubelet": {"max_pods": 200}}
        ),
        done(
            {CONTROL: Group(3, 3, 1, 2), **{f"zoned-{zone}": Group(4, 4, 1, 3) for zone in "ab"}},
            Impact.REIMAGE,
            every(CONTROL, "zoned"),
        ),
        f"{KCP_UPDATE}; {PLANNER}",
    ),
    Experiment(
        "a spare fewer",
        Edit({"pools.spared.spares": 1}),
        done({"spared": Group(0, 1, 1, 7)}, Impact.ADD, every("spared").union(NEW), 1),
        CHOICE,
    ),
    Experiment(
        "zone of a host changed, zones apart",
        Edit(changed={host_name("places", 2): {**_ZONE_B, "ip": "10.40.1.202"}}),
        Prediction(
            Outcome.STUCK,
            {"places-a": Group(1, 0, 1, 2), "places-b": Group(0, 0, 1, 3)},
            {Impact.REMOVE: Hosts(frozenset(host_name("places", n) for n in (1, 2, 3)), 1)},
            says="no available host found",
        ),
        f"{DELETION}; {CHOICE}",
        # Else the Machine whose name comes first goes: one time in three the moved host's.
        marked=host_name("places", 1),
    ),
    Experiment(
        "host moved to a pool with a free one",
        Edit(changed={host_name("giver", 2): {"pool": "stocked"}}),
        Prediction(
            Outcome.DONE,
            {"giver": Group(1, 0, 1, 3), "stocked": Group(0, 1, 1, 3)},
            {
                Impact.REMOVE: Hosts(every("giver"), at_most=1),
                Impact.ADD: Hosts(frozenset({STOCKED_4}), at_most=1),
            },
        ),
        f"{DELETION}; {CHOICE}",
        marked=host_name("giver", 1),
    ),
)

FREED = (
    Experiment(
        "the Machine of the host with another zone deleted",
        Edit(),
        Prediction(
            Outcome.DONE,
            {"places-a": Group(1, 1, 1, 1), "places-b": Group(0, 1, 1, 3)},
            {
                Impact.REIMAGE: Hosts(frozenset({host_name("places", 2)})),
                Impact.ADD: Hosts(frozenset({host_name("places", 1)})),
            },
        ),
        CHOICE,
        deleted=host_name("places", 2),
    ),
)

MERGED = (
    Experiment(
        "zone of a host changed, its Machine marked",
        Edit(changed={host_name("places", 3): {**_ZONE_B, "ip": "10.40.1.203"}}),
        done(
            {"places-a": Group(1, 0, 1, 1), "places-b": Group(0, 1, 1, 4)},
            Impact.REIMAGE,
            {host_name("places", 3)},
        ),
        f"{DELETION}; {CHOICE}",
        marked=host_name("places", 3),
    ),
    Experiment(
        "pool joined into another",
        Edit({"pools.renamed": REMOVED}, changed={name: {"pool": "parted"} for name in NAMED}),
        _in_place_of({"renamed": Group(4, 0, 4, 0)}, {"parted": Group(0, 4, 4, 4)}, "named"),
        f"{PLANNER}; {CHOICE}",
        released=True,
    ),
)

AGAIN = (
    Experiment(
        "minor, applied again",
        Edit(),
        done(
            {
                CONTROL: Group(0, 0, 0, 3),
                "one": Group(8, 8, 1, 7),
                "two": Group(6, 6, 2, 4),
                "four": Group(10, 10, 4, 6),
                "zoned-a": Group(4, 4, 1, 3),
                "zoned-b": Group(3, 3, 1, 2),
                "surge": Group(8, 8, 3, 6),
                "joined-a": Group(2, 2, 1, 1),
                "joined-b": Group(2, 2, 1, 1),
                "parted": Group(8, 8, 1, 7),
                "mixed": Group(5, 5, 1, 4),
                **{name: Group(0, 0, 0, n) for name, n in (("manual", 11), ("spared", 8))},
                **{name: Group(0, 0, 0, n) for name, n in (("stocked", 4), ("giver", 3))},
                **{name: Group(0, 0, 0, n) for name, n in (("places-a", 1), ("places-b", 5))},
            },
            Impact.REIMAGE,
            every("one", "two", "four", "zoned", "surge", "joined", "parted", "mixed", "named"),
            8 + 6 + 10 + 7 + 8 + 4 + 8 + 5,
        ),
        f"{GUARD}; {PREFLIGHT}",
    ),
)
