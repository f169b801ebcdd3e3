"""The refusals of a job, all at once: requests that the site could not run, or would hold for ever.
Each check looks at one thing, and says nothing where what it needs is faulty itself."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator

from components.training import racks
from components.training.collectives import contradictions
from components.training.fitting import guarantees, machines, room_of_worker
from components.training.jobset import SERVER, WORKER, tf_config
from components.training.mpi import LAUNCHER
from components.training.request import JobRequest, Refusal, Template, refusal
from components.training.setting import Setting
from components.training.trainjob import NODE
from schemas.kubernetes.forms import DIGEST, HOST, PORT, REPOSITORY, TAG
from schemas.kubernetes.quantities import SITE_FORM, quantity
from schemas.model.primitives import DNS_LABEL_PATTERN
from schemas.model.texts import nearest

Check = Callable[[Setting], Iterable[Refusal]]
_NAME = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_IMAGE = re.compile(rf"({HOST}(:{PORT})?/)?{REPOSITORY}(:{TAG})?(@{DIGEST})?")
_LONGEST, _LONGEST_IMAGE, _MOST_WORDS = 63, 500, 100
_SUFFIX = len("-abcde")
_LONGEST_VARIABLE = 131_071
"""Bytes of a variable and its name that Linux lets a program start with (MAX_ARG_STRLEN)."""


def refusals(job: Setting, unknown: Collection[str] = ()) -> list[Refusal]:
    """Everything that is wrong with a request; none where it can be written. What rests on an
    ``unknown`` option, for which the request has a stand-in, is not looked at."""
    known = (check for check, rests_on in CHECKS.items() if not rests_on & {*unknown})
    return [each for check in known for each in check(job)]


def choice(word: str, known: Iterable[str]) -> str:
    """The advice on what to write instead of an unknown word."""
    near = nearest(word, names := list(known))
    return f"write {near}" if near else f"write one of {', '.join(names)}"


def team(job: Setting) -> Iterator[Refusal]:
    """Each job of a site with teams is one team's."""
    request, names = job.request, [each.name for each in job.site.scheduling.teams]
    if request.team is None and names:
        yield refusal("no_team", names=", ".join(names))
    elif request.team is not None and not names:
        yield refusal("no_teams")
    elif request.team is not None and request.team not in names:
        yield refusal("unknown_team", team=request.team, fix=choice(request.team, names))


def namespace(job: Setting) -> Iterator[Refusal]:
    """A job is in a namespace of its team; without teams it says in which."""
    given, owner = job.request.namespace, job.team
    if owner is not None and given is not None and given not in owner.namespaces:
        fix = choice(given, owner.namespaces)
        yield refusal("namespace_of_others", given=given, team=owner.name, fix=fix)
    elif not job.site.scheduling.teams and given is None:
        yield refusal("no_namespace")
    elif given is not None and not re.fullmatch(DNS_LABEL_PATTERN, given):
        yield refusal("name_of_namespace")


def model(job: Setting) -> Iterator[Refusal]:
    """The site serves the model."""
    request, site, known = job.request, job.site, job.site.models()
    if not known:
        yield refusal("no_accelerators", site=site.name)
    elif not job.is_served:
        resources = {site.resource(each): each for each in known}
        named = {key.rpartition("/")[2]: each for key, each in resources.items()} | resources
        mine = named.get(request.model)
        fix = f"write {mine}" if mine else choice(request.model, known)
        yield refusal("no_model", model=request.model, fix=fix)


def servers(job: Setting) -> Iterator[Refusal]:
    """Parameter servers are where the template has them, and then at least one is."""
    request = job.request
    if request.servers is None:
        return
    if request.template is not Template.PARAMETER_SERVER:
        yield refusal("no_servers", template=request.template, other=Template.PARAMETER_SERVER)
    elif request.servers < 1:
        yield refusal("too_few_servers")


