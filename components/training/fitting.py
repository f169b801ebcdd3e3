"""Whether a job fits: on a host, on the machines that there are, and into the team's promise.

More than any of these is refused here, as nobody else would: a job that is too large for its team
is held for ever by a throttle or a queue, which cannot tell it from one that has to wait; and a
gang that no set of machines can hold waits as one whose machines are busy.
"""

from collections.abc import Iterator

from components.training.request import JobRequest, Refusal, Template
from components.training.room import (
    SERVER_CPU,
    SERVER_MEMORY,
    room,
    thousandths,
    workers_on,
)
from components.training.setting import (
    helper_pool,
    per_worker_of,
    pools_of,
    scheduling,
    shares,
    storage_of,
    team_of,
)
from schemas.scheduling import Team
from schemas.site import Site
from schemas.sitefile import Pool


def accelerators(site: Site, pool: Pool) -> int:
    """Accelerators of a pool's host."""
    return room(site, pool).accelerators


def room_of_worker(site: Site, request: JobRequest) -> Iterator[Refusal]:
    """A worker fits on a host."""
    pools = pools_of(site, request)
    rooms = [room(site, pool) for pool in pools]
    most = max(each.accelerators for each in rooms)
    per_worker = per_worker_of(site, request)
    if per_worker > most:
        message = f"a host has {most} of {request.model}, not {per_worker}"
        fix = f"write at most {most}, and more --workers"
        yield Refusal("--per-worker", message, fix)
    cpu, memory = max(each.cpu for each in rooms), max(each.memory for each in rooms)
    if request.cpu is not None and thousandths(request.cpu) > cpu:
        message = f"a host leaves {cpu // 1000} cores to pods, not {request.cpu}"
        yield Refusal("--cpu", message, f"write at most {cpu // 1000}")
    if request.memory is not None and thousandths(request.memory) > memory:
        free = memory // thousandths("1Gi")
        message = f"a host leaves {free}Gi to pods, not {request.memory}"
        yield Refusal("--memory", message, f"write at most {free}Gi")
    largest = storage_of(site, team_of(site, request)).max
    limited = site.file.scheduling is not None
    if limited and request.storage and thousandths(request.storage) > thousandths(largest):
        message = f"a container may ask for {largest} of a host's disk, not {request.storage}"
        yield Refusal("--storage", message, f"write at most {largest}")


def machines(site: Site, request: JobRequest) -> Iterator[Refusal]:
    """There are machines for all workers at once, and for the parameter servers."""
    per_worker = per_worker_of(site, request)
    cpu, memory = shares(site, request)
    pools = pools_of(site, request)
    if list(room_of_worker(site, request)):
        return  # then more machines are no help
    found = sum(
        site.replicas(pool) * workers_on(room(site, pool), per_worker, cpu, memory)
        for pool in pools
    )
    if request.workers > found:
        hosts = sum(map(site.replicas, pools))
        message = (
            f"{hosts} machines with {request.model} hold {found} workers of {per_worker} "
            f"accelerators, {cpu} cores and {memory}"
        )
        fix = f"write at most {found}" if found else "write less for each worker"
        yield Refusal("--workers", message, fix)
    yield from _servers(site, request)


def _servers(site: Site, request: JobRequest) -> Iterator[Refusal]:
    """Where parameter servers have a pool of their own, it holds them."""
    pool = helper_pool(site, request)
    alone = pool is not None and site.model(pool) is None
    if pool is None or not alone or request.template is not Template.PARAMETER_SERVER:
        return
    here = room(site, pool)
    each = min(here.cpu // thousandths(SERVER_CPU), here.memory // thousandths(SERVER_MEMORY))
    found = each * site.replicas(pool)
    if request.server_count > found:
        message = f"pool {pool.name} holds {found} parameter servers of {SERVER_CPU} cores and "
        yield Refusal("--servers", f"{message}{SERVER_MEMORY}", f"write at most {found}")


def promises(site: Site, request: JobRequest) -> Iterator[Refusal]:
    """The team is promised as many accelerators, at some hour."""
    owner = team_of(site, request)
    if owner is None or request.model not in site.models():
        return
    most, per_worker = promised(owner, request.model), per_worker_of(site, request)
    if most == 0:
        others = [each for each in site.models() if promised(owner, each)]
        fix = f"write one of {', '.join(others)}, or" if others else "have"
        message = f"{owner.name} is promised no {request.model}"
        fix += f" accelerators: {{{request.model}: …}} written for the team"
        yield Refusal("--model", message, fix)
    elif per_worker > 0 and request.workers * per_worker > most:
        asked = request.workers * per_worker
        message = f"{owner.name} is promised {most} {request.model}; the job asks for {asked}"
        whole = most // per_worker
        fix = f"write at most {whole}" if whole else f"write --per-worker {most} or less"
        yield Refusal("--workers", message, fix)


def shared(site: Site, model: str) -> bool:
    """Whether some team may use a model: then the site has runtimes for it."""
    return any(promised(team, model) for team in scheduling(site).teams)


def promised(team: Team, model: str) -> int:
    """What a team may use of a model when it may use most."""
    return max(team.accelerators.get(model, 0), team.off_peak.get(model, 0))
