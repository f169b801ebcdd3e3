"""All rules over all objects of a site, with the exceptions: what remains has to be corrected.

Owns the order of findings and what counts as excepted; the rules are in policies/rules/.
"""

import datetime
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from policies.exceptions import Exemption, ours
from policies.rule import Object, ObjectRule, Rule, SiteRule, Violation
from policies.rules import RULES


class Judgement(NamedTuple):
    """The faults of a site's objects: ``violations`` without those that are excepted, exceptions
    that have ``expired`` though they are needed, and the site's own that are ``unused``, also as
    their rule is not there. ``excepted`` are those that an exception let pass."""

    violations: tuple[Violation, ...]
    expired: tuple[Exemption, ...]
    unused: tuple[Exemption, ...]
    excepted: tuple[tuple[Violation, Exemption], ...]


def judge(
    objects: Sequence[Object],
    today: datetime.date,
    own: Iterable[Exemption] = (),
    rules: Iterable[Rule] = RULES,
) -> Judgement:
    """Judge every object of one site.

    ``own`` are the site's exceptions, and ``rules`` all that hold there, its own included. Of our
    exceptions none is told as unused here, as no site has all parts: a test holds them
    against all sites.
    """
    rules, own = tuple(rules), tuple(own)
    granted = _by_rule((*own, *ours()))
    violations: list[Violation] = []
    excepted: list[tuple[Violation, Exemption]] = []
    expired: dict[Exemption, None] = {}
    used: set[Exemption] = set()
    for each in findings(objects, rules):
        mine = granted.get(each.rule.name, ())
        covering = [exemption for exemption in mine if exemption.covers(each)]
        valid = [exemption for exemption in covering if not exemption.expired(today)]
        used.update(covering)
        if valid:
            excepted.append((each, valid[0]))
        else:
            expired.update(dict.fromkeys(covering))
            violations.append(each)
    unused = tuple(each for each in own if each not in used)
    return Judgement(tuple(violations), tuple(expired), unused, tuple(excepted))


def _by_rule(exemptions: Iterable[Exemption]) -> dict[str, list[Exemption]]:
    found: dict[str, list[Exemption]] = {}
    for each in exemptions:
        found.setdefault(each.rule, []).append(each)
    return found


def findings(objects: Sequence[Object], rules: Iterable[Rule]) -> Iterator[Violation]:
    """Everything that breaks a rule, by rule and then by object; exceptions are not looked at."""
    for rule in rules:
        if isinstance(rule, ObjectRule):
            for each in objects:
                for found in rule.check(each):
                    yield Violation(rule, each, found)
        elif isinstance(rule, SiteRule):
            for each, found in rule.check(objects):
                yield Violation(rule, each, found)
