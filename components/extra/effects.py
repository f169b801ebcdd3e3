"""Effects of changes to custom resources that a team brings: unknown, unless their owner says.

Kinds of Kubernetes have the rules that they have everywhere; an owner's rule replaces none of them.
What it says is shown as the owner's word, with their source. The state before a change has to have
the rule: nobody lifts the verdict on a change within that change.
"""

from components.effects import Effect, Effects, Field, Impact, ObjectChange, SiteChange
from components.effects.applying import Kind, not_known, rules
from components.effects.rules import ANY, leads, path
from components.source import site_of
from schemas.facts.brought import every_extra, has_own_rules
from schemas.facts.site import Site
from schemas.kubernetes.tables import read_table
from schemas.model.extra import OwnersRule

_WORDS = read_table(__file__)


def owners_rule(site: Site, change: ObjectChange, field: Field) -> OwnersRule | None:
    """The rule of an object's owner that covers a change; the one with the longest path."""
    mine = change.one.name.partition("/")[0]
    if has_own_rules(change.group_kind.partition(".")[2], change.kind):
        return None
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
    before, after = (
        owners_rule(site_of(side), change, field) if side else None
        for side in (site.before, site.after)
    )
    rule = before if before and (_same(before, after) or _entry_goes(site, change)) else None
    if rule is None:
        why = _WORDS["later"].format(after.owner) if after else _WORDS["no_rule"]
        yield from not_known(why, "")(site, change, field)
        return
    impact = Impact(rule.effect.replace("-", " "))
    hosts = () if impact is Impact.NONE else site.side.fleet.names
    why = f"{rule.owner} says (not Foresite, until {rule.until}): {rule.why}"
    at = field.path if field else ()
    yield Effect(impact, change.name, at, why, f"{rule.source}, as {rule.owner} says", hosts)


def _same(one: OwnersRule, other: OwnersRule | None) -> bool:
    """True if two rules say the same thing, in whatever words and until whatever day."""
    keys = ("kind", "path", "effect", "owner")
    return all(getattr(one, key) == getattr(other, key, None) for key in keys)


def _entry_goes(site: SiteChange, change: ObjectChange) -> bool:
    """True if the entry that an object is of goes, and takes its rules along."""
    mine = change.one.name.partition("/")[0]
    after = every_extra(site_of(site.after)) if site.after else ()
    return all(entry.name != mine for _, entry in after)


RULES = rules(Kind(ANY, _judge, _judge, (("", _judge),)))
"""Rules of every kind that no other rule knows."""
