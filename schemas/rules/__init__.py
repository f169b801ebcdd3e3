"""Rules between fields: each looks at a site, or at one zone or pool of it, and yields findings.

None raises and none stops another: where a file has faults its data has holes, and a rule that
looks into one ends there (``attempt``). ``site_findings`` runs all rules of one site, ``clashes``
those between sites.
"""

from collections.abc import Callable, Iterator
from importlib import import_module
from pkgutil import iter_modules
from types import FunctionType
from typing import Any

from schemas.facts.site import Site
from schemas.model.primitives import Model
from schemas.model.region import Key, section_of
from schemas.model.site_file import SiteFile
from schemas.rules.finding import Finding, HostCell, InPool, InZone, TextPlace, attempt
from schemas.rules.sites import Footprint, clashes, footprint

__all__ = ["Finding", "Footprint", "HostCell", "TextPlace", "attempt", "clashes", "footprint"]
MODULES = tuple(import_module(f"{__name__}.{each.name}") for each in iter_modules(__path__))
"""Where the rules are: every module of this package. A rule is a public function of such a module
that takes a site, or a zone or a pool in it, sections of the site file, and nothing else. It runs
where the site has all of these sections."""
Rule = Callable[..., Iterator[Finding]]


def _sections(model: type[Model], at: Key = ()) -> Iterator[tuple[Any, Key]]:
    """The type of each section below a model, with the path to it."""
    for name, info in model.model_fields.items():
        if kind := section_of(info):
            yield kind, (*at, name)
            yield from _sections(kind, (*at, name))


SECTIONS = dict(_sections(SiteFile))
_PARTS = (Site, InZone, InPool)


def _rules() -> Iterator[Rule]:
    for module in MODULES:
        for name, function in vars(module).items():
            if not isinstance(function, FunctionType) or function.__module__ != module.__name__:
                continue
            *takes, gives = function.__annotations__.values() or [None]
            known = takes and all(each in _PARTS or each in SECTIONS for each in takes)
            if known and gives == Iterator[Finding] and not name.startswith("_"):
                yield function


def _part(rule: Rule) -> type:
    return next((each for each in rule.__annotations__.values() if each in _PARTS), Site)


SITE_RULES, ZONE_RULES, POOL_RULES = (
    tuple(rule for rule in _rules() if _part(rule) is part) for part in _PARTS
)
_TAKES = {
    rule: [None if kind in _PARTS else SECTIONS.get(kind, ()) for kind in takes]
    for rule in _rules()
    for *takes, _ in [rule.__annotations__.values()]
}
"""The sections that each rule takes, by their paths; None for the site, zone or pool."""


def judge(rule: Rule, site: Site, part: InZone | InPool | None = None) -> Iterator[Finding]:
    """The findings of one rule; none where the site lacks a section that the rule takes."""
    given: list[object] = []
    for steps in _TAKES[rule]:
        value: object = (part or site) if steps is None else site.file
        for step in steps or ():
            value = getattr(value, step) if value is not None else None
        given.append(value)
    if None not in given:
        yield from rule(*given)


def site_findings(site: Site, *, holes: bool = False) -> Iterator[Finding]:
    """Every finding of every rule on one site; ``holes``: the site may have some."""
    for rule in SITE_RULES:
        yield from attempt(judge(rule, site), holes=holes)
    for index, zone in enumerate(getattr(site.file, "zones", ())):
        for rule in ZONE_RULES:
            yield from attempt(judge(rule, site, InZone(site, index, zone)), holes=holes)
    for index, pool in enumerate(getattr(site.file, "pools", ())):
        for rule in POOL_RULES:
            yield from attempt(judge(rule, site, InPool(site, index, pool)), holes=holes)
