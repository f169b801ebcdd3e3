"""The preview's report held against plays of the same change.

What the preview says may be less exact ("at most 2 of these hosts"), never safer than a play, and
never wider than the widest play.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.preview.simulator.play import Figures, Play
from tests.preview.simulator.world import KCP

LOST = ("re-image", "remove")
KINDS: dict[tuple[str, ...], str] = {
    LOST: "lose their Machine",
    ("remove",): "are not installed again",
    ("add",): "become a Machine",
}
FOR_EVER = re.compile(r"for ever|forever|do not come back|waits? (for|until)|without a machine")
Report = Mapping[str, Any]
Ways = tuple[Mapping[str, str], ...]
"""Outcomes by host of one play, in all ways to say them."""
Pods = tuple[set[str], set[str]]
"""Hosts of one play on which pods restart, and on which they may."""
Group = tuple[str, str, int | None, str, int | None]
"""Pool, impact, at most so many, the rest, at most so many of the rest."""
UNSEEN = ("reboot", "drain", "unknown")
"""What only hosts get that are not healthy or not up to date to begin with; the model has none."""


def settled(
    found: Play, before: Mapping[str, str], after: Mapping[str, str], zones: Mapping[str, str]
) -> dict[str, str]:
    """The outcome of each host where a free host that takes the place of another of its group
    counts as that one: Git has no name for the hosts that are free, so both ways to say it are
    right. ``before`` and ``after`` are the pools of hosts."""
    hosts = dict(found.hosts)
    parts: dict[object, list[str]] = defaultdict(list)
    for name in sorted(after):
        parts[after[name], zones.get(name)].append(name)
    for mine in parts.values():
        wiped = [
            each for each in mine if hosts[each] == "remove" and before.get(each) == after[each]
        ]
        taken = [each for each in mine if hosts[each] == "add"]
        for old, new in zip(wiped, taken, strict=False):
            hosts[old], hosts[new] = "re-image", "none"
    return hosts


def groups(report: Report, zones: Mapping[str, str]) -> list[tuple[Group, list[str]]]:
    """Hosts by what is said of them, as one bound is for all of them together. ``zones``
    has the hosts of pools in which each zone is bounded by itself."""
    found: dict[tuple[Group, str | None], list[str]] = defaultdict(list)
    for each in report["hosts"]:
        key = (each["pool"], each["impact"], each["at_most"], each["rest"], each["rest_at_most"])
        found[key, zones.get(each["host"])].append(each["host"])
    return [(key, hosts) for (key, _), hosts in found.items()]


def compare_hosts(
    report: Report,
    plays: Sequence[Ways],
    pods: Sequence[Pods],
    zones: Mapping[str, str],
    stops: bool,
) -> Iterator[str]:
    """The verdicts of hosts. ``stops`` is true where a MachineDeployment is refused: whether its
    hosts are installed again is then not the controllers' matter."""
    yield from _compare_limits(report, plays)
    kinds = {names: KINDS[names] for names in KINDS if names == LOST or not stops}
    for key, hosts in groups(report, zones):
        if key[1] == "unknown":
            continue
        what = f"{len(hosts)} of pool {key[0]} ({hosts[0]}…): {key[1]}"
        what += "" if key[2] is None else f" at most {key[2]}, rest {key[3]} {key[4] or ''}"
        found = _compare_group(key, hosts, plays, pods, kinds)
        yield from (f"{what}: {each}" for each in found)


def _compare_limits(report: Report, plays: Sequence[Ways]) -> Iterator[str]:
    """Hosts that have one limit together, as each may be the one."""
    limits: dict[int, list[Report]] = defaultdict(list)
    for each in report["hosts"]:
        if each.get("limit") is not None:
            limits[each["limit"]].append(each)
    for hosts in limits.values():
        said = hosts[0]["together"]
        names = {each["host"]: LOST if each["impact"] in LOST else ("add",) for each in hosts}
        seen = [[sum(way[host] in names[host] for host in names) for way in each] for each in plays]
        if not max(map(min, seen)) <= said <= max(map(max, seen)):
            kind = _kind(said < max(map(min, seen)))
            yield f"{kind}: {max(map(max, seen))} of {min(names)}… together, {said} are said"


def _said(key: Group, hosts: Sequence[str], least: bool) -> dict[str, int]:
    """Hosts at most, by what is said of them; the least of it where parts exclude each other."""
    _, impact, at_most, rest, rest_at_most = key
    said = defaultdict(int, {impact: len(hosts) if at_most is None else at_most})
    if at_most is not None:
        others = max(len(hosts) - at_most, 0) if least else len(hosts)
        said[rest] += others if rest_at_most is None else min(rest_at_most, others)
    said.pop("none", None)
    return said


