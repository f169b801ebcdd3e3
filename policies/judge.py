"""All rules over all objects of a site, with the exceptions: what remains has to be corrected. Owns
the order of findings and what counts as excepted; the rules are in policies/rules/."""

import datetime
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

from policies.exceptions import Exemption, ours, titles_of
from policies.memo import ask_blank
from policies.rule import Found, Object, ObjectRule, Rule, SiteRule, Violation
from policies.rules import RULES
from policies.third_party import BROUGHT, POD_NETWORK, Party, ThirdParty, separate, whose
from schemas.kubernetes.grouping import group_by_key
from schemas.kubernetes.outline import blank, outline

Given = TypeVar("Given")
_OURS = frozenset(RULES)
"""A site's own rules run in processes of theirs, which blank objects do not reach."""


class Judgement(NamedTuple):
    """The faults of a site's objects: ``violations`` without those that are excepted, exceptions
    that have ``expired`` though they are needed, and the site's own that are ``unused``, also as
    their rule is not there. ``excepted`` are those that an exception let pass; ``third`` is what
    third-party objects break, chart by chart."""

    violations: tuple[Violation, ...]
    expired: tuple[Exemption, ...]
    unused: tuple[Exemption, ...]
    excepted: tuple[tuple[Violation, Exemption], ...]
    third: ThirdParty = ThirdParty()


def judge(
    objects: Sequence[Object],
    today: datetime.date,
    own: Iterable[Exemption] = (),
    rules: Iterable[Rule] = RULES,
    known: Mapping[str, Party] = {},
) -> Judgement:
    """Judge every object of one site; ``known`` are the third parties among them, by component.

    ``own`` are the site's exceptions, and ``rules`` all that hold there, its own included. Ours
    excuse no object that a team brings, whatever its name. None of them is told as unused here,
    as no site has all parts: a test holds them against all sites.
    """
    rules, own = tuple(rules), tuple(own)
    granted = group_by_key((each.rule, each) for each in (*own, *ours()))
    violations: list[Violation] = []
    excepted: list[tuple[Violation, Exemption]] = []
    expired: dict[Exemption, None] = {}
    used: set[Exemption] = set()
    for each in findings(objects, rules):
        party, _ = whose(each, known)
        if each.rule.name in BROUGHT and not party:
            continue
        mine = granted.get(each.rule.name, ())
        if party not in ("", POD_NETWORK):
            mine = [exemption for exemption in mine if exemption.own]
        titles = titles_of(each) if mine else []
        covering = [exemption for exemption in mine if exemption.covers(each, titles)]
        valid = [exemption for exemption in covering if not exemption.is_expired(today)]
        used.update(covering)
        if valid:
            excepted.append((each, valid[0]))
        else:
            expired.update(dict.fromkeys(covering))
            violations.append(each)
    unused = tuple(each for each in own if each not in used)
    violations, third = separate(violations, known, today)
    return Judgement(tuple(violations), tuple(expired), unused, tuple(excepted), third)


def findings(objects: Sequence[Object], rules: Iterable[Rule]) -> Iterator[Violation]:
    """Everything that breaks a rule, by rule and then by object; exceptions are not looked at. Of
    objects with one outline a rule of ours judges a blank one, and each where it finds something in
    that, or reads a leaf."""
    blanks, others = _outlined(objects)
    fewer = [*blanks, *others]
    for rule in rules:
        if isinstance(rule, ObjectRule):
            short = rule in _OURS and all(_keeps(rule.check, each) for each in blanks)
            judged = others if short else objects
            for each in rule.narrow(judged) if rule.narrow else judged:
                for found in rule.check(each):
                    yield Violation(rule, each, _with_fix(found, rule.fix))
        elif isinstance(rule, SiteRule):
            if rule.alike and _keeps(rule.check, fewer):
                continue
            for each, found in rule.check(objects):
                yield Violation(rule, each, _with_fix(found, rule.fix))


def _with_fix(found: Found, fix: str) -> Found:
    return found if found.fix else found._replace(fix=fix)


def _outlined(objects: Sequence[Object]) -> tuple[list[Object], list[Object]]:
    """A blank object for each outline, and the objects that have none."""
    blanks: dict[tuple[str, bytes], Object] = {}
    others = []
    for each in objects:
        found = outline(each.body)
        if found is None:
            others.append(each)
        elif (each.cluster, found.key) not in blanks:
            blanks[each.cluster, found.key] = Object(each.cluster, blank(each.body))
    return list(blanks.values()), others


def _keeps(check: Callable[[Given], Iterable[object]], given: Given) -> bool:
    """True if a check finds nothing in a blank object, or among blank ones, and reads no leaf."""
    return ask_blank(lambda: not any(True for _ in check(given))) is True
