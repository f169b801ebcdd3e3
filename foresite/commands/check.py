"""``foresite check``: every problem of sites, offline, down to the last field of each object."""

import argparse
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from components.making.manifest import Manifest
from components.making.validation import Placed, object_problems
from components.site import is_management, site_objects
from foresite import parallel
from foresite.command import (
    FOUND,
    OK,
    Stopped,
    UsageError,
    count,
    no_site,
    repository,
    show,
    show_text,
    version,
)
from foresite.judged import Advice, Judged, judge_site, management_faults, place_problems
from preview.states.lock import lock_problems
from schemas.facts.site import Site
from schemas.kubernetes.grouping import group_by_key
from schemas.kubernetes.masking import shorten
from schemas.load import Loaded, load, load_site
from schemas.model.management import STACK
from schemas.model.problem import Problem, first_problems, number_of
from schemas.reading.catalogue import catalogue_problems
from schemas.reading.fleet_file import fleet_problems
from schemas.reading.regions import region_problems
from schemas.reading.yaml_reader import Document
from schemas.site_parts import load_stack

CEL = "ValidatingAdmissionPolicy"
"""The kind whose rules an API server judges."""


class Examined(NamedTuple):
    """The findings on a ``site``'s objects: refusals of the schemas, advice of the policies,
    numbers of objects and kinds, and of CEL rules that only the API server judges."""

    site: str
    refused: list[Placed]
    judged: Judged
    objects: int
    kinds: frozenset[str]
    cel: int

    @property
    def sound(self) -> bool:
        """True if nothing keeps the objects from being applied."""
        return not self.refused and self.judged.sound


def run(options: argparse.Namespace) -> int:
    """Check the named sites and report."""
    root = repository(options)
    loaded = load(root, options.sites or None)
    if not loaded:
        raise UsageError(no_site(root))
    sites = [each.site for each in loaded.values() if each.site]
    examined = {each.site: each for each in parallel.each(examine, sites)}
    every = (
        each for name, one in loaded.items() for each in findings(one, examined.get(name), root)
    )
    shared = (fleet_problems, region_problems, catalogue_problems, management_faults)
    found = () if options.sites else (each for of in shared for each in of(root))
    problems = list(told_once([*found, *every]))
    advice = [each for one in examined.values() for each in one.judged.advised]
    hints = [each for one in loaded.values() for each in one.hints]
    scope, scope_line = _scope(loaded, examined)
    if options.format in ("github", "sarif"):
        _annotate(options.format, [*problems, *hints], advice)
    if options.format == "github":
        show(scope_line, _counted(loaded, problems))
    elif options.format == "json":
        more = {"advice": [each._asdict() for each in advice], "offline": scope}
        show(as_json(loaded, problems, hints=[each.as_dict() for each in hints], **more))
    elif options.format == "text":
        lines = [] if problems else [summary(s, examined[s.name].objects) for s in sites]
        lines += [*hint_lines(hints), *advice_lines(advice), scope_line]
        show_text(as_text(loaded, problems, lines))
    return FOUND if problems else OK


def told_once(problems: Iterable[Problem]) -> Iterator[Problem]:
    """Problems without repetition: of a shared file once, with the places of all its sites."""
    same: dict[Problem, list[str]] = {}
    for each in problems:
        same.setdefault(replace(each, also=()), []).extend(each.also)
    for each, also in same.items():
        yield replace(each, also=tuple(dict.fromkeys(also)))


def _annotate(form: str, found: Iterable[Problem], advice: Iterable[Advice]) -> None:
    """Print what is found for whoever shows it beside the files."""
    from foresite.annotations import Note, as_sarif, as_workflow_commands

    notes = [Note("note" if each.code.hint else "error", each.code.value, each) for each in found]
    notes += [Note("warning", each.rule, each.as_problem()) for each in advice]
    if form == "sarif":
        show(as_sarif(notes))
    else:
        for line in as_workflow_commands(notes):
            show(line)


def examine(site: Site, objects: Mapping[str, Sequence[Manifest]] | None = None) -> Examined:
    """Judge every object of a site; they are made where they are not given."""
    made = objects if objects is not None else site_objects(site)
    every = [each for manifests in made.values() for each in manifests]
    return Examined(
        site=site.name,
        refused=object_problems(site, made),
        # The policies are those of sites, and do not judge what others made for another cluster.
        judged=Judged(0, [], [], []) if is_management(site) else judge_site(site, made),
        objects=len(every),
        kinds=frozenset(each.kind for each in every),
        cel=sum(_expressions(each) for each in every if each.kind == CEL),
    )


def _expressions(policy: Manifest) -> int:
    """How many CEL rules a policy has; one that a site brings may be malformed."""
    spec = policy.body.get("spec")
    found = spec.get("validations") if isinstance(spec, dict) else None
    return len(found) if isinstance(found, list) else 0


def findings(loaded: Loaded, examined: Examined | None, root: Path) -> list[Problem]:
    """The problems of a site: of its files, or else of the objects that come of them; and of the
    version of Foresite that the repository locks."""
    if locked := lock_problems(root, version()):
        return [*locked, *loaded.problems]
    if examined is None or loaded.site is None:
        return list(loaded.problems)
    return place_problems(loaded, examined.refused, examined.judged, root)


def all_problems(loaded: Loaded, root: Path) -> list[Problem]:
    """The problems of a site's files, or else those of the objects that would come of them."""
    return findings(loaded, examine(loaded.site) if loaded.site else None, root)


