"""The fate of an object when a change is applied, by whoever applies it.

Pulumi deletes and creates again an object with a field that cannot change in place: the old one
goes first, as both have one name. Cluster API patches, and the API server refuses. Kinds state
which fields these are, and what their objects' coming, going and changing does; ``rules`` makes
rules of that.
"""

from collections.abc import Iterator, Sequence
from enum import Enum, auto
from functools import lru_cache, partial
from typing import NamedTuple, TypedDict, Unpack

from components.effects import (
    Action,
    Effect,
    Effects,
    Field,
    Impact,
    ObjectChange,
    Path,
    SiteChange,
)
from components.effects.rules import Judge, Narrowing, Rule, harmless, leads, path
from components.making.manifest import GroupKind, Manifest, Target

FORCE_NEW = "pulumi-kubernetes 4.25.0, provider/pkg/provider/diff.go, forceNew"
PROTECTED = "Pulumi 3.255.0, pkg/resource/deploy: step_generator.go, step.go (protect)"
APPLIED_BY_NAME = "foresite, components/shell.py"
OBJECT_META = "Kubernetes 1.34, apimachinery pkg/apis/meta/v1, ObjectMeta"
MERGED = (
    "Cluster API 1.13, internal/controllers/clusterresourceset/clusterresourceset_scope.go "
    "(reconcileStrategyScope)"
)
IDENTITY = ("metadata.name", "metadata.namespace")
LABELS = harmless("labels of the object itself; no pod and no machine is made of them", OBJECT_META)
ANNOTATIONS = harmless("annotations of the object itself; no pod is made of them", OBJECT_META)


class Applier(Enum):
    """The program that applies objects to a cluster."""

    PULUMI = auto()
    """`pulumi up`, with server-side apply."""
    CLUSTER_API = auto()
    """A ClusterResourceSet with strategy Reconcile: merge patches, and no deletions."""


class Fixed(NamedTuple):
    """A field that is not changed in place: Pulumi makes the object anew, the API server refuses
    another value, or both. ``source`` is where the API server's part is from. ``if_immutable``:
    only on an object that says ``immutable: true``."""

    path: str
    source: str
    replaces: bool = True
    refuses: bool = True
    if_immutable: bool = False

    def holds(self, change: ObjectChange) -> bool:
        """True if the field of this object is fixed."""
        sides = (former(change), change.one)
        return not self.if_immutable or any(each.body.get("immutable") is True for each in sides)


class Kind(NamedTuple):
    """The rules of one kind; every judge may assume that the site is on both sides. ``fields`` are
    paths with what a change in place does. ``replaced`` judges an object that is made anew, or
    makes way for one with another name; default: as ``gone``."""

    name: GroupKind
    added: Judge
    gone: Judge
    fields: tuple[tuple[str, Judge], ...]
    fixed: tuple[Fixed, ...] = ()
    replaced: Judge | None = None
    labels: Judge | None = None
    """Judges metadata.labels; default: harmless."""

    def narrowed(self, by: Narrowing) -> "Kind":
        """The kind with a component's knowledge in all judges but that of labels."""
        return self._replace(
            added=partial(by, self.added),
            gone=partial(by, self.gone),
            fields=tuple((path, partial(by, judge)) for path, judge in self.fields),
            replaced=partial(by, self.replaced or self.gone),
        )


class Fate(NamedTuple):
    """The fate of a changed object, and the field that decides it."""

    action: Action
    path: Path = ()
    why: str = ""
    source: str = ""


class Concerned(TypedDict, total=False):
    """Whom an effect concerns, as :class:`Effect` says it."""

    hosts: tuple[str, ...]
    at_most: int | None
    at_once: int | None


def effect(
    change: ObjectChange,
    field: Field,
    impact: Impact,
    why: str,
    source: str,
    action: Action | None = None,
    **concerned: Unpack[Concerned],
) -> Effect:
    """An effect of a change, on no host unless ``hosts`` has some."""
    at = field.path if field else ()
    return Effect(impact, change.name, at, why, source, action=action, **concerned)


def former(change: ObjectChange) -> Manifest:
    """The object as it was; as it will be, where it comes."""
    return change.before or change.one


def not_known(why: str, source: str) -> Judge:
    """A judge for what may concern every host of the site, in a way that nobody can tell."""

    def judge(site: SiteChange, change: ObjectChange, field: Field) -> Effects:
        yield effect(change, field, Impact.UNKNOWN, why, source, hosts=site.side.fleet.names)

    return judge


def rules(*kinds: Kind, applier: Applier = Applier.PULUMI) -> list[Rule]:
    """The rules of kinds whose objects someone applies."""
    return [rule for kind in kinds for rule in _rules_of_kind(kind, applier)]


def _rules_of_kind(kind: Kind, applier: Applier) -> Iterator[Rule]:
    judged = {"metadata.labels": kind.labels or LABELS, "metadata.annotations": ANNOTATIONS}
    judged |= dict(kind.fields)
    fixed = [each.path for each in kind.fixed]
    # One applier cannot change the others, and the other can.
    why = "the field may change in place; no rule covers its effect"
    beside = not_known(why, APPLIED_BY_NAME)
    yield Rule(kind.name, (), _whole(kind, applier), whole=True)
    for text in dict.fromkeys((*judged, *fixed, *IDENTITY)):
        judge = judged.get(text, beside)
        yield Rule(kind.name, path(text), _judge_change(kind, applier, judge))


