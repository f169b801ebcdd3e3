"""``foresite job``: the manifests of a training job, consistent with what the site says.

Without a template it says what there is to choose from.
"""

import argparse
import json
import sys

from components.making.manifest import Json
from components.training.examples import documents
from components.training.made import Made, make
from components.training.request import JobRequest, Refusal, Template
from foresite.command import FOUND, OK, repository
from foresite.commands.check import as_json, as_text
from schemas.facts.site import Site
from schemas.load import load_site
from schemas.model.nearest import nearest
from schemas.model.scheduling import DEFAULT_SCHEDULER


def run(options: argparse.Namespace) -> int:
    """Print a job of one site, or why there is none; the site must be free of problems."""
    loaded = load_site(repository(options), options.site)
    form = options.format
    if loaded.site is None:
        show = as_json if form == "json" else as_text
        print(show({loaded.name: loaded}, list(loaded.problems)))
        return FOUND
    if loaded.site.file.decommission is not None:
        refused = [Refusal("SITE", f"{loaded.site.name} is decommissioned", "choose another site")]
        print(_as_problems(refused) if form == "json" else str(refused[0]))
        return FOUND
    if options.template is None:
        chosen = choices(loaded.site)
        print(json.dumps(chosen, indent=2) if form == "json" else _as_lines(chosen))
        return OK
    made = _make_job(loaded.site, options)
    if isinstance(made, Made):
        if form == "json":
            # A List has no place for them, and kubectl is to take what is printed.
            print(*made.notes, sep="\n", file=sys.stderr)
            print(_as_list(made), end="")
        else:
            print(documents(*made), end="")
        return OK
    print(_as_problems(made) if form == "json" else "\n\n".join(map(str, made)))
    return FOUND


def _make_job(site: Site, options: argparse.Namespace) -> Made | list[Refusal]:
    templates = {each.value: each for each in Template}
    missing = [
        Refusal(option, f"{option} is missing: {what}", f"write {option}")
        for option, given, what in (
            ("--model", options.model, "the accelerator model of the job"),
            ("--workers", options.workers, "the number of workers"),
            ("--image", options.image, "the image of the workers"),
        )
        if given is None
    ]
    template = templates.get(options.template)
    if template is None:
        near = nearest(options.template, templates)
        fix = f"write {near}" if near else f"write one of {', '.join(templates)}"
        missing.insert(0, Refusal("TEMPLATE", f"there is no template {options.template}", fix))
    if missing or template is None:
        return missing
    fields = {
        field: getattr(options, field)
        for field in JobRequest.__dataclass_fields__
        if field not in ("template", "command")
    }
    return make(site, JobRequest(template=template, command=tuple(options.words), **fields))


def choices(site: Site) -> Json:
    """The choices of a site: templates, models, teams, PriorityClasses, buckets."""
    teams = site.scheduling.teams
    return {
        "site": site.name,
        "templates": {each.value: each.does for each in Template},
        "models": {each: _model(site, each) for each in site.models()},
        "teams": {
            each.name: {
                "namespaces": list(each.namespaces),
                "accelerators": dict(each.accelerators),
                "off_peak": dict(each.off_peak),
                "priorities": list(each.priorities),
            }
            for each in teams
        },
        "priorities": [each.name for each in site.scheduling.priorities],
        "buckets": {
            each.name: {
                "namespaces": list(each.namespaces),
                "public": each.public,
                "open": each.open,
            }
            for each in (site.file.cache.buckets if site.file.cache else ())
        },
    }


def _model(site: Site, model: str) -> Json:
    pools, backend = site.pools_with(model), site.backend_of(model)
    counts = [(site.replicas(each), site.profile(each).accelerators) for each in pools]
    return {
        "resource": site.resource(model),
        "machines": sum(machines for machines, _ in counts),
        "each": max(has.count for _, has in counts if has),
        "by": backend.name if backend else DEFAULT_SCHEDULER,
    }


def _as_lines(found: Json) -> str:
    width = max(map(len, found["templates"]))
    lines = [f"foresite job {found['site']} TEMPLATE --model M --workers N --image I …", ""]
    lines += ["Templates", *(f"  {k:{width}}  {v}" for k, v in found["templates"].items())]
    lines += ["", "Models", *(_model_line(k, v) for k, v in found["models"].items())]
    if not found["models"]:
        lines.append(f"  none: write accelerators: in sites/{found['site']}.yaml")
    if found["teams"]:
        lines += ["", "Teams", *(_team_line(k, v) for k, v in found["teams"].items())]
    if found["priorities"]:
        lines += ["", f"PriorityClasses: {', '.join(found['priorities'])}"]
    if found["buckets"]:
        lines += ["", "Buckets of the cache"]
        lines += [_bucket_line(k, v) for k, v in found["buckets"].items()]
    return "\n".join(lines)


def _model_line(name: str, has: Json) -> str:
    machines = f"{has['machines']} machines with {has['each']} each"
    return f"  {name}  {machines}, resource {has['resource']}, started by {has['by']}"


def _team_line(name: str, has: Json) -> str:
    usual = [f"{count} {model}" for model, count in has["accelerators"].items()]
    later = [f"{count} {model} off-peak" for model, count in has["off_peak"].items()]
    guaranteed = ", ".join([*usual, *later]) or "no accelerators"
    return f"  {name}  {guaranteed}; in {', '.join(has['namespaces'])}"


def _bucket_line(name: str, has: Json) -> str:
    writers = "every pod" if has["open"] else f"pods of {', '.join(has['namespaces']) or 'nobody'}"
    may = "may write it; anybody may read it" if has["public"] else "may read and write it"
    return f"  {name}  {writers} {may}"


def _as_list(made: Made) -> str:
    body = {"apiVersion": "v1", "kind": "List", "items": made.objects}
    return json.dumps(body, indent=2) + "\n"


def _as_problems(refused: list[Refusal]) -> str:
    return json.dumps({"problems": [each._asdict() for each in refused]}, indent=2)
