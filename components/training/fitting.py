"""The fit of a job: on a host, on the machines that there are, and into the team's guarantee.

More than any of these is refused here, as nobody else would: a job that is too large for its team
is held for ever by a throttle or a queue, which cannot tell it from one that has to wait; and a
gang that no set of machines can hold waits as one whose machines are busy.
"""

from collections.abc import Iterator

from components.training.request import Refusal, Template, refusal
from components.training.room import SERVER_CPU, SERVER_MEMORY, room
from components.training.setting import Setting
from schemas.facts.site import Site
from schemas.kubernetes.quantities import thousandths
from schemas.model.scheduling import Team


def room_of_worker(job: Setting) -> Iterator[Refusal]:
    """A worker fits on a host."""
    request = job.request
    if job.per_worker > job.most:
        shared = any(pool.sharing for pool in job.pools)
        whose = "a pod may have one share of a card" if shared else f"a host has {job.most}"
        values = {"model": request.model, "given": job.per_worker, "most": job.most}
        yield refusal("too_many_per_worker", whose=whose, **values)
    cpu, memory = (max(each) for each in zip(*((r.cpu, r.memory) for r in job.rooms), strict=True))
    if request.cpu is not None and thousandths(request.cpu) > cpu:
        yield refusal("too_many_cores", most=cpu // 1000, given=request.cpu)
    if request.memory is not None and thousandths(request.memory) > memory:
        most = f"{memory // thousandths('1Gi')}Gi"
        yield refusal("too_much_memory", most=most, given=request.memory)
    limited, largest = job.site.file.scheduling is not None, job.limits.max
    if limited and request.storage and thousandths(request.storage) > thousandths(largest):
        yield refusal("too_much_storage", most=largest, given=request.storage)


def machines(job: Setting) -> Iterator[Refusal]:
    """There are machines for all workers at once, and for the parameter servers."""
    pairs = zip(job.pools, job.rooms, strict=True)
    found = sum(job.site.replicas(pool) * job.fit(here) for pool, here in pairs)
    if job.request.workers > found:
        channel = ", one on each, as a host has one channel of a ComputeDomain"
        hosts, each = sum(map(job.site.replicas, job.pools)), channel if job.has_domain else ""
        size = {"per_worker": job.per_worker, "cpu": job.cpu, "memory": job.memory}
        fix = f"write at most {found}" if found else "write less for each worker"
        values = {"hosts": hosts, "model": job.request.model, "found": found, "channel": each}
        yield refusal("too_few_machines", **values, **size, fix=fix)
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
        size = {"cpu": SERVER_CPU, "memory": SERVER_MEMORY}
        yield refusal("too_many_servers", pool=pool.name, most=found, **size)


def guarantees(job: Setting) -> Iterator[Refusal]:
    """The team is guaranteed as many accelerators, at some hour."""
    team, model = job.team, job.request.model
    if team is None or not job.is_served:
        return
    most = largest_guarantee(team, model)
    if most == 0:
        others = [each for each in job.site.models() if largest_guarantee(team, each)]
        known = f"write one of {', '.join(others)}, or" if others else "have"
        yield refusal("no_guarantee", team=team.name, model=model, others=known)
    elif job.per_worker > 0 and job.devices > most:
        whole = most // job.per_worker
        fix = f"write at most {whole}" if whole else f"write --per-worker {most} or less"
        values = {"team": team.name, "model": model, "most": most, "given": job.devices}
        yield refusal("beyond_guarantee", **values, fix=fix)


def has_users(site: Site, model: str) -> bool:
    """True if some team may use a model: then the site has runtimes for it."""
    return any(largest_guarantee(team, model) for team in site.scheduling.teams)


def largest_guarantee(team: Team, model: str) -> int:
    """The most devices of a model that a team may use at any time."""
    return max(team.accelerators.get(model, 0), team.off_peak.get(model, 0))
