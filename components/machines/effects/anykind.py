"""Effects common to objects of every kind: their metadata, and the fate of a removed one."""

from collections.abc import Callable, Iterable

from components.effects.rules import Judge, Rule, harmless
from components.effects.vocabulary import (
    Action,
    Effect,
    FieldChange,
    Impact,
    ObjectChange,
    SiteChange,
)
from components.machines.effects.concerned import either, format_path
from components.making.manifest import GroupKind

FieldJudge = Callable[[SiteChange, ObjectChange, FieldChange], Iterable[Effect]]
"""A judge of changed fields, which never sees an object that comes or goes."""

PULUMI = "Pulumi v3.255.0, pkg/resource/deploy/step.go and step_generator.go"
PROTECTED = (
    "the object is protected: Pulumi refuses this already in the preview of `pulumi up`, and Argo "
    "CD and Flux leave it there"
)


def of_field(judge: FieldJudge) -> Judge:
    """The judge for a rule with a path."""

    def with_field(
        site: SiteChange, change: ObjectChange, field: FieldChange | None
    ) -> Iterable[Effect]:
        if field is None:
            raise TypeError("a rule with a path judges changed fields, and no whole objects")
        return judge(site, change, field)

    return with_field


def metadata_rules(kind: GroupKind) -> list[Rule]:
    """The rules for what every object has; rules of the kind with longer paths go before them."""
    why = "{} of the object itself change in place, and no controller touches a machine for them"
    return [
        Rule(kind, ("metadata", "labels"), harmless(why.format("labels"), "Kubernetes API")),
        Rule(kind, ("metadata", "annotations"), harmless(why.format("annotations"), PULUMI)),
        *(
            Rule(kind, at, _another)
            for at in (("apiVersion",), ("kind",), ("metadata", "name"), ("metadata", "namespace"))
        ),
    ]


@of_field
def _another(site: SiteChange, change: ObjectChange, field: FieldChange) -> Iterable[Effect]:
    """An object under another name or version: to Pulumi that is another one, and the old goes.

    What the cluster makes of the two is not known: they may be one and the same object there.
    """
    held = any(side is not None and side.protect for side in (change.before, change.after))
    why = (
        f"with another {format_path(field.path)} Pulumi makes a new object and deletes the old one"
        + (", which it refuses while that is protected" if held else "")
        + "; what becomes of its machines meanwhile is not known"
    )
    action = Action.REFUSED if held else Action.REPLACED
    hosts = either(site, change)
    yield Effect(Impact.UNKNOWN, change.name, field.path, why, PULUMI, hosts, None, action)


def removal_action(change: ObjectChange) -> Action:
    """The action on an object that a site no longer makes."""
    if change.one.keep:
        return Action.LEFT
    return Action.REFUSED if change.one.protect else Action.DELETED


def removal(action: Action, what: str) -> str:
    """The words for an object's removal, and that Pulumi refuses it where it does."""
    return f"{what}; {PROTECTED}" if action is Action.REFUSED else what


def coming_and_going(added: str, removed: str, source: str) -> Judge:
    """A judge of whole objects that affect no machine, created or deleted."""

    def judge(
        _site: SiteChange, change: ObjectChange, _field: FieldChange | None
    ) -> Iterable[Effect]:
        new = change.before is None
        action = Action.ADDED if new else removal_action(change)
        why = added if new else removal(action, removed)
        yield Effect(Impact.NONE, change.name, (), why, source, action=action)

    return judge


def refusal(why: str, source: str) -> Judge:
    """A judge of fields that a webhook does not let change; the attempt affects no machine."""

    def judge(
        _site: SiteChange, change: ObjectChange, field: FieldChange | None
    ) -> Iterable[Effect]:
        at = field.path if field else ()
        yield Effect(Impact.NONE, change.name, at, why, source, action=Action.REFUSED)

    return judge


def not_known(why: str, source: str, action: Action | None = None) -> Judge:
    """A judge of fields of which it is not known what a change does to the object's hosts."""

    def judge(
        site: SiteChange, change: ObjectChange, field: FieldChange | None
    ) -> Iterable[Effect]:
        at, hosts = field.path if field else (), either(site, change)
        yield Effect(Impact.UNKNOWN, change.name, at, why, source, hosts, action=action)

    return judge
