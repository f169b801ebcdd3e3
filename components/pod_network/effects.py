"""Effects of changes to the pod network: the manifests that a site brings, and their way in."""

import json
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from components.effects import (
    ABSENT,
    Action,
    Effect,
    Effects,
    Field,
    FieldChange,
    Impact,
    Name,
    ObjectChange,
    Path,
    Side,
    SiteChange,
)
from components.effects.applying import MERGED, Applier, effect, rules
from components.effects.kubernetes import RULES as KUBERNETES
from components.effects.kubernetes import rules_for
from components.effects.rules import Judge, Rule, find, find_whole, unknown
from components.effects.table import read_kinds
from components.making.brought import logical_name
from components.making.manifest import Json, Manifest, Target
from components.making.told import Told
from components.pod_network.objects import COMPONENT
from schemas.kubernetes.manifests import read_manifests

TOLD = Told(__file__)
CONTROLLER = "Cluster API 1.13, internal/controllers/clusterresourceset"
CONFLICT = "pulumi-kubernetes 4.25.0, provider/pkg/await/await.go; KEP-555 (server-side apply)"
Objects = dict[Name, Manifest]
Changes = dict[Name, ObjectChange]
MERGING = rules_for(Applier.CLUSTER_API)
TRAFFIC = "whether other pods keep their network meanwhile is up to the network's own program"


def resource_set_objects(side: Side | None) -> Objects:
    """The objects that Cluster API applies to a site's own cluster, by their names there."""
    found: Objects = {}
    for (component, _), each in side.objects.items() if side else ():
        if component == COMPONENT and each.kind == "ConfigMap" and each.target is Target.MANAGEMENT:
            found |= _inside(each)
    return found


def _inside(config: Manifest | None) -> Objects:
    """The objects in a ConfigMap's texts."""
    texts = config.body["data"].values() if config else ()
    return {name: each for text in texts for name, each in _read(text).items()}


def _read(text: str) -> Objects:
    """The objects of a text, named as those that are registered directly."""
    found = {}
    for body in read_manifests(text):
        name = logical_name(body)
        found[COMPONENT, name] = Manifest(name, body, Target.SITE)
    return found


def _site_inside(site: SiteChange, old: Objects, new: Objects, changes: Changes) -> SiteChange:
    """The site with the objects that Cluster API brings as its only ones."""
    before = replace(site.before, objects=old) if site.before else None
    after = replace(site.after, objects=new) if site.after else None
    return SiteChange(site.name, before, after, changes)


def inside(site: SiteChange, change: ObjectChange) -> SiteChange:
    """The change of a ConfigMap of manifests as a change of the objects in it."""
    old, new = _inside(change.before), _inside(change.after)
    fields: dict[Name, list[FieldChange]] = {}
    for field in change.fields:
        if len(field.path) > 2:
            into = fields.setdefault((COMPONENT, str(field.path[2])), [])
            into.append(field._replace(path=field.path[3:]))
    changes = {
        name: ObjectChange(COMPONENT, old.get(name), new.get(name), tuple(found))
        for name, found in fields.items()
        if name in old or name in new
    }
    return _site_inside(site, old, new, changes)


def manifests(site: SiteChange, change: ObjectChange, field: Field) -> Effects:
    """A change of the manifests: they are applied again, and each object in them is judged."""
    if field is None:
        return
    if next((each for each in change.fields if each.path[0] == "data"), None) == field:
        why = "the ConfigMap changes in place, and Cluster API applies all of its objects again"
        first = effect(change, field, Impact.NONE, why, MERGED)
        yield first._replace(path=field.path[:2])
    if len(field.path) < 3:
        yield from _form(site, change, field)
        return
    inner = inside(site, change)
    one = inner.changes.get((COMPONENT, str(field.path[2])))
    if one is None:
        yield unknown(site, change, field.path)
        return
    own = field._replace(path=field.path[3:])
    found = _moved(site, inner, one) if None in (one.before, one.after) else None
    judged = _judge_inner(inner, one, own) if found is None else found
    yield from _as_effects_of(change, field.path[:3], judged)


def _moved(site: SiteChange, inner: SiteChange, one: ObjectChange) -> Effects | None:
    """The effects of an object that another of the set's ConfigMaps had before, or has now."""
    comes = one.before is None
    there = resource_set_objects(site.before if comes else site.after)
    if one.name not in there:
        return None
    why = "another ConfigMap of the same set has it: Cluster API applies it from there"
    moved = effect(one, None, Impact.NONE, why, MERGED)
    pairs = _pairs(there, {one.name: one.one})[one.name] if comes else None
    return [moved, *(_every(inner, pairs) if pairs else ())]


def _judge_inner(inner: SiteChange, one: ObjectChange, field: Field) -> Effects:
    """The effect of a field, an addition or a removal of an object that Cluster API applies."""
    whole = one.before is None or one.after is None
    at = () if whole or field is None else field.path
    rule = find_whole(MERGING, one.group_kind) if whole else find(MERGING, one.group_kind, at)
    if rule is None:
        yield unknown(inner, one, at)
    else:
        yield from rule.judge(inner, one, None if whole else field)


def _as_effects_of(change: ObjectChange, at: Path, effects: Effects) -> Effects:
    """Effects of an object that was applied as effects of ``change``."""
    for each in effects:
        yield _add_traffic_note(each)._replace(name=change.name, path=(*at, *each.path))


