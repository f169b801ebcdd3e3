"""What is refused, all of it at once: what the site could not run, or would hold for ever.

Each check looks at one thing, and says nothing where what it needs is faulty itself.
"""

import re
from collections.abc import Callable, Iterable, Iterator

from components.training.fitting import accelerators, machines, promises, room_of_worker
from components.training.jobset import SERVER, WORKER, tf_config
from components.training.mpi import LAUNCHER
from components.training.request import JobRequest, Refusal, Template
from components.training.room import QUANTITY
from components.training.setting import (
    gang_of,
    per_worker_of,
    pools_of,
    resolved,
    scheduling,
    team_of,
)
from components.training.trainjob import NODE
from schemas.nearest import nearest
from schemas.primitives import DNS_LABEL_PATTERN
from schemas.site import Site

Check = Callable[[Site, JobRequest], Iterable[Refusal]]
_NAME = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_IMAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@-]*")
_LONGEST, _LONGEST_IMAGE, _MOST_WORDS = 63, 500, 100
_SUFFIX = len("-abcde")
_LONGEST_VARIABLE = 131_071
"""Bytes of a variable and its name that Linux lets a program start with (MAX_ARG_STRLEN)."""


def refusals(site: Site, request: JobRequest) -> list[Refusal]:
    """Everything that is wrong with a request; none where it can be written."""
    return [refusal for check in CHECKS for refusal in check(site, request)]


def choice(word: str, known: Iterable[str]) -> str:
    """What to write instead of a word that is not known."""
    names = list(known)
    near = nearest(word, names)
    return f"write {near}" if near else f"write one of {', '.join(names)}"


def team(site: Site, request: JobRequest) -> Iterator[Refusal]:
    """Where a site has teams, each job is one's."""
    names = [each.name for each in scheduling(site).teams]
    if request.team is None and names:
        fix = f"write the team that it is of: {', '.join(names)}"
        yield Refusal("--team", "jobs of this site belong to teams", fix)
    elif request.team is not None and not names:
        fix = "leave it out, and write --namespace"
        yield Refusal("--team", "this site has no teams", fix)
    elif request.team is not None and request.team not in names:
        yield Refusal("--team", f"there is no team {request.team}", choice(request.team, names))


def namespace(site: Site, request: JobRequest) -> Iterator[Refusal]:
    """A job is in a namespace of its team; without teams it says in which."""
    given, owner = request.namespace, team_of(site, request)
    if owner is not None and given is not None and given not in owner.namespaces:
        message = f"{given} is no namespace of {owner.name}"
        yield Refusal("--namespace", message, choice(given, owner.namespaces))
    elif not scheduling(site).teams and given is None:
        yield Refusal("--namespace", "nothing says where the job belongs", "write its namespace")
    elif given is not None and not re.fullmatch(DNS_LABEL_PATTERN, given):
        fix = "write at most 63 lower-case letters, digits and dashes"
        yield Refusal("--namespace", "this is no name of a namespace", fix)


def model(site: Site, request: JobRequest) -> Iterator[Refusal]:
    """The site serves the model."""
    known = site.models()
    if not known:
        fix = f"write accelerators: in sites/{site.name}.yaml"
        yield Refusal("--model", "this site serves no accelerators", fix)
    elif request.model not in known:
        resources = {site.resource(each): each for each in known}
        named = {key.rpartition("/")[2]: each for key, each in resources.items()} | resources
        fix = choice(request.model, known)
        if request.model in named:
            fix = f"write {named[request.model]}"
        yield Refusal("--model", f"there is no model {request.model} here", fix)


def servers(_site: Site, request: JobRequest) -> Iterator[Refusal]:
    """Parameter servers are where the template has them, and then at least one is."""
    if request.servers is None:
        return
    if request.template is not Template.PARAMETER_SERVER:
        fix = f"leave it out, or use the template {Template.PARAMETER_SERVER}"
        yield Refusal("--servers", f"{request.template} has no parameter servers", fix)
    elif request.servers < 1:
        yield Refusal("--servers", "a job needs at least one parameter server", "write 1 or more")


def quantities(_site: Site, request: JobRequest) -> Iterator[Refusal]:
    """Sizes are quantities, in the usual form."""
    for option, given, example in (
        ("--cpu", request.cpu, "8"),
        ("--memory", request.memory, "64Gi"),
        ("--storage", request.storage, "50Gi"),
    ):
        if given is None:
            continue
        match = QUANTITY.fullmatch(given)
        if match is None or int(match[1]) == 0:
            fix = f"write a whole number with or without a unit, such as {example}"
            yield Refusal(option, f"{given!r} is no size that a worker can have", fix)


def image(_site: Site, request: JobRequest) -> Iterator[Refusal]:
    """There is an image, and a command where the template cannot do without."""
    if not _IMAGE.fullmatch(request.image) or len(request.image) > _LONGEST_IMAGE:
        fix = "write one such as registry.example/team/train:1.0"
        yield Refusal("--image", "this is no reference of an image", fix)
    if request.template is Template.MPI and not request.command:
        fix = "write what each process runs, such as --command python train.py"
        yield Refusal("--command", "mpirun has nothing to start", fix)
    if len(request.command) > _MOST_WORDS:
        fix = "put it into a script in the image"
        yield Refusal("--command", f"the command has more than {_MOST_WORDS} words", fix)