def quantities(job: Setting) -> Iterator[Refusal]:
    """Sizes are quantities, in the usual form."""
    for name, example in (("cpu", "8"), ("memory", "64Gi"), ("storage", "50Gi")):
        given = getattr(job.request, name)
        if given is not None and not (re.fullmatch(SITE_FORM, given) and quantity(given)):
            yield refusal("no_size", option=f"--{name}", given=repr(given), example=example)


def image(job: Setting) -> Iterator[Refusal]:
    """The image is one that a registry can serve."""
    request = job.request
    if not _IMAGE.fullmatch(request.image) or len(request.image) > _LONGEST_IMAGE:
        yield _image_fault(request.image)


def command(job: Setting) -> Iterator[Refusal]:
    """There is a command where the template cannot do without, and not too long a one."""
    request = job.request
    if request.template is Template.MPI and not request.command:
        yield refusal("no_command")
    if len(request.command) > _MOST_WORDS:
        yield refusal("long_command", most=_MOST_WORDS)


def _image_fault(reference: str) -> Refusal:
    """Why containerd would not pull an image; the reference may hold a password."""
    name, at, digest = reference.partition("@")
    path, slash, last = name.rpartition("/")
    own, colon, tag = last.partition(":")
    small = f"{path}{slash}{own}".lower() + colon + tag + at + digest
    if at and not re.fullmatch(DIGEST, digest):
        return refusal("no_digest")
    if small != reference and _IMAGE.fullmatch(small):
        return refusal("capital_letters", small=small)
    return refusal("no_image")


def name(job: Setting) -> Iterator[Refusal]:
    """Names of pods and hosts, which are made of the job's, are DNS labels (Kubernetes 1.34,
    pkg/apis/batch/validation; JobSet 0.12, pkg/webhooks/jobset_webhook.go)."""
    if not _NAME.fullmatch(job.name):
        yield refusal("no_name", given=repr(job.name))


def length_of_name(job: Setting) -> Iterator[Refusal]:
    """The longest name of a pod has at most 63 characters."""
    request, given = job.request, job.name
    room = _LONGEST - max(map(len, _endings(request)))
    if len(given) > room:
        longest = f"{given}{max(_endings(request), key=len)}"
        yield refusal("long_name", longest=longest, number=len(longest), room=room)


def _endings(request: JobRequest) -> list[str]:
    """The endings that are added to the job's name: the longest for each of its parts."""
    last, last_server = max(0, request.workers - 1), max(0, request.server_count - 1)
    suffix = "-" + "x" * (_SUFFIX - 1)
    if request.template is Template.ALL_REDUCE:
        return [f"-{last}"]
    if request.template is Template.PARAMETER_SERVER:
        return [f"-{SERVER}-0-{last_server}{suffix}", f"-{WORKER}-0-{last}{suffix}"]
    found = [f"-{NODE}-0-{last}{suffix}"]
    return [*found, f"-{LAUNCHER}-0-0{suffix}"] if request.template is Template.MPI else found


def priority(job: Setting) -> Iterator[Refusal]:
    """The PriorityClass is one of the site's that the team may use."""
    given, priorities, owner = job.request.priority, job.site.scheduling.priorities, job.team
    if given is None or job.site.file.scheduling is None:
        return
    names = [each.name for each in priorities]
    usual = [each.name for each in priorities if each.default]
    if given not in names:
        fix = choice(given, names) if names else "leave it out"
        yield refusal("no_priority", given=given, fix=fix)
    elif owner is not None and given not in (*owner.priorities, *usual):
        allowed = [each for each in names if each in (*owner.priorities, *usual)]
        fix = f"write one of {', '.join(allowed)}" if allowed else "leave it out"
        yield refusal("priority_of_others", team=owner.name, given=given, fix=fix)


def timeout(job: Setting) -> Iterator[Refusal]:
    """A gang's timeout is one that its scheduler does not cut."""
    given = job.request.timeout
    if given is None or not job.is_served:
        return
    if job.gang is None:
        yield refusal("no_gangs", model=job.request.model)
    elif not 1 <= given <= job.gang.timeout_limit_seconds:
        yield refusal("long_timeout", given=given, most=job.gang.timeout_limit_seconds)


