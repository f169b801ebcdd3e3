"""The policies' verdict on a site, as problems: offline, over every object that it makes. The rules
see plain objects, as they would be applied. Violations of mandatory rules, exceptions that have
ended and rules of the site's own that cannot be run are problems; violations of advisory rules are
advice. Places in the site file are looked for only where there is something to place."""

import datetime
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from components.making.manifest import Manifest, Spot
from components.making.validation import Placed, object_problems
from components.site import is_management, patch_faults, site_objects
from foresite.command import UsageError
from foresite.origin import Origin, Origins
from policies import Object, Severity, Violation
from policies.exceptions import DayError, Exemption, exemptions, today
from policies.judge import judge
from policies.own import Fault, own_rules
from policies.rules import RULES
from policies.third_party import DANGERS, Party, Told, parties
from schemas.facts.brought import every_extra
from schemas.facts.site import Site
from schemas.load import Loaded
from schemas.model.codes import Code
from schemas.model.management import FOLDER
from schemas.model.problem import Problem
from schemas.model.texts import words
from schemas.reading.site_files import names_in
from schemas.reading.typed_document import place
from schemas.rules.finding import advise
from schemas.rules.management import management_problems
from schemas.site_parts import load_management

_REPORT = "no field of the site's files leads to it: report it as a fault of Foresite"
_EXCEPT = ", or except the object in policies.exceptions"

Key = tuple[str, str, str, str, str]
Wrong = tuple[tuple[str | int, ...], Code, str, str]
"""A fault: its path in the site file, its code, what is wrong, and what to write instead."""


class Advice(NamedTuple):
    """An object that breaks an advisory rule, and where: it fails nothing."""

    site: str
    rule: str
    title: str
    path: str
    message: str
    why: str
    fix: str

    def as_problem(self) -> Problem:
        """The advice as what is shown beside a file."""
        said, code = f"{self.title}: {self.message}", Code.POLICY_VIOLATED
        file = f"sites/{self.site}.yaml"
        return Problem(file, 0, 0, code, self.path, "", said, self.fix, self.why)


class Judged(NamedTuple):
    """The policies' verdict on a site: the number of judged ``rules``, violations of mandatory
    ones, each with its spot, and of advisory ones, and the faults of the site's own policies."""

    rules: int
    refused: list[Placed]
    advised: list[Advice]
    others: list[Problem | Wrong]

    @property
    def sound(self) -> bool:
        """True if nothing keeps the site from being applied."""
        return not self.refused and not self.others


def judge_site(site: Site, objects: Mapping[str, Sequence[Manifest]]) -> Judged:
    """Judge the objects of a site. Raises UsageError where the day cannot be told."""
    spots: dict[Key, tuple[str, str]] = {}
    every: list[Object] = []
    for component, manifests in objects.items():
        for each in manifests:
            every.append(Object(each.target.value, each.body))
            spots.setdefault((each.target.value, *each.key), (component, each.name))
    policies = site.file.policies
    texts = {path: text for path, text in site.texts.items() if path in policies.python}
    own = own_rules(texts, {rule.name for rule in RULES})
    granted = exemptions((each.model_dump() for each in policies.exceptions), own=True)
    rules = (*RULES, *own.rules)
    known = parties(site.file.model_dump(mode="json", include={"extra", "components", "cluster"}))
    day = _today()
    found = judge(every, day, granted, rules, known)
    refused: list[Placed] = []
    advised: list[Advice] = []
    for violation in found.violations:
        spot = _spot(violation, spots)
        if violation.rule.severity is Severity.MANDATORY:
            refused.append((spot, _problem(site, violation, spot)))
        else:
            rule, judged, fault = violation
            at, said = ".".join(filter(None, spot)), (fault.message, rule.why, fault.fix)
            advised.append(Advice(site.name, rule.name, judged.title, at, *said))
    others: list[Problem | Wrong] = [_fault(each) for each in own.faults]
    others += _expired_exceptions(found.expired, granted)
    others += _ended(site, day)
    others += patch_faults(site)
    others += map(_danger, found.third.dangers)
    advised += (_hygiene(site, *each) for each in found.third.advice)
    # What is left of a site that was decommissioned needs fewer.
    if site.file.decommission is None:
        others += (
            ((*each.place, "what", each.what.index(line)), *words("permission-unused", line))
            for each, line in found.third.unused
        )
        others += _unused_exceptions(found.unused, granted, [rule.name for rule in rules])
    return Judged(len(rules), refused, advised, others)


def management_faults(root: Path) -> list[Problem]:
    """The problems of all management clusters: of their files, and of what comes of these."""
    every = [load_management(root, name).site for name in names_in(root / FOLDER)]
    refused = ((each, object_problems(each, site_objects(each))) for each in every if each)
    return [*management_problems(root), *(p for each in refused for p in of_management(*each))]