def _compare_group(
    key: Group,
    hosts: Sequence[str],
    plays: Sequence[Ways],
    pods: Sequence[Pods],
    kinds: Mapping[tuple[str, ...], str],
) -> Iterator[str]:
    said, surely_said = _said(key, hosts, False), _said(key, hosts, True)
    for names, kind in kinds.items():
        seen = [[sum(way[host] in names for host in hosts) for way in each] for each in plays]
        bound = min(sum(said[each] for each in names), len(hosts))
        surely, perhaps = max(map(min, seen)), max(map(max, seen))
        if names != ("add",) and surely > bound:
            yield f"UNSAFE: {surely} {kind}, and {bound} are said"
        elif perhaps < min(sum(surely_said[each] for each in names), len(hosts)):
            yield f"WIDE: {perhaps} {kind}, and {bound} are said"
        elif key[2] is None and key[1] in names and min(map(max, seen)) < len(hosts):
            yield f"WIDE: {min(map(max, seen))} to {perhaps} {kind}, and all are said"
    changed = [
        min(sum(name in restarting or way[name] != "none" for name in hosts) for way in ways)
        for ways, (restarting, _) in zip(plays, pods, strict=True)
    ]
    if max(changed) > sum(said.values()):
        yield f"UNSAFE: {max(changed)} change, and {sum(said.values())} are said"
    restarts = max(sum(name in each for name in hosts) for _, each in pods)
    if said["pod restart"] > restarts:
        yield f"WIDE: pods of {restarts} restart, and {said['pod restart']} are said"


def compare_counts(report: Report, plays: Sequence[Ways]) -> Iterator[str]:
    said = sum(report["counts"].get(each, 0) for each in LOST)
    seen = [sum(outcome in LOST for outcome in each[0].values()) for each in plays]
    if said != max(seen):
        yield f"{_kind(said < max(seen))}: counts: {max(seen)} hosts lose Machines, {said} are said"


def compare_plans(report: Report, plays: Sequence[Play], control: str) -> Iterator[str]:
    """Rollouts: MachineDeployments that are there before and after and that replace Machines."""
    said = {
        f"{each['pool']}-{each['zone']}" if each["zone"] else each["pool"]: each
        for each in report["plans"]
    }
    for name in sorted(plays[0].figures):
        all_of = [each.figures[name] for each in plays]
        plan = said.pop(control if name.startswith(KCP) else name, None)
        rolls = any(each.down > each.dead and each.up for each in all_of)
        if not rolls or not all_of[0].first or not all_of[0].target:
            continue
        if plan is None:
            yield f"UNSAFE: {name} is rolled, and there is no plan"
            continue
        yield from (f"plan of {name}: {each}" for each in _compare_plan(plan, all_of))


def _compare_plan(plan: Report, seen: Sequence[Figures]) -> Iterator[str]:
    down = [max(each.down, each.up) for each in seen]
    if not min(min(each.down, each.up) for each in seen) <= plan["machines"] <= max(down):
        kind = _kind(plan["machines"] < max(down))
        yield f"{kind}: {min(down)} to {max(down)} Machines, {plan['machines']} said"
    at_once = max(min(each.at_once, each.down) for each in seen)
    steady = all(each.first == each.target for each in seen)
    if steady and plan["at_once"] != at_once:
        yield f"{_kind(plan['at_once'] < at_once)}: {at_once} at once, {plan['at_once']} said"
    low = max(min(each.first, each.target) - each.least - each.dead for each in seen)
    high = max(max(each.first, each.target) - each.least for each in seen)
    if not low <= plan["out"]["hosts_out"] <= high:
        yield f"{_kind(plan['out']['hosts_out'] < low)}: {low} to {high} out, {plan['out']} said"


def compare_capacity(
    report: Report, plays: Sequence[Play], models: Mapping[str, str]
) -> Iterator[str]:
    """What is out at worst, and what is left, of each model; the preview adds the worst moments of
    all pools up, so it may say more than one moment of a play."""
    if any({each["impact"], each["rest"]} & set(UNSEEN) for each in report["hosts"]):
        return
    for each in report["capacity"]:
        mine = {name for name, model in models.items() if model == each["model"]}
        first = max(len(found.ran & mine) for found in plays)
        least = min(len(hosts & mine) for found in plays for hosts in found.running)
        most = max(first, *(len(found.running[-1] & mine) for found in plays))
        low = max(first - least, 0)
        high = max(low, *(_worst(found, mine) for found in plays))
        model = each["model"] or "no accelerators"
        if not low <= each["hosts_out"] <= high:
            kind = _kind(each["hosts_out"] < low)
            yield f"{kind}: {model}: {low} to {high} hosts out, {each['hosts_out']} said"
        left = each.get("hosts_left", each["hosts"] - each["hosts_out"])
        if not min(least, most - high) <= left <= most - low:
            kind = _kind(left > most - low)
            yield f"{kind}: {model}: {least} to {most - low} hosts left, {left} said"


def _worst(found: Play, mine: set[str]) -> int:
    """The worst moments of all MachineDeployments, added up."""
    return sum(
        each.first if not each.target else max(each.first, each.target) - each.least
        for name, each in found.figures.items()
        if each.first and found.owners[name] & mine
    )


def compare_waits(report: Report, plays: Sequence[Play]) -> Iterator[str]:
    """Machines that never come are said by words: of a plan that is stuck, or of a reason."""
    waits = {name for each in plays for name, figures in each.figures.items() if figures.waits}
    words = " ".join(each["why"] for each in report["reasons"])
    stuck = any(each["stuck"] for each in report["plans"])
    if waits and not stuck and not FOR_EVER.search(words):
        yield f"UNSAFE: Machines of {', '.join(sorted(waits))} wait for ever, and nothing says so"


def _kind(unsafe: bool) -> str:
    return "UNSAFE" if unsafe else "WIDE"
