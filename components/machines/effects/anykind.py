"""Effects common to objects of every kind: metadata, the fate of a removed one, rules as data."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from components.effects import (
    ABSENT,
    Action,
    Effects,
    Field,
    FieldChange,
    Impact,
    ObjectChange,
    SiteChange,
)
from components.effects.applying import Kind, effect
from components.effects.rules import Judge, Rule, harmless, path
from components.effects.table import Table, read_kinds
from components.machines.effects import kinds
from components.machines.effects.concerned import either, format_path, members, value
from components.making.manifest import Json

PULUMI = "Pulumi v3.255.0, pkg/resource/deploy/step.go and step_generator.go"
PROTECTED = (
    "the object is protected: Pulumi refuses this already in the preview of `pulumi up`, and Argo "
    "CD and Flux leave it there"
)
ASKED = path("spec.rollout.after")


def rollout_words(change: ObjectChange, field: FieldChange) -> str:
    """The words for a rollout that a field asks for from a time on; empty where it asks for none.
    Git has no clock: a time that has passed counts like one to come."""
    time = value(change.after, *ASKED)
    new = field.path == ASKED[: len(field.path)] and time != value(change.before, *ASKED)
    if time is ABSENT or not new:
        return ""
    return f"spec.rollout.after: from {time} on no machine counts that was made before"


def asks(_site: SiteChange, change: ObjectChange, field: FieldChange) -> bool:
    """True of a field that asks for a rollout."""
    return bool(rollout_words(change, field))


def removal_action(change: ObjectChange) -> Action:
    """The action on an object that a site no longer makes."""
    if change.one.keep:
        return Action.LEFT
    return Action.REFUSED if change.one.protect else Action.DELETED


def removal(action: Action, what: str) -> str:
    """The words for an object's removal, and that Pulumi refuses it where it does."""
    return f"{what}; {PROTECTED}" if action is Action.REFUSED else what


def machine_kinds(module: Mapping[str, Any]) -> Table:
    """The table of a module: a sentence has an ``impact``, none by default, and may have an
    ``action``. Concerned are the object's hosts where there is an impact, and the host itself. A
    row may say when the field ``asks`` for a rollout."""
    return read_kinds({"asks": asks, **module}, _sentence)


def _sentence(row: Json) -> Judge:
    action = Action(row["action"]) if "action" in row else None
    impact = Impact(row.get("impact", "none"))

    def judge(site: SiteChange, change: ObjectChange, field: Field) -> Effects:
        hosts = either(site, change) if field else members(site.before, change)
        if impact is Impact.NONE and change.group_kind != kinds.HOST:
            hosts = ()
        yield effect(change, field, impact, row["why"], row["source"], action, hosts=hosts)

    return judge


def machine_rules(*found: Kind) -> list[Rule]:
    """The rules of kinds: those for what every object has come after a kind's own."""
    return [rule for kind in found for rule in _rules_of_kind(kind)]


def _rules_of_kind(kind: Kind) -> Iterator[Rule]:
    yield Rule(kind.name, (), partial(_whole, kind), whole=True)
    for at, judge in (*kind.fields, *_METADATA):
        yield Rule(kind.name, path(at), judge)


def _whole(kind: Kind, site: SiteChange, change: ObjectChange, field: Field) -> Effects:
    """An object that comes or goes, with what becomes of it, unless its judge says that."""
    going = change.before is not None
    for each in (kind.gone if going else kind.added)(site, change, field):
        if each.action is None and going:
            action = removal_action(change)
            each = each._replace(why=removal(action, each.why), action=action)
        yield each._replace(action=each.action or Action.ADDED)


def _another(site: SiteChange, change: ObjectChange, field: Field) -> Effects:
    """An object under another name or version: to Pulumi another one, and the old goes. What the
    cluster makes of the two is not known: they may be one object there."""
    held = any(side is not None and side.protect for side in change.both)
    why = (
        f"with another {format_path(field.path if field else ())} Pulumi makes a new object and "
        f"deletes the old one{', which it refuses while that is protected' if held else ''}"
        "; what becomes of its machines meanwhile is not known"
    )
    action = Action.REFUSED if held else Action.REPLACED
    yield effect(change, field, Impact.UNKNOWN, why, PULUMI, action, hosts=either(site, change))


_KEPT = "{} of the object itself change in place, and no controller touches a machine for them"
_METADATA = (
    ("metadata.labels", harmless(_KEPT.format("labels"), "Kubernetes API")),
    ("metadata.annotations", harmless(_KEPT.format("annotations"), PULUMI)),
    *((at, _another) for at in ("apiVersion", "kind", "metadata.name", "metadata.namespace")),
)
