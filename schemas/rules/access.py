"""Rules on the people of a site: each is named once."""

from collections.abc import Iterator

from schemas.facts.site import Site
from schemas.model.codes import Code
from schemas.rules.finding import Finding, Path
from schemas.rules.teams import teams_of


def identities(site: Site) -> Iterator[tuple[Path, list[str]]]:
    """Each list of groups or users, with its place."""
    staff = site.file.access
    people = (
        []
        if staff is None
        else [(("access", name), getattr(staff, name)) for name in ("operators", "viewers")]
    )
    for place, who in (*people, *teams_of(site)):
        for kind in ("groups", "users"):
            yield (*place, kind), getattr(who, kind)


def people_once(site: Site) -> Iterator[Finding]:
    """No list names somebody twice."""
    for place, names in identities(site):
        for index, name in enumerate(names):
            if name in names[:index]:
                message = f"{name} is named twice"
                yield Finding(Code.DUPLICATE_NAME, (*place, index), message, "remove one of them")
