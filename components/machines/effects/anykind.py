"""Effects common to objects of every kind: metadata, the fate of a removed one, rules as data."""

from collections.abc import Callable, Iterable, Iterator

from components.effects import ABSENT, Action, Effect, FieldChange, Impact, ObjectChange, SiteChange
from components.effects import kinds as kubernetes
from components.effects.rules import Judge, Rule, harmless, path
from components.machines.effects import kinds
from components.machines.effects.concerned import either, format_path, value
from components.making.manifest import GroupKind, Json
from components.making.told import Told

FieldJudge = Callable[[SiteChange, ObjectChange, FieldChange], Iterable[Effect]]
"""A judge of changed fields, which never sees an object that comes or goes."""

PULUMI = "Pulumi v3.255.0, pkg/resource/deploy/step.go and step_generator.go"
PROTECTED = (
    "the object is protected: Pulumi refuses this already in the preview of `pulumi up`, and Argo "
    "CD and Flux leave it there"
)
ASKED = path("spec.rollout.after")


def asked(change: ObjectChange, field: FieldChange) -> str:
    """The words for a rollout that a field asks for from a time on; empty where it asks for none.
    Git has no clock: a time that has passed counts like one to come."""
    time = value(change.after, *ASKED)
    new = field.path == ASKED[: len(field.path)] and time != value(change.before, *ASKED)
    if time is ABSENT or not new:
        return ""
    return f"spec.rollout.after: from {time} on no machine counts that was made before"


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
    held = any(side is not None and side.protect for side in change.both)
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


def stated(module: str, **values: str) -> list[Rule]:
    """The rules in the TOML file beside a module, a row for each sentence that some fields of some
    kinds share.

    ``paths`` are texts, or lists of steps where a key has a dot; without any the row is about whole
    objects that are ``added`` or ``removed``, which affects no machine. ``impact`` is none by
    default, ``action`` what becomes of the object. Concerned are the object's hosts where the
    impact is unknown, and the host itself.
    """
    named = {**vars(kubernetes), **vars(kinds)}
    values = {name.lower(): text for name, text in named.items() if name.isupper()} | values
    rows = Told(module).rows("rules", **values)
    return [rule for row in rows for kind in row["kinds"] for rule in _rules_of_row(kind, row)]


def _rules_of_row(kind: GroupKind, row: Json) -> Iterator[Rule]:
    if "paths" not in row:
        whole = _coming_and_going(row["added"], row["removed"], row["source"])
        yield Rule(kind, (), whole, whole=True)
        return
    impact = Impact(row.get("impact", "none"))
    action = Action(row["action"]) if "action" in row else None
    for at in row["paths"]:
        steps = path(at) if isinstance(at, str) else tuple(at)
        why = row["why"].replace("{}", steps[-1])
        yield Rule(kind, steps, _sentence(impact, why, row["source"], action))


def _coming_and_going(added: str, removed: str, source: str) -> Judge:
    def judge(
        _site: SiteChange, change: ObjectChange, _field: FieldChange | None
    ) -> Iterable[Effect]:
        new = change.before is None
        action = Action.ADDED if new else removal_action(change)
        why = added if new else removal(action, removed)
        yield Effect(Impact.NONE, change.name, (), why, source, action=action)

    return judge


def _sentence(impact: Impact, why: str, source: str, action: Action | None) -> Judge:
    @of_field
    def judge(site: SiteChange, change: ObjectChange, field: FieldChange) -> Iterable[Effect]:
        concerned = impact is Impact.UNKNOWN or change.group_kind == kinds.HOST
        hosts = either(site, change) if concerned else ()
        yield Effect(impact, change.name, field.path, why, source, hosts, action=action)

    return judge
