"""Small objects of Kubernetes' own kinds, edits of them on tokyo-1, and what rules say of these."""

import copy
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import yaml

from components.effects.kubernetes import RULES
from components.effects.rules import Rule, judge_object
from components.effects.vocabulary import (
    ABSENT,
    Action,
    Effect,
    FieldChange,
    Impact,
    Name,
    ObjectChange,
    Path,
    SiteChange,
)
from components.machines.fleet import side_of
from components.making.manifest import Json, Manifest, Target
from components.source import site_of
from schemas.facts.site import Site
from tests.kit.repository import ROOT, all_sites

# tokyo-1: the control plane has kubeadm's taint, h100 one of its own; v100 keeps 2 of 120 spare.
OPEN = "cpu v100 a100"
EVERY = "control cpu v100 a100 h100"
MOST_OPEN, MOST = 345, 398

Edits = Mapping[tuple[str | int, ...], Any]
"""Where, and the new value; ``ABSENT`` takes the field away."""
NOTHING: Edits = MappingProxyType({})
SAMPLES: dict[str, Json] = yaml.safe_load(
    (ROOT / "tests/kit/effects_cases.yaml").read_text("utf-8")
)
"""A small valid object of each kind that a row edits; ``body`` names it."""
SELECTOR = SAMPLES["DaemonSet"]["spec"]["selector"]
CLUSTER_SCOPED = {
    "ClusterRole",
    "ClusterRoleBinding",
    "CustomResourceDefinition",
    "Namespace",
    "PersistentVolume",
    "PriorityClass",
    "RuntimeClass",
    "StorageClass",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
}


def body(kind: str, edits: Edits = NOTHING, name: str = "a") -> Json:
    """The sample of a kind, edited."""
    if kind == "CustomResourceDefinition":
        name = "things.example.com"  # nothing else is a name of it
    metadata = {"name": name, "labels": {"tier": "x"}}
    if kind not in CLUSTER_SCOPED:
        metadata["namespace"] = "impact"
    found = {**copy.deepcopy(SAMPLES[kind]), "kind": kind, "metadata": metadata}
    for path, value in edits.items():
        holder: Any = found
        for step in path[:-1]:
            holder = holder[step] if isinstance(step, int) else holder.setdefault(step, {})
        if value is ABSENT:
            del holder[path[-1]]
        else:
            holder[path[-1]] = value
    return found


def at(text: str) -> Path:
    return tuple(text.split("."))


def fields(before: Any, after: Any, path: Path = ()) -> Iterator[FieldChange]:
    """The fields that differ; lists are compared by the names of their items, or as a whole."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in dict.fromkeys((*before, *after)):
            pair = (before.get(key, ABSENT), after.get(key, ABSENT))
            yield from fields(*pair, (*path, key))
    elif before != after:
        mine, theirs = by_name(before), by_name(after)
        if mine is None or theirs is None:
            yield FieldChange(path, before, after)
        else:
            yield from fields(mine, theirs, path)


def by_name(value: Any) -> Json | None:
    """The items of a list by their names; None where it is no list, or they have none."""
    if not isinstance(value, list):
        return None
    named = {each["name"]: each for each in value if isinstance(each, dict) and "name" in each}
    return named if len(named) == len(value) else None


def tokyo(**cluster: Any) -> Site:
    """tokyo-1, applied: its own cluster answers."""
    site = all_sites()["tokyo-1"]
    changed = site.file.cluster.model_copy(update={"context": "tokyo-1", **cluster})
    return of(site, file=site.file.model_copy(update={"cluster": changed}))


def of(site: Site, **changed: Any) -> Site:
    parts = {
        "file": site.file,
        "hosts": site.hosts,
        "release": site.release,
        "hardware": site.hardware,
        "texts": site.texts,
    }
    return Site(**{**parts, **changed})


def with_pool(site: Site, name: str, **changed: Any) -> Site:
    pools = [p.model_copy(update=changed) if p.name == name else p for p in site.file.pools]
    return of(site, file=site.file.model_copy(update={"pools": pools}))


class Wrap(NamedTuple):
    """The settings of Pulumi for the object of a row, and its place."""

    target: Target = Target.SITE
    protect: bool = False
    keep: bool = False


def change_of(
    bodies: Iterable[tuple[Json | None, Json | None]],
    wrap: Wrap = Wrap(),  # noqa: B008
    sites: tuple[Site | None, Site | None] | None = None,
) -> SiteChange:
    """A change of a site whose only objects are these, each before and after."""
    sides: tuple[dict[Name, Manifest], dict[Name, Manifest]] = ({}, {})
    changes: dict[Name, ObjectChange] = {}
    for pair in bodies:
        one = pair[1] or pair[0]
        assert one is not None
        name = f"{one['kind']}/{(pair[0] or one)['metadata']['name']}"
        made = [Manifest(name, each, *wrap) if each else None for each in pair]
        for side, each in zip(sides, made, strict=True):
            if each:
                side["test", name] = each
        if pair[0] != pair[1]:
            found = tuple(fields(*pair)) if None not in pair else ()
            changes["test", name] = ObjectChange("test", made[0], made[1], found)
    before, after = sites or (tokyo(), tokyo())
    return SiteChange(
        "tokyo-1",
        side_of(before, sides[0]) if before else None,
        side_of(after, sides[1]) if after else None,
        changes,
    )


def effects(site: SiteChange, kind: str, rules: list[Rule] = RULES) -> list[Effect]:
    (change,) = [each for each in site.changes.values() if each.kind == kind]
    return judge_object(rules, site, change)


def pools(site: Site, effect: Effect) -> str:
    """The pools whose hosts an effect names, each of them whole."""
    found = [p for p in site.file.pools if {h.name for h in site.hosts_of(p)} & set(effect.hosts)]
    assert set(effect.hosts) == {h.name for p in found for h in site.hosts_of(p)}
    return " ".join(pool.name for pool in found)


Said = tuple[Impact, str, int | None, Action | None]


def said(site: SiteChange, found: Iterable[Effect]) -> set[Said]:
    whole = in_all(site, found)
    return {(e.impact, pools(site_of(site.side), e), e.at_most, e.action) for e in whole}


def in_all(site: SiteChange, found: Iterable[Effect]) -> list[Effect]:
    """The effects, those of several groups of machines as one."""
    return [_in_all(site, parts) for parts in _alike(found)]


def _alike(found: Iterable[Effect]) -> list[list[Effect]]:
    """The effects, those in one list that say of several groups of machines that pods restart."""
    groups: dict[object, list[Effect]] = {}
    for number, each in enumerate(found):
        several = each.impact is Impact.POD_RESTART
        key = (each.name, each.path, each.why.partition("; ")[0]) if several else number
        groups.setdefault(key, []).append(each)
    return list(groups.values())


def _in_all(site: SiteChange, parts: list[Effect]) -> Effect:
    """The parts as one: what is certain is so for all hosts, what is not is of one pool each."""
    first, owners = parts[0], site.side.fleet.group_of_host
    if len(parts) == 1:
        return first
    limited = [each for each in parts if each.at_most is not None]
    assert all(len({owners[host].owner for host in each.hosts}) == 1 for each in limited)
    hosts = [host for each in parts for host in each.hosts]
    assert len(hosts) == len(set(hosts)), "each host once"
    count = sum(len(e.hosts) if e.at_most is None else e.at_most for e in parts)
    return first._replace(hosts=tuple(hosts), at_most=count if limited else None)
