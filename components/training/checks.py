"""The refusals of a job, all at once: requests that the site could not run, or would hold for ever.

Each check looks at one thing, and says nothing where what it needs is faulty itself.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator

from components.training import racks
from components.training.collectives import contradictions
from components.training.fitting import guarantees, machines, room_of_worker
from components.training.jobset import SERVER, WORKER, tf_config
from components.training.mpi import LAUNCHER
from components.training.request import JobRequest, Refusal, Template
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
    return [refusal for check in known for refusal in check(job)]


def choice(word: str, known: Iterable[str]) -> str:
    """The advice on what to write instead of an unknown word."""
    near = nearest(word, names := list(known))
    return f"write {near}" if near else f"write one of {', '.join(names)}"


def team(job: Setting) -> Iterator[Refusal]:
    """Each job of a site with teams is one team's."""
    request, names = job.request, [each.name for each in job.site.scheduling.teams]
    if request.team is None and names:
        fix = f"write the team that it is of: {', '.join(names)}"
        yield Refusal("--team", "jobs of this site belong to teams", fix)
    elif request.team is not None and not names:
        fix = "leave it out, and write --namespace"
        yield Refusal("--team", "this site has no teams", fix)
    elif request.team is not None and request.team not in names:
        yield Refusal("--team", f"there is no team {request.team}", choice(request.team, names))


def namespace(job: Setting) -> Iterator[Refusal]:
    """A job is in a namespace of its team; without teams it says in which."""
    given, owner = job.request.namespace, job.team
    if owner is not None and given is not None and given not in owner.namespaces:
        message = f"{given} is no namespace of {owner.name}"
        yield Refusal("--namespace", message, choice(given, owner.namespaces))
    elif not job.site.scheduling.teams and given is None:
        yield Refusal("--namespace", "the job has no namespace", "write its namespace")
    elif given is not None and not re.fullmatch(DNS_LABEL_PATTERN, given):
        fix = "write at most 63 lower-case letters, digits and dashes"
        yield Refusal("--namespace", "this is no name of a namespace", fix)


def model(job: Setting) -> Iterator[Refusal]:
    """The site serves the model."""
    request, site, known = job.request, job.site, job.site.models()
    if not known:
        fix = f"write accelerators: in sites/{site.name}.yaml"
        yield Refusal("--model", "this site serves no accelerators", fix)
    elif not job.is_served:
        resources = {site.resource(each): each for each in known}
        named = {key.rpartition("/")[2]: each for key, each in resources.items()} | resources
        fix = choice(request.model, known)
        if request.model in named:
            fix = f"write {named[request.model]}"
        yield Refusal("--model", f"there is no model {request.model} here", fix)


def servers(job: Setting) -> Iterator[Refusal]:
    """Parameter servers are where the template has them, and then at least one is."""
    request = job.request
    if request.servers is None:
        return
    if request.template is not Template.PARAMETER_SERVER:
        fix = f"leave it out, or use the template {Template.PARAMETER_SERVER}"
        yield Refusal("--servers", f"{request.template} has no parameter servers", fix)
    elif request.servers < 1:
        yield Refusal("--servers", "a job needs at least one parameter server", "write 1 or more")


def quantities(job: Setting) -> Iterator[Refusal]:
    """Sizes are quantities, in the usual form."""
    for option, given, example in (
        ("--cpu", job.request.cpu, "8"),
        ("--memory", job.request.memory, "64Gi"),
        ("--storage", job.request.storage, "50Gi"),
    ):
        if given is None:
            continue
        if not re.fullmatch(SITE_FORM, given) or not quantity(given):
            fix = f"write a whole number with or without a unit, such as {example}"
            yield Refusal(option, f"{given!r} is no size that a worker can have", fix)


def image(job: Setting) -> Iterator[Refusal]:
    """The image is one that a registry can serve."""
    request = job.request
    if not _IMAGE.fullmatch(request.image) or len(request.image) > _LONGEST_IMAGE:
        yield _image_fault(request.image)


def command(job: Setting) -> Iterator[Refusal]:
    """There is a command where the template cannot do without, and not too long a one."""
    request = job.request
    if request.template is Template.MPI and not request.command:
        fix = "write what each process runs, such as --command python train.py"
        yield Refusal("--command", "mpirun has nothing to start", fix)
    if len(request.command) > _MOST_WORDS:
        fix = "put it into a script in the image"
        yield Refusal("--command", f"the command has more than {_MOST_WORDS} words", fix)


def _image_fault(reference: str) -> Refusal:
    """Why containerd would not pull an image; the reference may hold a password."""
    name, at, digest = reference.partition("@")
    path, slash, last = name.rpartition("/")
    own, colon, tag = last.partition(":")
    small = f"{path}{slash}{own}".lower() + colon + tag + at + digest
    if at and not re.fullmatch(DIGEST, digest):
        message = "what stands at the @ is no digest, and may be a user or a password"
        fix = "leave it out: nodes pull by an imagePullSecret of the namespace"
    elif small != reference and _IMAGE.fullmatch(small):
        message, fix = "the name of an image has no capital letters", f"write {small}"
    else:
        message = "this is no reference of an image"
        fix = "write one such as registry.example/team/train:1.0"
    return Refusal("--image", message, fix)