def _add_traffic_note(each: Effect) -> Effect:
    restarts = each.impact is Impact.POD_RESTART
    return each._replace(why=f"{each.why}; {TRAFFIC}") if restarts else each


def _form(site: SiteChange, change: ObjectChange, field: FieldChange) -> Effects:
    """A text as a whole: of another form, or with lists in another order, which counts."""
    texts = [each for each in (field.before, field.after) if isinstance(each, str)]
    sides = [_read(each) for each in texts] if len(texts) == 2 else []
    if not sides or sides[0].keys() != sides[1].keys():
        yield unknown(site, change, field.path)
        return
    found = list(_over(site, change, field.path, *sides))
    yield from found or [effect(change, field, Impact.NONE, TOLD.say("form"), MERGED)]


def _over(site: SiteChange, change: ObjectChange, at: Path, old: Objects, new: Objects) -> Effects:
    """The effect of the first application of all new objects, over old ones where there are any."""
    inner = _site_inside(site, old, new, _pairs(old, new))
    for one in inner.changes.values():
        yield from _as_effects_of(change, (*at, one.one.name), _every(inner, one))


def _every(inner: SiteChange, one: ObjectChange) -> Effects:
    for field in one.fields if one.before else (None,):
        yield from _judge_inner(inner, one, field)


def _pairs(old: Objects, new: Objects) -> Changes:
    """The changes of all new objects, with the fields that differ, lists as wholes."""
    found = {}
    for name, each in new.items():
        before = old.get(name)
        fields = _fields(_bare(before.body), _bare(each.body), ()) if before else ()
        found[name] = ObjectChange(COMPONENT, before, each, tuple(fields))
    return found


def _bare(body: Json) -> Json:
    """An object without its labels and annotations: those of direct objects have ours too."""
    own = {k: v for k, v in body["metadata"].items() if k not in ("labels", "annotations")}
    return {**body, "metadata": own}


def _fields(old: Json, new: Json, at: Path) -> Iterator[FieldChange]:
    for key in dict.fromkeys((*old, *new)):
        mine, theirs = old.get(key, ABSENT), new.get(key, ABSENT)
        if isinstance(mine, dict) and isinstance(theirs, dict):
            yield from _fields(mine, theirs, (*at, key))
        # As texts 1, 1.0 and true differ, and maps in another order do not.
        elif len({json.dumps(e, sort_keys=True, default=repr) for e in (mine, theirs)}) > 1:
            yield FieldChange((*at, key), mine, theirs)


def _direct(judge: Judge, site: SiteChange, change: ObjectChange, field: Field) -> Effects:
    """``judge`` of Kubernetes' kinds for objects that are registered directly."""
    comes = change.before is None and change.one.target is Target.SITE
    there = resource_set_objects(site.before) if comes else {}
    if change.name in there and site.side.fleet.context is not None:
        yield from _adoption(site, change, there)
    else:
        yield from map(_add_traffic_note, judge(site, change, field))


def _adoption(site: SiteChange, change: ObjectChange, there: Objects) -> Effects:
    """An object that Cluster API applied before, and Pulumi takes over by server-side apply."""
    new = {name: each for name, each in site.side.objects.items() if each.target is Target.SITE}
    inner = _site_inside(site, there, new, _pairs(there, new))
    found = list(_every(inner, inner.changes[change.name]))
    why = TOLD.say("taken_over" if found else "same")
    yield effect(change, None, Impact.NONE, why, CONFLICT)
    yield from _as_effects_of(change, (), found)


def _config_map(
    ours: Judge, others: Judge, site: SiteChange, change: ObjectChange, field: Field
) -> Effects:
    """``ours`` for a ConfigMap of the management cluster, ``others`` for the site's own."""
    managed = change.one.target is Target.MANAGEMENT and site.before is not None
    yield from (ours if managed else others)(site, change, field)


def _in_place(rule: Rule) -> Rule:
    """A rule of Kubernetes' kinds for the pod network's objects."""
    judge: Judge = partial(_direct, rule.judge)
    if rule.kind == "ConfigMap" and rule.path in _OWN:
        judge = partial(_config_map, _OWN[rule.path], judge)
    return rule._replace(judge=judge)


def config_comes_or_goes(site: SiteChange, change: ObjectChange, field: Field) -> Effects:
    """Manifests that come through Cluster API, over what is there, or no longer do."""
    if change.after is None:
        why = "what Cluster API applied from it stays in the site's cluster"
        yield effect(change, field, Impact.NONE, why, CONTROLLER, Action.DELETED)
        return
    why = "Cluster API applies its objects, and takes over those that are there"
    yield effect(change, field, Impact.NONE, why, MERGED)
    new = _inside(change.after)
    direct = {**resource_set_objects(site.before), **(site.before.objects if site.before else {})}
    old = {name: each for name, each in direct.items() if name in new}
    yield from _over(site, change, ("data", *change.after.body["data"]), old, new)


(RESOURCE_SET,) = read_kinds(globals()).kinds
_OWN: dict[Path, Judge] = {("data",): manifests, (): config_comes_or_goes}
RULES: list[Rule] = [*rules(RESOURCE_SET), *map(_in_place, KUBERNETES)]
"""First the pod network's own kind, then Kubernetes' own as its objects are applied."""
