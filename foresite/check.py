"""``foresite check``: every problem of sites, offline, down to the last field of each object."""

import argparse
import json
from collections.abc import Iterable
from itertools import chain

from components.site import site_objects
from components.valid import object_problems
from foresite import parallel
from foresite.command import FOUND, OK, UsageError, repository
from schemas.load import Loaded, load
from schemas.problem import Problem
from schemas.site import Site


def run(options: argparse.Namespace) -> int:
    """Check the named sites and report."""
    root = repository(options)
    loaded = load(root, options.sites or None)
    if not loaded:
        raise UsageError(f"there is no site in {root / 'sites'}; write one: foresite new")
    examined = parallel.each(examine, [each.site for each in loaded.values() if each.site])
    every = chain(
        (problem for each in loaded.values() for problem in each.problems),
        (problem for problems, _ in examined for problem in problems),
    )
    problems = list(dict.fromkeys(every))  # a file that two sites share has its faults once
    if options.format == "json":
        print(as_json(loaded, problems))
    else:
        print(as_text(loaded, problems, [line for _, line in examined]))
    return FOUND if problems else OK


def examine(site: Site) -> tuple[list[Problem], str]:
    """The problems of a site's objects, and one line on the site."""
    objects = site_objects(site)
    return object_problems(site, objects), summary(site, sum(map(len, objects.values())))


def all_problems(loaded: Loaded) -> list[Problem]:
    """The problems of a site's files, or else those of the objects that would come of them."""
    return list(loaded.problems) if loaded.site is None else examine(loaded.site)[0]


def as_json(loaded: dict[str, Loaded], problems: Iterable[Problem]) -> str:
    """The report for a machine."""
    return json.dumps(
        {"sites": list(loaded), "problems": [problem.as_dict() for problem in problems]}, indent=2
    )


def as_text(
    loaded: dict[str, Loaded], problems: list[Problem], summaries: Iterable[str] = ()
) -> str:
    """The report for a person: each problem (or a line a site), then one line that counts."""
    counts = f"{_count(len(loaded), 'site')} checked: "
    if problems:
        return "\n\n".join([*map(str, problems), counts + _count(len(problems), "problem")])
    return "\n".join([*summaries, counts + "no problem"])


def summary(site: Site, objects: int) -> str:
    """One line on a site that has no problem."""
    accelerators: dict[str, int] = {}
    for pool in site.file.pools:
        has = site.profile(pool).accelerators
        if has:
            count = has.count * len(site.hosts_of(pool))
            accelerators[has.model] = accelerators.get(has.model, 0) + count
    parts = [f"{count} {model}" for model, count in sorted(accelerators.items())]
    return (
        f"{site.name}: {_count(len(site.hosts), 'host')}, "
        f"{', '.join(parts) or 'no accelerators'}, {_count(objects, 'object')}"
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