def name(_site: Site, request: JobRequest) -> Iterator[Refusal]:
    """Names of pods and hosts, which are made of the job's, are DNS labels (Kubernetes 1.34,
    pkg/apis/batch/validation; JobSet 0.12, pkg/webhooks/jobset_webhook.go)."""
    given = request.job
    if not _NAME.fullmatch(given):
        fix = "write lower-case letters, digits and dashes, with a letter first"
        yield Refusal("--name", f"{given!r} is no name of a job", fix)
    room = _LONGEST - max(map(len, _endings(request)))
    if len(given) > room:
        longest = f"{given}{max(_endings(request), key=len)}"
        message = f"a pod would be called {longest}, {len(longest)} characters of at most 63"
        yield Refusal("--name", message, f"write at most {room} characters")


def _endings(request: JobRequest) -> list[str]:
    """What is added to the job's name: the longest for each of its parts."""
    last, last_server = max(0, request.workers - 1), max(0, request.server_count - 1)
    suffix = "-" + "x" * (_SUFFIX - 1)
    if request.template is Template.ALL_REDUCE:
        return [f"-{last}"]
    if request.template is Template.PARAMETER_SERVER:
        return [f"-{SERVER}-0-{last_server}{suffix}", f"-{WORKER}-0-{last}{suffix}"]
    found = [f"-{NODE}-0-{last}{suffix}"]
    return [*found, f"-{LAUNCHER}-0-0{suffix}"] if request.template is Template.MPI else found


def priority(site: Site, request: JobRequest) -> Iterator[Refusal]:
    """The tier is one of the site's that the team may use."""
    given, tiers = request.priority, scheduling(site).priorities
    if given is None or site.file.scheduling is None:
        return
    owner = team_of(site, request)
    names = [each.name for each in tiers]
    usual = [each.name for each in tiers if each.default]
    if given not in names:
        fix = choice(given, names) if names else "leave it out"
        yield Refusal("--priority", f"there is no tier {given}", fix)
    elif owner is not None and given not in (*owner.priorities, *usual):
        allowed = [each for each in names if each in (*owner.priorities, *usual)]
        fix = f"write one of {', '.join(allowed)}" if allowed else "leave it out"
        yield Refusal("--priority", f"{owner.name} may not use the tier {given}", fix)


def timeout(site: Site, request: JobRequest) -> Iterator[Refusal]:
    """A gang's timeout is one that its scheduler does not cut."""
    given = request.timeout
    if given is None or request.model not in site.models():
        return
    gang = gang_of(site.backend_of(request.model))
    if gang is None:
        message = f"no scheduler of {request.model} starts gangs"
        yield Refusal("--timeout", message, "leave it out")
    elif not 1 <= given <= gang.timeout_limit_seconds:
        message = f"{given} s; the scheduler takes 1 to {gang.timeout_limit_seconds} s"
        fix = f"write at most {gang.timeout_limit_seconds}, or leave it out"
        yield Refusal("--timeout", message, fix)


def rdma(site: Site, request: JobRequest) -> Iterator[Refusal]:
    """The model's hosts have RDMA; where pods use it through their host's network, no two of a job
    listen on one host."""
    if not request.rdma or request.model not in site.models():
        return
    pools = pools_of(site, request)
    if not pools:
        names = ", ".join(pool.name for pool in site.pools_with(request.model))
        fix = "leave it out, or write network_devices: in the pool"
        yield Refusal("--rdma", f"no host with {request.model} has it ({names})", fix)
        return
    if request.template not in (Template.MPI, Template.ALL_REDUCE_TRAINJOB):
        return
    setting = resolved(site, request)
    if setting.needs.host_network and not setting.whole_hosts:
        most = max(accelerators(site, pool) for pool in pools)
        message = "workers use the network of their host, where each port is there once"
        yield Refusal("--per-worker", message, f"write {most}, all of a host")


def variable(site: Site, request: JobRequest) -> Iterator[Refusal]:
    """TF_CONFIG, which names every pod, is short enough for a program to start with."""
    fits = request.template is Template.PARAMETER_SERVER and request.model in site.models()
    most = _LONGEST_VARIABLE // len(request.job or "a")
    if not fits or not pools_of(site, request) or request.workers < 1:
        return
    pods = request.workers + request.server_count
    size = most if pods > most else len(tf_config(resolved(site, request), WORKER))
    if pods > most or size + len("TF_CONFIG=") > _LONGEST_VARIABLE:
        fix = "write fewer workers with more accelerators each, or a shorter --name"
        message = f"TF_CONFIG would name {pods} pods, which is longer than a program starts with"
        yield Refusal("--workers", message, fix)


def _sized(site: Site, request: JobRequest) -> bool:
    """Whether a request says enough that its size can be judged."""
    return (
        request.workers > 0
        and per_worker_of(site, request) > 0
        and bool(pools_of(site, request))
        and not list(quantities(site, request))
    )


def workers(site: Site, request: JobRequest) -> Iterator[Refusal]:
    """There are workers with accelerators, and the site and the team have so many."""
    if request.workers < 1:
        yield Refusal("--workers", "a job needs at least one worker", "write 1 or more")
    if per_worker_of(site, request) < 1:
        fix = "write 1 or more, or leave it out for all of a host"
        yield Refusal("--per-worker", "a worker needs at least one accelerator", fix)
    if _sized(site, request):
        yield from room_of_worker(site, request)
        yield from machines(site, request)
    yield from promises(site, request)


CHECKS: tuple[Check, ...] = (
    team,
    namespace,
    model,
    workers,
    servers,
    quantities,
    image,
    name,
    priority,
    timeout,
    rdma,
    variable,
)