def name(job: Setting) -> Iterator[Refusal]:
    """Names of pods and hosts, which are made of the job's, are DNS labels (Kubernetes 1.34,
    pkg/apis/batch/validation; JobSet 0.12, pkg/webhooks/jobset_webhook.go)."""
    given = job.name
    if not _NAME.fullmatch(given):
        fix = "write lower-case letters, digits and dashes, with a letter first"
        yield Refusal("--name", f"{given!r} is no name of a job", fix)


def length_of_name(job: Setting) -> Iterator[Refusal]:
    """The longest name of a pod has at most 63 characters."""
    request, given = job.request, job.name
    room = _LONGEST - max(map(len, _endings(request)))
    if len(given) > room:
        longest = f"{given}{max(_endings(request), key=len)}"
        message = f"a pod would be called {longest}, {len(longest)} characters of at most 63"
        yield Refusal("--name", message, f"write at most {room} characters")


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
        yield Refusal("--priority", f"there is no PriorityClass {given}", fix)
    elif owner is not None and given not in (*owner.priorities, *usual):
        allowed = [each for each in names if each in (*owner.priorities, *usual)]
        fix = f"write one of {', '.join(allowed)}" if allowed else "leave it out"
        yield Refusal("--priority", f"{owner.name} may not use the PriorityClass {given}", fix)


def timeout(job: Setting) -> Iterator[Refusal]:
    """A gang's timeout is one that its scheduler does not cut."""
    given = job.request.timeout
    if given is None or not job.is_served:
        return
    if job.gang is None:
        message = f"no scheduler of {job.request.model} starts gangs"
        yield Refusal("--timeout", message, "leave it out")
    elif not 1 <= given <= job.gang.timeout_limit_seconds:
        message = f"{given} s; the scheduler takes 1 to {job.gang.timeout_limit_seconds} s"
        fix = f"write at most {job.gang.timeout_limit_seconds}, or leave it out"
        yield Refusal("--timeout", message, fix)


def rdma(job: Setting) -> Iterator[Refusal]:
    """The model's hosts have RDMA; where pods use it through their host's network, no two of a job
    listen on one host."""
    request = job.request
    if not request.rdma or not job.is_served:
        return
    if not job.pools:
        names = ", ".join(pool.name for pool in job.with_model)
        fix = "leave it out, or write network_devices: in the pool"
        yield Refusal("--rdma", f"no host with {request.model} has it ({names})", fix)
        return
    fixed = request.template in (Template.MPI, Template.ALL_REDUCE_TRAINJOB)
    if fixed and job.needs.host_network and not job.whole_hosts:
        message = "workers use the network of their host, where each port is there once"
        yield Refusal("--per-worker", message, f"write {job.most}, all of a host")


def cache(job: Setting) -> Iterator[Refusal]:
    """The site's cache has the bucket, and pods of the namespace may use it."""
    here, given, bucket = job.site.file.cache, job.request.cache, job.bucket
    if given is None:
        return
    if here is None:
        fix = f"leave it out, or write cache: in sites/{job.site.name}.yaml"
        yield Refusal("--cache", "this site has no cache", fix)
    elif bucket is None:
        fix = choice(given, [each.name for each in here.buckets])
        yield Refusal("--cache", f"there is no bucket {given}", fix)
    elif not (bucket.public or job.writes or any([*team(job), *namespace(job)])):
        mine = [each.name for each in here.for_data() if each.readable_by(job.namespace)]
        fix = f"write one of {', '.join(mine)}, or" if mine else "leave it out, or"
        fix += f" have {job.namespace} written in namespaces: of the bucket"
        message = f"pods of {job.namespace} may not use the bucket {given}"
        yield Refusal("--cache", message, fix)


def variable(job: Setting) -> Iterator[Refusal]:
    """TF_CONFIG, which names every pod, is short enough for a program to start with."""
    request, most = job.request, _LONGEST_VARIABLE // len(job.name or "a")
    if request.template is not Template.PARAMETER_SERVER or request.workers < 1 or not job.pools:
        return
    pods = request.workers + request.server_count
    if pods > most or len(f"TF_CONFIG={tf_config(job, WORKER)}") > _LONGEST_VARIABLE:
        fix = "write fewer workers with more accelerators each, or a shorter --name"
        message = f"TF_CONFIG would name {pods} pods, which is longer than a program starts with"
        yield Refusal("--workers", message, fix)


def rack(job: Setting) -> Iterator[Refusal]:
    """Workers that must be in one rack fit into one."""
    if job.pools and not any([*counts(job), *quantities(job)]) and not any(room_of_worker(job)):
        yield from racks.faults(job)


def counts(job: Setting) -> Iterator[Refusal]:
    """There are workers, with accelerators."""
    if job.request.workers < 1:
        yield Refusal("--workers", "a job needs at least one worker", "write 1 or more")
    if job.per_worker < 1:
        fix = "write 1 or more, or leave it out for all of a host"
        yield Refusal("--per-worker", "a worker needs at least one accelerator", fix)


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
