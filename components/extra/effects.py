"""Effects of changes to custom resources that a team brings: unknown, unless their owner says.

Kinds of Kubernetes have the rules that they have everywhere; an owner's rule replaces none of them.
What it says is shown as the owner's word, with their source.
"""

from components.effects.applying import Kind, not_known, rules
from components.effects.rules import ANY, leads, path
from components.effects.vocabulary import Effect, Effects, Field, Impact, ObjectChange, SiteChange
from components.source import site_of
from schemas.facts.brought import every_extra
from schemas.facts.site import Site
from schemas.model.extra import OwnersRule

_NO_RULE = "no rule covers what it does to machines; its owner may state it in extra.rules"


def owners_rule(site: Site, change: ObjectChange, field: Field) -> OwnersRule | None:
    """The rule of an object's owner that covers a change; the one with the longest path."""
    mine = change.one.name.partition("/")[0]
    at = field.path if field else ()
    fitting = [
        rule
        for _, entry in every_extra(site)
        if entry.name == mine
        for rule in entry.rules
        if rule.kind in (change.kind, change.group_kind) and leads(path(rule.path), at)
    ]
    return max(fitting, key=lambda rule: len(path(rule.path)), default=None)


def _judge(site: SiteChange, change: ObjectChange, field: Field) -> Effects:
    # An entry that goes takes its rules along.
    said = (owners_rule(site_of(side), change, field) for side in reversed(site.sides))
    rule = next((each for each in said if each), None)
    if rule is None:
        yield from not_known(_NO_RULE, "")(site, change, field)
        return
    impact = Impact(rule.effect.replace("-", " "))
    hosts = () if impact is Impact.NONE else site.side.fleet.names
    why = f"{rule.owner} says (not Foresite, until {rule.until}): {rule.why}"
    at = field.path if field else ()
    yield Effect(impact, change.name, at, why, f"{rule.source}, as {rule.owner} says", hosts)


RULES = rules(Kind(ANY, _judge, _judge, (("", _judge),)))
"""Rules of every kind that no other rule knows."""
