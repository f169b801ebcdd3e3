"""Rules on PriorityClasses and on teams: each name once, and each one known.

Sources: Kubernetes 1.34, pkg/apis/scheduling/validation/validation.go (names of PriorityClasses),
plugin/pkg/admission/priority (one default), plugin/pkg/admission/limitranger (space on disk).
"""

from collections.abc import Iterator

from schemas.facts.site import Site
from schemas.kubernetes.quantities import amount
from schemas.model.scheduling import EphemeralStorage, Scheduling, Team
from schemas.model.vocabulary import BackendKind
from schemas.rules.finding import Finding, Path, advise, say

_SYSTEM_PRIORITIES = "system-"
_VOLCANOS_QUEUES = ("default", "root")


def teams_of(site: Site) -> list[tuple[Path, Team]]:
    """The teams of a site, each with its place."""
    teams = enumerate(site.scheduling.teams)
    return [(("scheduling", "teams", index), team) for index, team in teams]


def priorities(site: Site) -> Iterator[Finding]:
    """Each PriorityClass has a value of its own, and pods that name none have one default."""
    seen: dict[int, str] = {}
    default = ""
    for index, priority in enumerate(site.scheduling.priorities):
        place: Path = ("scheduling", "priorities", index)
        name = priority.name
        if name.startswith(_SYSTEM_PRIORITIES):
            yield say("priority-name-reserved", (*place, "name"), name, _SYSTEM_PRIORITIES)
        if priority.value in seen:
            yield say("priority-value-taken", (*place, "value"), priority, seen[priority.value])
        if priority.default and default:
            yield say("priority-second-default", (*place, "default"), priority, default)
        seen[priority.value] = name
        default = default or (priority.name if priority.default else "")


def team_names(site: Site) -> Iterator[Finding]:
    """No team has the name of a queue which Volcano has by itself."""
    kinds = {backend.kind for backend in site.scheduling.backends}
    for place, team in teams_of(site):
        if team.name in _VOLCANOS_QUEUES and BackendKind.VOLCANO in kinds:
            yield say("team-name-of-queue", (*place, "name"), team)


def team_priorities(site: Site) -> Iterator[Finding]:
    """The PriorityClasses of a team are PriorityClasses of the site, each named once."""
    known = [priority.name for priority in site.scheduling.priorities]
    for place, team in teams_of(site):
        for index, name in enumerate(team.priorities):
            here = (*place, "priorities", index)
            if name not in known:
                others = f"write one of {', '.join(known)}" if known else "add it to priorities"
                yield say("priority-unknown", here, name, advise(name, known, others))
            elif name in team.priorities[:index]:
                yield say("listed-twice", here, f"PriorityClass {name}")


def storage(site: Site, scheduling: Scheduling) -> Iterator[Finding]:
    """A container's default request is within its limit, and that within what it may request."""
    yield from _storage(("scheduling", "ephemeral_storage"), scheduling.ephemeral_storage)
    for place, team in teams_of(site):
        if team.ephemeral_storage is not None:
            yield from _storage((*place, "ephemeral_storage"), team.ephemeral_storage)


def _storage(place: Path, given: EphemeralStorage) -> Iterator[Finding]:
    sizes = {name: getattr(given, name) for name in ("request", "limit", "max")}
    for less, more in (("request", "limit"), ("limit", "max")):
        if amount(sizes[less]) > amount(sizes[more]):
            # Of the two the one that the file says is at fault.
            name, other = (less, more) if less in given.model_fields_set else (more, less)
            side = "less" if name == less else "more"
            values = less, sizes[less], more, sizes[more], sizes[other], side
            yield say("storage-bounds-crossed", (*place, name), *values)
