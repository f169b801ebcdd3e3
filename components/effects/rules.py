"""Search of a rule for the fields that it judges.

A rule belongs to a kind of an API group and to a path. Of several that fit a changed field the one
with the longest path decides; a rule with an empty path decides what no other does, and what an
object's coming or going means. A field that no rule fits is unknown.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any, NamedTuple

from components.effects import Effect, Effects, Field, Impact, ObjectChange, Path, SiteChange
from components.making.manifest import GroupKind
from schemas.kubernetes.grouping import group_by_key

_STEP = re.compile(r"\[([^]]+)\]|([^.\[\]]+)")
ANY = "*"
"""In a rule's path: any one step; as its kind: every kind, where no other rule fits."""

Judge = Callable[[SiteChange, ObjectChange, Field], Effects]
"""Returns the effects of a change; the field is None if the whole object is added or deleted."""

Narrowing = Callable[[Judge, SiteChange, ObjectChange, Field], Effects]
"""Returns what a judge says of a change, with what a component knows besides."""


class Rule(NamedTuple):
    """Judges changes of ``kind`` (such as ``Deployment.apps``) at ``path`` and below. ``whole``:
    judges an object that comes or goes (with an empty path), and no changed field."""

    kind: GroupKind
    path: Path
    judge: Judge
    whole: bool = False


class Rules(tuple[Rule, ...]):
    """A table of rules, in which those of a kind are found at once."""

    @cached_property
    def by_kind(self) -> Mapping[GroupKind, tuple[Rule, ...]]:
        """The rules of each kind, in their order."""
        found = group_by_key((rule.kind, rule) for rule in self)
        return {kind: tuple(rules) for kind, rules in found.items()}

    @cached_property
    def rule_memo(self) -> dict[tuple[GroupKind, Path], Rule | None]:
        """The rule that was found to decide each field: hundreds of hosts ask for the same."""
        return {}


def path(text: str) -> Path:
    """A path from its text: ``spec.version``, ``metadata.labels[a.b/c]``; ``*`` is any one step."""
    return tuple(key or step for key, step in _STEP.findall(text))


def leads(short: Path, changed: Path) -> bool:
    """True if a path leads to a changed field or to something around it, as that of its rule."""
    steps = zip(short, changed, strict=False)
    return len(short) <= len(changed) and all(step in (ANY, its) for step, its in steps)


def find(rules: Sequence[Rule], kind: GroupKind, changed: Path) -> Rule | None:
    """The rule with the longest path that fits; of two equally long ones the earlier."""
    known = rules.rule_memo if isinstance(rules, Rules) else {}
    if (kind, changed) not in known:
        mine = (rule for rule in _of(rules, kind) if not rule.whole)
        fitting = [rule for rule in mine if leads(rule.path, changed)]
        usual = find(rules, ANY, changed) if kind != ANY else None
        known[kind, changed] = max(fitting, key=lambda rule: len(rule.path), default=usual)
    return known[kind, changed]


def find_whole(rules: Sequence[Rule], kind: GroupKind) -> Rule | None:
    """The rule for an object that comes or goes."""
    every = (*_of(rules, kind), *_of(rules, ANY))
    return next((rule for rule in every if rule.whole), None)


def _of(rules: Sequence[Rule], kind: GroupKind) -> Iterable[Rule]:
    if isinstance(rules, Rules):
        return rules.by_kind.get(kind, ())
    return (rule for rule in rules if rule.kind == kind)


def judge_object(rules: Sequence[Rule], site: SiteChange, change: ObjectChange) -> list[Effect]:
    """The effects of one object's change; unknown for each field that no rule fits."""
    if change.before is None or change.after is None:
        rule = find_whole(rules, change.group_kind)
        return list(rule.judge(site, change, None)) if rule else [unknown(site, change, ())]
    found: list[Effect] = []
    for field in change.fields:
        rule = find(rules, change.group_kind, field.path)
        found += rule.judge(site, change, field) if rule else [unknown(site, change, field.path)]
    return found


def unknown(site: SiteChange, change: ObjectChange, at: Path) -> Effect:
    """No rule knows what becomes of the site's machines: it may concern every one of them."""
    hosts = site.side.fleet.names
    what = ".".join(map(str, at)) or "this object"
    why = f"no rule covers what a change of {what} does to machines"
    return Effect(Impact.UNKNOWN, change.name, at, why, "", hosts)


def narrow(rules: Iterable[Rule], narrowings: Mapping[GroupKind, Narrowing]) -> list[Rule]:
    """Those of the rules whose kinds have a narrowing, with it."""
    known = (rule for rule in rules if rule.kind in narrowings)
    return [rule._replace(judge=partial(narrowings[rule.kind], rule.judge)) for rule in known]


def harmless(why: str, source: str) -> Judge:
    """A judge for fields whose change no machine notices."""

    def judge(_site: SiteChange, change: ObjectChange, field: Field) -> Effects:
        yield Effect(Impact.NONE, change.name, field.path if field else (), why, source)

    return judge


def say_more(
    found: Effects, words: str, source: str = "", only: Impact | None = None, **changes: Any
) -> Effects:
    """Effects (``only`` those of an impact) with further words, if any, and their source."""
    for each in found:
        if words and only in (None, each.impact):
            sources = f"{each.source}; {source}" if source else each.source
            each = each._replace(why=f"{each.why}; {words}", source=sources, **changes)
        yield each


def make_known(found: Effects, why: str) -> Effects:
    """Effects, of which those that nobody could tell are none for a reason that is not empty."""
    for each in found:
        told = why and each.impact is Impact.UNKNOWN
        yield each._replace(impact=Impact.NONE, why=why, hosts=()) if told else each
