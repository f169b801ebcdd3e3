"""The fit of a job: on a host, on the machines that there are, and into the team's guarantee.

More than any of these is refused here, as nobody else would: a job that is too large for its team
is held for ever by a throttle or a queue, which cannot tell it from one that has to wait; and a
gang that no set of machines can hold waits as one whose machines are busy.
"""

from collections.abc import Iterator

from components.training.request import Refusal, Template
from components.training.room import SERVER_CPU, SERVER_MEMORY, room
from components.training.setting import Setting
from schemas.facts.site import Site
from schemas.kubernetes.quantities import thousandths
from schemas.model.scheduling import Team


def room_of_worker(job: Setting) -> Iterator[Refusal]:
    """A worker fits on a host."""
    request = job.request
    if job.per_worker > job.most:
        message = f"a host has {job.most} of {request.model}, not {job.per_worker}"
        fix = f"write at most {job.most}, and more --workers"
        yield Refusal("--per-worker", message, fix)
    cpu, memory = (max(each) for each in zip(*((r.cpu, r.memory) for r in job.rooms), strict=True))
    if request.cpu is not None and thousandths(request.cpu) > cpu:
        message = f"a host leaves {cpu // 1000} cores to pods, not {request.cpu}"
        yield Refusal("--cpu", message, f"write at most {cpu // 1000}")
    if request.memory is not None and thousandths(request.memory) > memory:
        free = memory // thousandths("1Gi")
        message = f"a host leaves {free}Gi to pods, not {request.memory}"
        yield Refusal("--memory", message, f"write at most {free}Gi")
    limited, largest = job.site.file.scheduling is not None, job.limits.max
    if limited and request.storage and thousandths(request.storage) > thousandths(largest):
        message = f"a container may ask for {largest} of a host's disk, not {request.storage}"
        yield Refusal("--storage", message, f"write at most {largest}")


def machines(job: Setting) -> Iterator[Refusal]:
    """There are machines for all workers at once, and for the parameter servers."""
    found = sum(
        job.site.replicas(pool) * job.fit(here)
        for pool, here in zip(job.pools, job.rooms, strict=True)
    )
    if job.request.workers > found:
        hosts = sum(map(job.site.replicas, job.pools))
        message = (
            f"{hosts} machines with {job.request.model} hold {found} workers of "
            f"{job.per_worker} accelerators, {job.cpu} cores and {job.memory}"
        )
        if job.has_domain:
            message += ", one on each, as a host has one channel of a ComputeDomain"
        fix = f"write at most {found}" if found else "write less for each worker"
        yield Refusal("--workers", message, fix)
    yield from _servers(job)


def _servers(job: Setting) -> Iterator[Refusal]:
    """The pool of parameter servers, where they have their own, holds them."""
    pool, has_servers = job.helper_pool, job.request.template is Template.PARAMETER_SERVER
    if pool is None or job.site.model(pool) or not has_servers:
        return
    here = room(job.site, pool)
    each = min(here.cpu // thousandths(SERVER_CPU), here.memory // thousandths(SERVER_MEMORY))
    found = each * job.site.replicas(pool)
    if job.request.server_count > found:
        size = f"{SERVER_CPU} cores and {SERVER_MEMORY}"
        message = f"pool {pool.name} holds {found} parameter servers of {size}"
        yield Refusal("--servers", message, f"write at most {found}")


def guarantees(job: Setting) -> Iterator[Refusal]:
    """The team is guaranteed as many accelerators, at some hour."""
    team, model = job.team, job.request.model
    if team is None or not job.is_served:
        return
    most = largest_guarantee(team, model)
    if most == 0:
        others = [each for each in job.site.models() if largest_guarantee(team, each)]
        fix = f"write one of {', '.join(others)}, or" if others else "have"
        fix += f" accelerators: {{{model}: …}} written for the team"
        yield Refusal("--model", f"{team.name} is guaranteed no {model}", fix)
    elif job.per_worker > 0 and job.devices > most:
        message = f"{team.name} may use {most} {model} at most; the job asks for {job.devices}"
        whole = most // job.per_worker
        fix = f"write at most {whole}" if whole else f"write --per-worker {most} or less"
        yield Refusal("--workers", message, fix)


def has_users(site: Site, model: str) -> bool:
    """True if some team may use a model: then the site has runtimes for it."""
    return any(largest_guarantee(team, model) for team in site.scheduling.teams)


def largest_guarantee(team: Team, model: str) -> int:
    """The most devices of a model that a team may use at any time."""
    return max(team.accelerators.get(model, 0), team.off_peak.get(model, 0))
