"""Rules on the people of a site: each is named once, and can log in."""

from collections.abc import Iterator

from schemas.facts.site import Site
from schemas.model.codes import Code
from schemas.rules.finding import Finding, Path
from schemas.rules.teams import teams_of


def people(site: Site) -> Iterator[Finding]:
    """No list names somebody twice; where issuers are given, each name has the prefix of one."""
    prefixes = tuple(each.prefix for each in site.file.cluster.authentication)
    for place, names in _lists(site):
        for index, name in enumerate(names):
            if name in names[:index]:
                message = f"{name} is named twice"
                yield Finding(Code.DUPLICATE_NAME, (*place, index), message, "remove one of them")
            if prefixes and not name.startswith(prefixes):
                message = f"no issuer of cluster.authentication gives the name {name}"
                fix = f"write {prefixes[0]}{name}"
                yield Finding(Code.IDENTITY_UNKNOWN, (*place, index), message, fix)


def _lists(site: Site) -> Iterator[tuple[Path, list[str]]]:
    """Each list of groups or users, with its place."""
    staff = site.file.access
    groups = ("operators", "viewers") if staff else ()
    every = (*((("access", each), getattr(staff, each)) for each in groups), *teams_of(site))
    for place, who in every:
        yield (*place, "groups"), who.groups
        yield (*place, "users"), who.users
