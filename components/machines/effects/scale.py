"""How many machines a pool has: who is added, and who may lose its machine.

Which Machine goes is Cluster API's choice and has nothing to do with which host left the list.
"""

from collections.abc import Iterator

from components.effects.vocabulary import Effect, FieldChange, Impact, ObjectChange, SiteChange
from components.machines.effects.concerned import (
    either,
    limit_below,
    many,
    members,
    number,
    staying,
    value,
)

DELETE_MACHINE = "cluster.x-k8s.io/delete-machine"


def replica_change(
    site: SiteChange, change: ObjectChange, field: FieldChange, chosen: str, source: str
) -> Iterator[Effect]:
    """The effect of another number of machines; ``chosen`` gives the pace and the choice of
    machines."""
    was, now = (value(each, "spec", "replicas") for each in (change.before, change.after))
    if not isinstance(was, int) or not isinstance(now, int):
        why = f"replicas go from {was} to {now}, and what follows is not known"
        yield Effect(Impact.UNKNOWN, change.name, field.path, why, source, either(site, change))
    elif now < was:
        go = f"{many(was - now, 'Machine')} to delete, {chosen}"
        yield _fewer(site, change, field, go, source)
    else:
        yield _more(site, change, field, source)


def _fewer(
    site: SiteChange, change: ObjectChange, field: FieldChange, go: str, source: str
) -> Effect:
    was, now = (number(each, "spec", "replicas") for each in (change.before, change.after))
    before, stay = members(site.before, change), staying(site, change)
    leave = len(before) - len(stay)
    why = f"replicas go from {was} to {now}: {go}"
    if leave and stay:
        why += (
            f"; it does not look at hosts, so the {leave} that leave may keep their Machines and "
            f"others lose theirs; to choose which, mark their Machines with {DELETE_MACHINE} before"
        )
    hosts = stay or before
    at_most = limit_below(hosts, was - now)
    return Effect(Impact.REMOVE, change.name, field.path, why, source, hosts, at_most)


def _more(site: SiteChange, change: ObjectChange, field: FieldChange, source: str) -> Effect:
    was, now = (number(each, "spec", "replicas") for each in (change.before, change.after))
    before, after = members(site.before, change), members(site.after, change)
    new = tuple(name for name in after if name not in set(before))
    free = len(before) > was
    hosts = after if free or not new else new
    why = (
        f"replicas go from {was} to {now}: {many(now - was, 'Machine')} more, each on a free host "
        "of the pool, which is installed and joins"
    )
    at_most = limit_below(hosts, now - was)
    return Effect(Impact.ADD, change.name, field.path, why, source, hosts, at_most)


def staying_machines(site: SiteChange, change: ObjectChange) -> tuple[tuple[str, ...], int | None]:
    """The hosts that may run a machine on both sides, and the most that do: spares do not, and a
    surplus machine is not replaced."""
    hosts = staying(site, change)
    sides = (change.before, change.after)
    return hosts, limit_below(hosts, min(number(each, "spec", "replicas") for each in sides))
