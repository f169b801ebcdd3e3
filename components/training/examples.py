"""Ready examples in every namespace of a team: what a researcher gets by kubectl alone.

    kubectl get configmap job-templates -o go-template='{{index .data "all-reduce.v100.yaml"}}'

One for each template and model that the team is guaranteed: two workers where the guarantee allows
it, with RDMA where the model's hosts have it, and with the cache where the team has a bucket.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product

from components.making.dump import dump_all
from components.making.manifest import Json, Manifest, config_map, labels
from components.making.told import Told
from components.training import racks
from components.training.fitting import has_users, largest_guarantee
from components.training.made import Made, make_job
from components.training.request import JobRequest, Template
from components.training.setting import Setting
from schemas.facts.site import Site
from schemas.model.scheduling import Team
from schemas.model.vocabulary import BackendKind

COMPONENT = "training"
NAME = "job-templates"
IMAGE = "registry.example/train:1"
MOST_BYTES = 900_000
"""Of one ConfigMap's texts: the API server takes 1 MiB in all (Kubernetes 1.34, MaxSecretSize)."""
COMMANDS = {Template.MPI: ("python", "train.py"), Template.PARAMETER_SERVER: ("python", "train.py")}
WORKERS = 2
TOLD = Told(__file__)


def examples(site: Site) -> list[Manifest]:
    """The ConfigMaps of all namespaces of teams."""
    models = {model: _settings(site, model) for model in site.models() if has_users(site, model)}
    return [
        made
        for team in site.scheduling.teams
        for namespace in team.namespaces
        for made in _config_maps(site, namespace, dict(_texts(models, team, namespace)))
    ]


def _settings(site: Site, model: str) -> list[Setting]:
    """The settings that examples of a model vary, with RDMA first."""
    request = JobRequest(Template.ALL_REDUCE, model, WORKERS, IMAGE)
    return [Setting(site, replace(request, rdma=rdma)) for rdma in (True, False)]


def _config_maps(site: Site, namespace: str, texts: dict[str, str]) -> Iterator[Manifest]:
    """As many as it takes for none to be too large; one for what a site has in practice."""
    for number, part in enumerate(_parts(texts), start=1):
        name = NAME if number == 1 else f"{NAME}-{number}"
        own = {"name": name, "namespace": namespace, "labels": labels(site.name, COMPONENT)}
        yield config_map(f"{namespace}/{name}", own, part)


def _parts(texts: dict[str, str]) -> Iterator[dict[str, str]]:
    part: dict[str, str] = {}
    size = 0
    for key, text in texts.items():
        more = len(key) + len(text.encode())
        if part and size + more > MOST_BYTES:
            yield part
            part, size = {}, 0
        part[key], size = text, size + more
    if part:
        yield part


def _texts(
    models: Mapping[str, list[Setting]], team: Team, namespace: str
) -> Iterator[tuple[str, str]]:
    for model, settings in models.items():
        if not largest_guarantee(team, model):
            continue
        for template in Template:
            if found := _example(settings, team, namespace, template):
                setting, made = found
                yield f"{template}.{model}.yaml", header(setting, made) + dump_all(made.objects)


def _example(
    settings: list[Setting], team: Team, namespace: str, template: Template
) -> tuple[Setting, Made] | None:
    """An example that the site can run: the largest workers of which two may run, or else one; None
    where the site has no machine for the smallest."""
    for here in settings:
        for workers, per_worker in product((WORKERS, 1), range(here.most, 0, -1)):
            varied = here.vary(
                template=template,
                workers=workers,
                per_worker=per_worker,
                team=team.name,
                namespace=namespace,
                cache=bucket_of(here.site, namespace),
                command=COMMANDS.get(template, ("torchrun", "train.py")),
            )
            found = make_job(varied)
            if isinstance(found, Made):
                return varied, found
    return None


def bucket_of(site: Site, namespace: str) -> str | None:
    """The bucket that jobs use: the first that may be written, with own ones before public ones."""
    cache = site.file.cache
    if cache is None:
        return None
    mine = [each for each in cache.for_data() if namespace in each.namespaces]
    return next((each.name for each in sorted(mine, key=lambda each: each.public)), None)


def header(setting: Setting, made: Made) -> str:
    """Comments on top of an example: what it is, and what is changed together."""
    request = setting.request
    backend = setting.backend
    said = TOLD.table(request.template.value)
    counts, names = [said["counts"]], [each for each in (said["names"],) if each]
    if setting.gang is not None:
        counts.append(f"{setting.gang.annotation_prefix}-size")
        names.append(f"{setting.gang.annotation_prefix}-name")
    elif backend is not None and backend.kind is BackendKind.VOLCANO:
        counts.append("minMember")
        names.append("the PodGroup's, scheduling.k8s.io/group-name")
    if racks.affinity(setting):
        names.append("the label in podAffinity")
    options = f"--team {request.team} --model {request.model} --workers N --image IMAGE"
    options += f" --cache {request.cache}" if request.cache else ""
    values = {
        "command": f"{setting.site.name} {request.template} {options}",
        # The word in the list of the command that stands before the program's own.
        "before": "mpirun" if request.template is Template.MPI else "job",
        "counts": ", ".join(counts),
        "devices": f"{setting.resource} in requests and limits{said['devices']}",
        "names": "".join(f", {each}" for each in names),
    }
    lines = [*made.notes, *TOLD.table("header", **values)["lines"]]
    return "".join(f"# {line}\n" for line in lines)


def documents(objects: list[Json], notes: list[str]) -> str:
    """A job as YAML, with its notes on top."""
    return "".join(f"# {note}\n" for note in notes) + dump_all(objects)