def of_management(site: Site, refused: Iterable[Placed]) -> list[Problem]:
    """Faults of a management cluster's objects by their schemas, as problems of its file."""
    file = site.managed.path if site.managed else ""
    return [replace(each, file=file) for _, each in refused]


def place_problems(
    loaded: Loaded, refused: Iterable[Placed], found: Judged, root: Path
) -> list[Problem]:
    """The problems of a site's objects, first those of the schemas: each at the field of the site's
    files that it comes from, where that can be told, with what to write there."""
    if loaded.site is not None and is_management(loaded.site):
        return of_management(loaded.site, refused)
    if loaded.site is None or loaded.document is None:
        raise ValueError(f"{loaded.name} was not read")
    others = [e if isinstance(e, Problem) else place(loaded.document, *e) for e in found.others]
    origins = Origins(loaded, root)
    placed = [_locate(problem, origins.find(spot)) for spot, problem in (*refused, *found.refused)]
    return [*placed, *others]


def _locate(problem: Problem, origin: Origin | None) -> Problem:
    """The problem where it comes from, with a fix that can be carried out there."""
    if origin is None:
        more = _EXCEPT if problem.code is Code.POLICY_VIOLATED else ""
        return replace(problem, fix=f"{problem.fix}; {_REPORT}{more}")
    how = "the object is there for" if origin.whole else "the value comes from"
    fix = f"{problem.fix}; {how} {origin.field}" if origin.field else problem.fix
    return replace(problem, file=origin.file, line=origin.line, column=origin.column, fix=fix)


def _today() -> datetime.date:
    try:
        return today(os.environ)
    except DayError as error:
        raise UsageError(str(error)) from None


def _spot(violation: Violation, spots: Mapping[Key, tuple[str, str]]) -> Spot:
    each = violation.object
    api = str(each.body.get("apiVersion", ""))
    known = spots.get((each.cluster, api, each.kind, each.namespace, each.name))
    return Spot(*(known or ("", each.title)), violation.found.path)


def _problem(site: Site, violation: Violation, spot: Spot) -> Problem:
    rule, each, found = violation
    path = ".".join(filter(None, spot))
    message = f"{each.title} breaks the rule {rule.name}: {found.message}"
    file = f"sites/{site.name}.yaml"
    return Problem(file, 0, 0, Code.POLICY_VIOLATED, path, "", message, found.fix, rule.why)


def _fault(fault: Fault) -> Problem:
    at = (fault.line, 1) if fault.line else (0, 0)
    return Problem(f"sites/{fault.file}", *at, Code.POLICY_FILE, "", "", fault.message, fault.fix)


def _expired_exceptions(
    found: Iterable[Exemption], granted: Sequence[Exemption]
) -> Iterator[Problem | Wrong]:
    for each in found:
        if each.own:
            where = ("policies", "exceptions", granted.index(each), "until")
            yield where, *words("exception-ended", each)
        else:
            code, message, fix = words("exception-ended", each)
            yield Problem("policies/exceptions.yaml", 0, 0, code, "", "", message, fix)


def _ended(site: Site, day: datetime.date) -> Iterator[Wrong]:
    """Rules of what others made, and patches, whose day is over."""
    for at, entry in every_extra(site):
        for number, rule in enumerate(entry.rules):
            if datetime.date.fromisoformat(rule.until) < day:
                yield (*at, "rules", number, "until"), *words("extra-rule-ended", rule)
    for number, each in enumerate(site.file.patches):
        if datetime.date.fromisoformat(each.until) < day:
            yield ("patches", number, "until"), *words("patch-ended", each)


def _danger(told: Told) -> Wrong:
    """A danger of a chart that nobody allowed, once for all of its objects."""
    what = "".join(f"\n    - {json.dumps(line)}" for line in told.lines)
    ended = "".join(f"; its permission ended on {each.until}" for each in told.expired)
    why = DANGERS[told.danger]["why"]
    return (told.party.place, *words("third-party-danger", told, ended, why, what))


def _hygiene(site: Site, party: Party, objects: int, rules: Sequence[str]) -> Advice:
    message = f"{objects} of its objects do not follow {', '.join(rules)}"
    why = "what others made is not corrected object by object"
    fix = "look for values of the chart, or of the component, that set it"
    return Advice(site.name, "third-party", party.name, "", message, why, fix)


def _unused_exceptions(
    found: Iterable[Exemption], granted: Sequence[Exemption], rules: Sequence[str]
) -> Iterator[Wrong]:
    for each in found:
        at = ("policies", "exceptions", granted.index(each))
        if each.rule in rules:
            yield (*at, "object"), *words("exception-of-nothing", each)
        else:
            fix = advise(each.rule, rules, "write the name of a rule: docs/policy-rules.md")
            yield (*at, "rule"), *words("exception-of-no-rule", each.rule, fix)
