"""Rules on accelerators: every device has a record and its programs an image, every resource one
meaning. How devices get to pods is judged in accelerators_requests.py."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from schemas.facts.feature_gates import uses_gpu_operator
from schemas.facts.site import Site
from schemas.kubernetes.extended_resources import reserved_domain_reason
from schemas.model.accelerators import AcceleratorModel, AcceleratorSettings, Program
from schemas.model.site_file import SiteFile
from schemas.model.texts import nearest
from schemas.reading.paths import each_at
from schemas.rules.finding import Finding, Path, say

OPERATOR_IMAGE = "nvidia-gpu-operator"
OPERATOR: Path = ("accelerators", "gpu_operator")
_PREFIXES = {
    "accelerators.prefix": "accelerator-prefix-reserved",
    "network_devices.prefix": "sriov-prefix-reserved",
}


class Served(NamedTuple):
    """A model that the site has and that is known, where a pool of it is, and its record."""

    model: str
    place: Path
    record: AcceleratorModel


def own_models(file: SiteFile, catalogue: Mapping[str, AcceleratorModel]) -> Iterator[Finding]:
    """A site's own accelerator models are named apart from the catalogue's."""
    for name in file.accelerators.models if file.accelerators else ():
        if name in catalogue:
            yield say("accelerator-model-in-catalogue", ("accelerators", "models", name), name)


def model_records(site: Site, _: AcceleratorSettings) -> Iterator[Finding]:
    """Every accelerator model of the site has a record, in the catalogue or in the site's file."""
    for model, place in _places(site).items():
        if model in site.accelerators:
            continue
        near = nearest(model, sorted(site.accelerators)) if place[0] == "hardware" else None
        missing = f"add {model} under accelerators.models"
        advice = f"write {near}, or {missing}" if near else missing
        yield say("accelerator-model-of-hosts-unknown", place, model, advice)


def domains(site: Site) -> Iterator[Finding]:
    """The site's resources have no domain of Kubernetes' own, nor one that quotas are written with;
    kubelets accept each resource that programs advertise."""
    for place, domain in each_at(site.file, *_PREFIXES):
        if kept := reserved_domain_reason(domain):
            yield say(_PREFIXES[".".join(map(str, place))], place, kept)
    for place, resource in each_at(site.file, "accelerators.models.*.plugin.resource"):
        if reserved_domain_reason(resource.partition("/")[0]):
            yield say("plugin-resource-reserved", place, resource)


def resources(site: Site, settings: AcceleratorSettings) -> Iterator[Finding]:
    """No resource means two things: two models, or a model and what another's plugin makes."""
    served = served_models(site)
    meaning = {e.record.plugin.resource: f"the plugin of {e.model}" for e in served}
    taken: dict[str, str] = {}
    for each in served_models(site):
        mine = site.resource(each.model)
        own = mine == each.record.plugin.resource
        other = taken.get(mine) or (None if own else meaning.get(mine))
        if other:
            place, key = _name_place(settings, each)
            yield say("accelerator-resource-taken", place, mine, each, other, key=key)
        taken.setdefault(mine, each.model)


def images(site: Site, settings: AcceleratorSettings) -> Iterator[Finding]:
    """It is known which program makes the devices a resource, and which one watches them."""
    there = site.images
    for each in served_models(site):
        if uses_gpu_operator(site, each.model):
            continue
        plugged = not site.uses_dra(each.model)
        programs: list[tuple[str, str, Program | None]] = [
            ("plugin", "device-plugin", each.record.plugin if plugged else None),
            ("exporter", "exporter", each.record.exporter),
        ]
        for field, part, program in programs:
            name = f"{each.record.vendor}-{part}"
            if program and program.image is None and name not in there:
                own = each.model in settings.models
                row = "accelerator-image-of-site-missing" if own else "accelerator-image-missing"
                place = ("accelerators", "models", each.model, field) if own else each.place
                yield say(row, place, field, each, name)
    if settings.gpu_operator and OPERATOR_IMAGE not in there and operated_models(site):
        yield say("gpu-operator-image-missing", OPERATOR, site, OPERATOR_IMAGE)


def _places(site: Site) -> dict[str, Path]:
    """The models of the site's hosts, each with the place that says so first."""
    found: dict[str, Path] = {}
    for index, pool in enumerate(site.file.pools):
        model = site.model(pool)
        if model and pool.hardware in site.file.hardware:
            found.setdefault(model, ("hardware", pool.hardware, "accelerators", "model"))
        elif model:
            found.setdefault(model, ("pools", index, "hardware"))
    return found


def served_models(site: Site) -> list[Served]:
    """The models that the site has and that are known."""
    known = ((model, at) for model, at in _places(site).items() if model in site.accelerators)
    return [Served(model, at, site.accelerators[model]) for model, at in known]


def all_known(site: Site) -> bool:
    """True if every model of the site's hosts is known: without, little follows."""
    return all(model in site.accelerators for model in _places(site))


def operated_models(site: Site) -> list[Served]:
    """The models that the GPU operator serves."""
    return [each for each in served_models(site) if uses_gpu_operator(site, each.model)]


def _name_place(settings: AcceleratorSettings, each: Served) -> tuple[Path, bool]:
    """The place that names a model: an entry of names, its own key, or the pool that has it."""
    if each.model in settings.names:
        return ("accelerators", "names", each.model), False
    if each.model in settings.models:
        return ("accelerators", "models", each.model), True
    return each.place, False
