"""Rules on the people of a site: each is named once, and can log in."""

from collections.abc import Iterator

from schemas.facts.site import Site
from schemas.rules.finding import Finding, Path
from schemas.rules.teams import teams_of
from schemas.rules.texts import say


def people(site: Site) -> Iterator[Finding]:
    """Where issuers are given, each name has the prefix of one."""
    prefixes = tuple(each.prefix for each in site.file.cluster.authentication)
    for place, names in _lists(site):
        for index, name in enumerate(names):
            if prefixes and not name.startswith(prefixes):
                yield say("access-name-without-issuer", (*place, index), name, prefixes)


def _lists(site: Site) -> Iterator[tuple[Path, list[str]]]:
    """Each list of groups or users, with its place."""
    staff = site.file.access
    groups = ("operators", "viewers") if staff else ()
    every = (*((("access", each), getattr(staff, each)) for each in groups), *teams_of(site))
    for place, who in every:
        yield (*place, "groups"), who.groups
        yield (*place, "users"), who.users