def rdma(job: Setting) -> Iterator[Refusal]:
    """The model's hosts have RDMA; with the host's network no two pods of a job listen on one."""
    request = job.request
    if not request.rdma or not job.is_served:
        return
    if not job.pools:
        names = ", ".join(pool.name for pool in job.with_model)
        yield refusal("no_rdma", model=request.model, names=names)
        return
    fixed = request.template in (Template.MPI, Template.ALL_REDUCE_TRAINJOB)
    shared = any(2 * job.per_worker <= each.accelerators for each in job.rooms)
    if fixed and shared and job.needs.host_network:
        yield refusal("shared_ports", most=job.most)


def cache(job: Setting) -> Iterator[Refusal]:
    """The site's cache has the bucket, and pods of the namespace may use it."""
    here, given, bucket = job.site.file.cache, job.request.cache, job.bucket
    if given is None:
        return
    if here is None:
        yield refusal("no_cache", site=job.site.name)
    elif bucket is None:
        fix = choice(given, [each.name for each in here.buckets])
        yield refusal("no_bucket", given=given, fix=fix)
    elif not (bucket.public or job.writes or any([*team(job), *namespace(job)])):
        mine = [each.name for each in here.for_data() if each.readable_by(job.namespace)]
        other = f"write one of {', '.join(mine)}" if mine else "leave it out"
        yield refusal("bucket_of_others", namespace=job.namespace, given=given, other=other)


def variable(job: Setting) -> Iterator[Refusal]:
    """TF_CONFIG, which names every pod, is short enough for a program to start with."""
    request, most = job.request, _LONGEST_VARIABLE // len(job.name or "a")
    if request.template is not Template.PARAMETER_SERVER or request.workers < 1 or not job.pools:
        return
    pods = request.workers + request.server_count
    if pods > most or len(f"TF_CONFIG={tf_config(job, WORKER)}") > _LONGEST_VARIABLE:
        yield refusal("long_variable", pods=pods)


def rack(job: Setting) -> Iterator[Refusal]:
    """Workers that must be in one rack fit into one."""
    if job.pools and not any([*counts(job), *quantities(job)]) and not any(room_of_worker(job)):
        yield from racks.faults(job)


def counts(job: Setting) -> Iterator[Refusal]:
    """There are workers, with accelerators."""
    if job.request.workers < 1:
        yield refusal("no_workers")
    if job.per_worker < 1:
        yield refusal("none_per_worker")


def workers(job: Setting) -> Iterator[Refusal]:
    """The site and the team have so many accelerators."""
    if not any([*counts(job), *quantities(job)]) and job.pools:
        too_large = list(room_of_worker(job))
        # Where a worker fits on no host more machines are no help.
        yield from too_large or machines(job)
    yield from guarantees(job)


_SIZE = frozenset({"--model", "--workers", "--per-worker", "--servers", "TEMPLATE"})
CHECKS: dict[Check, frozenset[str]] = {
    team: frozenset(),
    namespace: frozenset(),
    model: frozenset({"--model"}),
    counts: frozenset(),
    workers: _SIZE,
    servers: frozenset({"TEMPLATE", "--servers"}),
    quantities: frozenset(),
    image: frozenset({"--image"}),
    command: frozenset({"TEMPLATE"}),
    name: frozenset(),
    length_of_name: frozenset({"TEMPLATE", "--workers", "--servers"}),
    priority: frozenset(),
    timeout: frozenset({"--model", "--timeout"}),
    rdma: frozenset({"--model", "--per-worker", "TEMPLATE"}),
    cache: frozenset(),
    contradictions: frozenset({"--model", "TEMPLATE"}),
    variable: _SIZE,
    rack: _SIZE,
}
"""Each check with the options that it rests on and that may be missing, or be no numbers."""