def fate(kind: Kind, applier: Applier, change: ObjectChange) -> Fate:
    """The fate of an object that both sides have."""
    renamed = _first([path(text) for text in IDENTITY], change)
    if renamed:
        return _replacement(change, renamed, ".".join(map(str, renamed)))
    refused = Fate(Action.CHANGED)
    for each in kind.fixed:
        found = _first([path(each.path)], change)
        if not found or not each.holds(change):
            continue
        if applier is Applier.PULUMI and each.replaces:
            return _replacement(change, found, each.path)
        if each.refuses and refused.action is Action.CHANGED:
            why = f"the API server refuses to change {each.path}"
            refused = Fate(Action.REFUSED, found, why, each.source)
    return refused


def _first(paths: Sequence[Path], change: ObjectChange) -> Path:
    """The first changed field that one of the paths leads to or into, or that holds one."""
    known = tuple(paths)
    return next((field.path for field in change.fields if _meets(known, field.path)), ())


@lru_cache(maxsize=16_384)
def _meets(paths: tuple[Path, ...], changed: Path) -> bool:
    """Each field of an object asks this of every other, and hundreds of objects change alike."""
    return any(leads(each, changed) or leads(changed, each) for each in paths)


def _replacement(change: ObjectChange, at: Path, what: str) -> Fate:
    if former(change).protect and change.one.protect:
        why = (
            f"{what} cannot change in place: Pulumi would delete and re-create the object, and "
            "refuses to, as it is protected; nothing of it changes"
        )
        return Fate(Action.REFUSED, at, why, PROTECTED)
    return Fate(Action.REPLACED, at, f"{what} cannot change in place", FORCE_NEW)


def _judge_change(kind: Kind, applier: Applier, judge: Judge) -> Judge:
    """``judge``, for objects that keep their identity; else the fate of the object."""

    def judge_field(site: SiteChange, change: ObjectChange, field: Field) -> Effects:
        waiting = _waiting(applier, site, change, field)
        if waiting is not None:
            return [waiting]
        found = fate(kind, applier, change)
        # Pulumi lets go of an object that is still made when its cluster has no name any more.
        if not _contexts(applier, site, change)[-1]:
            return _leaving(kind, applier, site, change, field)
        if found.action is Action.REFUSED:
            return [_refusal(applier, change, field, found)]
        if found.action is Action.CHANGED:
            return judge(site, change, field)
        if field is not None and field.path != found.path:
            why = "it is part of the object that is created again"
            return [effect(change, field, Impact.NONE, why, found.source)]
        return _replacement_effects(kind, site, change, field, found)

    return judge_field


def _refusal(applier: Applier, change: ObjectChange, field: Field, found: Fate) -> Effect:
    if applier is Applier.PULUMI:
        return effect(change, field, Impact.NONE, found.why, found.source, Action.REFUSED)
    why = f"{found.why}: Cluster API reports it and tries again; what else it brings is applied"
    return effect(change, field, Impact.NONE, why, f"{found.source}, {MERGED}")


def _replacement_effects(
    kind: Kind, site: SiteChange, change: ObjectChange, field: Field, found: Fate
) -> Effects:
    renamed = ".".join(map(str, found.path)) in IDENTITY
    kept = renamed and change.before is not None and change.before.keep
    if kept:
        how, judge = "an object is made under the new name, and the old one stays", kind.added
    elif renamed:
        how = "an object is made under the new name, then the old one is deleted"
        judge = kind.replaced or kind.gone
    else:
        how, judge = "Pulumi deletes the object and creates it again", kind.replaced or kind.gone
    for each in judge(site, change, field):
        why = f"{found.why}: {how}; {each.why}"
        sources = ", ".join(dict.fromkeys((found.source, each.source)))
        yield each._replace(why=why, source=sources, action=Action.REPLACED)


def _whole(kind: Kind, applier: Applier) -> Judge:
    """The effect of an object's addition or removal."""

    def whole(site: SiteChange, change: ObjectChange, field: Field) -> Effects:
        waiting = _waiting(applier, site, change, field)
        if waiting is not None:
            yield waiting
        elif change.before is None:
            yield from kind.added(site, change, field)
        else:
            yield from _leaving(kind, applier, site, change, field)

    return whole


def _leaving(
    kind: Kind, applier: Applier, site: SiteChange, change: ObjectChange, field: Field
) -> Effects:
    """The fate of an object that is no longer made."""
    if applier is Applier.CLUSTER_API or former(change).keep:
        why = "it stays in the cluster as it is, with its pods, until a person removes it"
        source = MERGED if applier is Applier.CLUSTER_API else APPLIED_BY_NAME
        yield effect(change, field, Impact.NONE, why, source, Action.LEFT)
    elif former(change).protect:
        why = "Pulumi refuses to delete it, as it is protected; it stays as it is"
        yield effect(change, field, Impact.NONE, why, PROTECTED, Action.REFUSED)
    else:
        for each in kind.gone(site, change, field):
            yield each._replace(action=Action.DELETED)


def _contexts(applier: Applier, site: SiteChange, change: ObjectChange) -> list[bool]:
    """On each side, whether there is a cluster to apply the object to."""
    named = applier is Applier.CLUSTER_API or change.one.target is Target.MANAGEMENT
    return [named or side.fleet.context is not None for side in site.sides]


def _waiting(
    applier: Applier, site: SiteChange, change: ObjectChange, field: Field
) -> Effect | None:
    """Objects that are not applied yet, or only now together with their site."""
    if site.before is None:
        why = "it is made with the site, before any job runs there"
        return effect(change, field, Impact.NONE, why, APPLIED_BY_NAME)
    applied = _contexts(applier, site, change)
    if applied[-1] or (applied[0] and change.before is not None):
        return None
    why = "it is not applied yet: cluster.context names no cluster to apply it to"
    return effect(change, field, Impact.NONE, why, APPLIED_BY_NAME)
