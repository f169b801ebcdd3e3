"""``foresite job``: the manifests of a training job, consistent with what the site says; without a
template, what there is to choose from."""

import argparse
import json
import re
from collections.abc import Collection, Iterator

from components.making.manifest import Json
from components.training.checks import choice, refusals
from components.training.examples import documents
from components.training.made import Made, make_job
from components.training.request import JobRequest, Refusal, Template
from components.training.setting import Setting
from foresite.command import FAILED, FOUND, OK, print_report, repository, say, show
from foresite.commands.check import read_site
from schemas.facts.site import Site
from schemas.kubernetes.masking import shorten
from schemas.model.scheduling import DEFAULT_SCHEDULER

_OF_TEAM = {"namespaces", "accelerators", "off_peak", "priorities"}
_NUMBERS = ("workers", "per_worker", "servers", "timeout")
_NEEDED = {
    "model": "the accelerator model of the job",
    "workers": "the number of workers",
    "image": "the image of the workers",
}


def run(options: argparse.Namespace) -> int:
    """Print a job of one site, or why there is none; the site must be free of problems."""
    form = options.format
    site, _ = read_site(repository(options), options.site, form)
    if site.file.decommission is not None:
        _refuse(form, [Refusal("SITE", f"{site.name} is decommissioned", "choose another site")])
        return FOUND
    unread = [*_numbers(options), *(Refusal(*each) for each in getattr(options, "unknown", ()))]
    if options.template is None and not unread:
        chosen = choices(site)
        print_report(form, chosen, _as_lines(chosen), folded=False)
        return OK
    made = _make_job(site, options, unread)
    if isinstance(made, Made):
        if form == "json":
            # A List has no place for them, and kubectl is to take what is printed.
            say("\n".join(made.notes))
            listed = {"apiVersion": "v1", "kind": "List", "items": made.objects}
            show(json.dumps(listed, indent=2))
        else:
            show(documents(*made), end="")
        return OK
    _refuse(form, made)
    return FAILED if unread else FOUND


def _make_job(
    site: Site, options: argparse.Namespace, unread: list[Refusal]
) -> Made | list[Refusal]:
    """The job, or all that is wrong with the call besides what could not be read; a stand-in takes
    the place of what is missing, so that the rest is judged too."""
    templates = {each.value: each for each in Template}
    wrong = [*_missing(options, templates), *unread]
    unknown = {each.option for each in wrong}
    names = JobRequest.__dataclass_fields__.keys() - {"template", "command"}
    given = {each: getattr(options, each) for each in names if _option(each) not in unknown}
    fields = {field: value for field, value in given.items() if value is not None}
    fields |= {field: int(fields[field]) for field in _NUMBERS if field in fields}
    fields = {"model": "", "workers": 1, "image": "", **fields}
    template = templates.get(options.template, Template.ALL_REDUCE)
    setting = Setting(site, JobRequest(template=template, command=tuple(options.words), **fields))
    return [*wrong, *refusals(setting, unknown)] if wrong else make_job(setting)


def _option(field: str) -> str:
    return f"--{field.replace('_', '-')}"


def _missing(options: argparse.Namespace, templates: Collection[str]) -> Iterator[Refusal]:
    word = options.template
    if word not in templates:
        message = "it is missing" if word is None else f"there is no template {word}"
        yield Refusal("TEMPLATE", message, choice(word or "", templates))
    for field, what in _NEEDED.items():
        if getattr(options, field) is None:
            yield Refusal(_option(field), f"it is missing: {what}", f"write {_option(field)}")


def _numbers(options: argparse.Namespace) -> Iterator[Refusal]:
    for field in _NUMBERS:
        given = getattr(options, field)
        if given is not None and not re.fullmatch("-?[0-9]{1,9}", given):
            yield Refusal(_option(field), f"{shorten(given)} is no whole number", "write one")


def choices(site: Site) -> Json:
    """The choices of a site: templates, models, teams, PriorityClasses, buckets."""
    return {
        "site": site.name,
        "templates": {each.value: each.does for each in Template},
        "models": {each: _model(site, each) for each in site.models()},
        "teams": {each.name: each.model_dump(include=_OF_TEAM) for each in site.scheduling.teams},
        "priorities": [each.name for each in site.scheduling.priorities],
        "buckets": {
            each.name: {"namespaces": each.namespaces, "public": each.public, "open": each.open}
            for each in (site.file.cache.buckets if site.file.cache else ())
        },
    }


def _model(site: Site, model: str) -> Json:
    pools, backend = site.pools_with(model), site.backend_of(model)
    return {
        "resource": site.resource(model), "machines": sum(map(site.replicas, pools)),
        "each": max(map(site.devices, pools)), "by": backend.name if backend else DEFAULT_SCHEDULER,
    }  # fmt: skip


def _as_lines(found: Json) -> list[str]:
    width = max(map(len, found["templates"]))
    lines = [f"foresite job {found['site']} TEMPLATE --model M --workers N --image I …", ""]
    lines += ["Templates", *(f"  {k:{width}}  {v}" for k, v in found["templates"].items())]
    lines += ["", "Models"]
    for name, has in found["models"].items():
        machines = f"{has['machines']} machines with {has['each']} each"
        lines.append(f"  {name}  {machines}, resource {has['resource']}, started by {has['by']}")
    if not found["models"]:
        lines.append(f"  none: write accelerators: in sites/{found['site']}.yaml")
    if found["teams"]:
        lines += ["", "Teams"]
    for name, has in found["teams"].items():
        usual = [f"{count} {model}" for model, count in has["accelerators"].items()]
        later = [f"{count} {model} off-peak" for model, count in has["off_peak"].items()]
        guaranteed = ", ".join([*usual, *later]) or "no accelerators"
        lines.append(f"  {name}  {guaranteed}; in {', '.join(has['namespaces'])}")
    if found["priorities"]:
        lines += ["", f"PriorityClasses: {', '.join(found['priorities'])}"]
    if found["buckets"]:
        lines += ["", "Buckets of the cache"]
    for name, has in found["buckets"].items():
        inside = f"pods of {', '.join(has['namespaces']) or 'nobody'}"
        may = "may write it; anybody may read it" if has["public"] else "may read and write it"
        lines.append(f"  {name}  {'every pod' if has['open'] else inside} {may}")
    return lines


def _refuse(form: str, refused: list[Refusal]) -> None:
    problems = {"problems": [each._asdict() for each in refused]}
    print_report(form, problems, ["\n\n".join(map(str, refused))])