def stacks(root: Path, names: Sequence[str]) -> dict[str, Loaded]:
    """The named sites or management clusters as they are read; all sites, where none is named."""
    of_stacks = any(each.startswith(STACK) for each in names)
    return {n: load_stack(root, n) for n in names} if of_stacks else load(root, names or None)


def sound(root: Path, names: Sequence[str], form: str, code: int = FOUND) -> list[Site]:
    """The named sites or stacks (else all sites); a problem is shown, and ends it with ``code``."""
    loaded = stacks(root, names)
    if problems := [each for one in loaded.values() for each in all_problems(one, root)]:
        show_problems(form, loaded, problems)
        raise Stopped(code)
    return [each.site for each in loaded.values() if each.site is not None]


def read_site(root: Path, name: str, form: str) -> tuple[Site, Document]:
    """A site and its file; a problem of its files, the only ones looked for, ends the command."""
    loaded, locked = load_site(root, name), lock_problems(root, version())
    if locked or loaded.site is None or loaded.document is None:
        show_problems(form, {loaded.name: loaded}, [*locked, *loaded.problems])
        raise Stopped(FOUND)
    return loaded.site, loaded.document


def _scope(loaded: Iterable[str], examined: Mapping[str, Examined]) -> tuple[dict[str, Any], str]:
    """What a check covers, and what only an API server can answer: as data, and as a line."""
    found = examined.values()
    kinds = len(frozenset[str]().union(*(each.kinds for each in found)))
    policies = max((each.judged.rules for each in found), default=0)
    cel = sum(each.cel for each in found)
    left = [name for name in loaded if name not in examined]
    data = {"kinds": kinds, "policies": policies, "cel_rules_not_asked": cel,
            "sites_not_judged": left}  # fmt: skip
    judged = f", schemas of {count(kinds, 'kind')}, {count(policies, 'policy', 'policies')}"
    line = f"checked offline: model, rules{judged if kinds else ''}; no API server was asked"
    line += f"; {count(cel, 'CEL rule')} not evaluated" if cel else ""
    line += f"; no objects generated for {', '.join(map(shorten, left))}" if left else ""
    return data, line


def as_json(loaded: dict[str, Loaded], problems: Iterable[Problem], **more: Any) -> str:
    """The report for a machine."""
    found = [problem.as_dict() for problem in first_problems([*problems])]
    return json.dumps({"sites": list(loaded), "problems": found, **more}, indent=2)


def show_problems(
    form: str, loaded: dict[str, Loaded], problems: list[Problem], lines: Sequence[str] = ()
) -> None:
    """Print the problems that keep a command from its work, or that its result has: ``lines``."""
    problems = list(told_once(problems))
    if form == "json":
        show(as_json(loaded, problems, **({"result": [*lines]} if lines else {})))
    else:
        show_text(as_text(loaded, problems, lines))


def as_text(loaded: dict[str, Loaded], problems: list[Problem], lines: Sequence[str] = ()) -> str:
    """The report for a person: each problem, other ``lines``, then one line that counts."""
    last = "\n".join([*lines, _counted(loaded, problems)])
    return "\n\n".join([*map(str, first_problems(problems)), last])


def _counted(loaded: dict[str, Loaded], problems: list[Problem]) -> str:
    counts = count(number_of(problems), "problem") if problems else "no problem"
    clusters = sum(name.startswith(STACK) for name in loaded)
    numbers = {"site": len(loaded) - clusters, "management cluster": clusters}
    read = " and ".join(count(number, what) for what, number in numbers.items() if number)
    return f"{read} checked: {counts}"


def hint_lines(hints: Iterable[Problem]) -> Iterator[str]:
    """The lines for a person on settings that do no harm and no good."""
    for each in hints:
        place = f"{each.file}:{each.line}:{each.column}"
        also = group_by_key((file, line) for file, line, *_ in (e.split(":") for e in each.also))
        parts = (f"{file}:{', '.join(dict.fromkeys(lines))}" for file, lines in also.items())
        places = "; ".join(parts)
        more = f" (also {places})" if places else ""
        yield f"hint: {place}: {each.code.value} {each.path}: {each.message}{more}; {each.fix}"


def advice_lines(advice: Iterable[Advice]) -> Iterator[str]:
    """The lines for a person on advisory rules: a rule each, as many objects may break it alike."""
    for rule, found in group_by_key((each.rule, each) for each in advice).items():
        titles = list(dict.fromkeys(each.title for each in found))
        which = f"{titles[0]} and {len(titles) - 1} more" if titles[1:] else titles[0]
        yield f"advice: {rule}: {which}: {found[0].message}; {found[0].fix}"


def summary(site: Site, objects: int) -> str:
    """One line on a site that has no problem."""
    accelerators = Counter[str]()
    for pool in site.file.pools:
        if has := site.profile(pool).accelerators:
            accelerators[has.model] += has.count * len(site.hosts_of(pool))
    patches = len(site.file.patches)
    more = f", {count(patches, 'patch', 'patches')} in force" if patches else ""
    parts = [f"{number} {model}" for model, number in sorted(accelerators.items())]
    return (
        f"{site.name}: {count(len(site.hosts), 'host')}, "
        f"{', '.join(parts) or 'no accelerators'}, {count(objects, 'object')}{more}"
    )
