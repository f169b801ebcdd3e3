"""Rules on PriorityClasses and on teams: each name once, and each one known.

Sources: Kubernetes 1.34, pkg/apis/scheduling/validation/validation.go (names of PriorityClasses),
plugin/pkg/admission/priority (one default), plugin/pkg/admission/limitranger (space on disk).
"""

from collections.abc import Iterable, Iterator

from schemas.facts.site import Site
from schemas.kubernetes.quantities import amount
from schemas.model.codes import Code
from schemas.model.nearest import nearest
from schemas.model.scheduling import EphemeralStorage, Team
from schemas.model.vocabulary import BackendKind
from schemas.rules.finding import Finding, Path

_SYSTEM_PRIORITIES = "system-"
_VOLCANOS_QUEUES = ("default", "root")


def teams_of(site: Site) -> list[tuple[Path, Team]]:
    """The teams of a site, each with its place."""
    scheduling = site.file.scheduling
    teams = scheduling.teams if scheduling else []
    return [(("scheduling", "teams", index), team) for index, team in enumerate(teams)]


def priorities(site: Site) -> Iterator[Finding]:
    """Each PriorityClass has a name and a value of its own, and pods that name none have one
    default."""
    seen: dict[object, str] = {}
    default = ""
    for index, priority in enumerate(site.scheduling.priorities):
        place: Path = ("scheduling", "priorities", index)
        yield from _priority_name(place, priority.name, seen)
        if priority.value in seen:
            message = (
                f"{priority.name} and {seen[priority.value]} both have the value {priority.value}"
            )
            fix = "give each a value of its own: pods of equal value go first by their age"
            yield Finding(Code.PRIORITY_CLASH, (*place, "value"), message, fix)
        if priority.default and default:
            message = f"{priority.name} is a second default, besides {default}"
            yield Finding(Code.PRIORITY_CLASH, (*place, "default"), message, "write false")
        seen |= {priority.value: priority.name, priority.name: priority.name}
        default = default or (priority.name if priority.default else "")


def _priority_name(place: Path, name: str, seen: Iterable[object]) -> Iterator[Finding]:
    if name in seen:
        message = f"there are two PriorityClasses named {name}"
        fix = "give this one another name, or remove it"
        yield Finding(Code.DUPLICATE_NAME, (*place, "name"), message, fix)
    if name.startswith(_SYSTEM_PRIORITIES):
        message = (
            f"{name} begins with {_SYSTEM_PRIORITIES}, which is reserved for Kubernetes' own "
            "PriorityClasses"
        )
        yield Finding(Code.RESERVED_NAME, (*place, "name"), message, "give it another name")


def team_names(site: Site) -> Iterator[Finding]:
    """No two teams have one name, and none that of a queue which Volcano has by itself."""
    seen = set()
    kinds = {backend.kind for backend in site.scheduling.backends}
    for place, team in teams_of(site):
        if team.name in _VOLCANOS_QUEUES and BackendKind.VOLCANO in kinds:
            message = f"{team.name} is a queue of Volcano's own"
            yield Finding(Code.RESERVED_NAME, (*place, "name"), message, "give it another name")
        if team.name in seen:
            message = f"there are two teams named {team.name}"
            fix = "give this one another name, or join the two"
            yield Finding(Code.DUPLICATE_NAME, (*place, "name"), message, fix)
        seen.add(team.name)


def team_priorities(site: Site) -> Iterator[Finding]:
    """The PriorityClasses of a team are PriorityClasses of the site, each named once."""
    known = [priority.name for priority in site.scheduling.priorities]
    for place, team in teams_of(site):
        for index, name in enumerate(team.priorities):
            here = (*place, "priorities", index)
            if name not in known:
                message = f"there is no PriorityClass {name}"
                near = nearest(name, known)
                others = f"write one of {', '.join(known)}" if known else "add it to priorities"
                fix = f"write {near}" if near else others
                yield Finding(Code.UNKNOWN_PRIORITY, here, message, fix)
            elif name in team.priorities[:index]:
                message = f"PriorityClass {name} is there twice"
                yield Finding(Code.DUPLICATE_NAME, here, message, "remove one of the two")


def storage(site: Site) -> Iterator[Finding]:
    """A container's default request is within its limit, and its limit within what it may
    request."""
    if site.file.scheduling is None:
        return
    yield from _storage(("scheduling", "ephemeral_storage"), site.file.scheduling.ephemeral_storage)
    for place, team in teams_of(site):
        if team.ephemeral_storage is not None:
            yield from _storage((*place, "ephemeral_storage"), team.ephemeral_storage)


def _storage(place: Path, given: EphemeralStorage) -> Iterator[Finding]:
    sizes = {name: getattr(given, name) for name in ("request", "limit", "max")}
    for less, more in (("request", "limit"), ("limit", "max")):
        if amount(sizes[less]) > amount(sizes[more]):
            # Of the two the one that the file says is at fault.
            name, other = (less, more) if less in given.model_fields_set else (more, less)
            message = f"{less}: {sizes[less]} is more than {more}: {sizes[more]}"
            fix = f"write {sizes[other]} or {'less' if name == less else 'more'}"
            yield Finding(Code.STORAGE_LIMITS, (*place, name), message, fix)
