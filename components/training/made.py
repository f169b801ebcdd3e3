"""From a request to the job's objects, or to why there are none."""

from typing import NamedTuple

from components.making.manifest import Json
from components.making.object_cache_client import URL_VARIABLE
from components.training import job, jobset, mpi, racks, trainjob
from components.training.checks import refusals
from components.training.request import JobRequest, Refusal, Template
from components.training.setting import Setting
from components.training.stopping import GRACE_SECONDS, STOPPED
from schemas.facts.site import Site
from schemas.model.vocabulary import BackendKind

MAKERS = {
    Template.ALL_REDUCE: job.manifests,
    Template.ALL_REDUCE_TRAINJOB: trainjob.manifests,
    Template.PARAMETER_SERVER: jobset.manifests,
    Template.MPI: mpi.manifests,
}


class Made(NamedTuple):
    """A job's objects in the order in which they are to be made, and what a person should know."""

    objects: list[Json]
    notes: list[str]


def make(site: Site, request: JobRequest) -> Made | list[Refusal]:
    """The job, or everything that is wrong with the request."""
    return make_job(Setting(site, request))


def make_job(setting: Setting) -> Made | list[Refusal]:
    """The job of a setting, or everything that is wrong with its request."""
    found = refusals(setting)
    if found:
        return found
    objects = [*racks.domain(setting), *MAKERS[setting.request.template](setting)]
    return Made(objects, notes(setting))


def notes(setting: Setting) -> list[str]:
    """The notes on a job for a person, a sentence each."""
    request, resource = setting.request, setting.resource
    workers = f"{request.workers} worker{'' if request.workers == 1 else 's'}"
    found = [f"{request.template}: {workers} with {setting.per_worker} of {resource} each."]
    found.append(_together(setting))
    found += racks.note(setting)
    if setting.has_domain:
        found.append("Its ComputeDomain stays when the job ends: delete both together.")
    found += _off_peak(setting)
    found += _cache(setting)
    found.append(
        f"A job that is stopped gets SIGTERM and {GRACE_SECONDS} s to write a checkpoint; it "
        "starts from the beginning unless it reads one."
    )
    if not request.command:
        found.append(
            f"The image's own entry point has to end with exit code {STOPPED} on SIGTERM: with "
            "another code a job that is preempted counts as failed. --command sees to that."
        )
    return found


def _together(setting: Setting) -> str:
    """How pods of the job start, in a sentence."""
    request, backend = setting.request, setting.backend
    pods = request.workers + request.server_count
    if backend is not None and backend.kind is BackendKind.KUEUE:
        return f"Kueue ({backend.name}) starts the job once all of it fits its team's quota."
    if pods == 1:
        return "One pod is no gang: it starts as soon as it fits."
    if backend is not None and backend.kind is BackendKind.VOLCANO:
        return f"Volcano ({backend.name}) starts all {pods} pods together, or none."
    if setting.gang is not None and backend is not None:
        later = "; the launcher follows" if request.template is Template.MPI else ""
        return (
            f"{backend.name} starts all {pods} pods together, or none{later}. Where one is deleted "
            "or preempted it deletes them all, and the job starts again as a whole."
        )
    return "Nothing starts its pods together: some may hold accelerators and wait for the rest."


def _cache(setting: Setting) -> list[str]:
    """The address where workers find the cache, and their rights there."""
    client = setting.cache
    if client is None:
        return []
    rights = "read and write" if setting.writes else "read, and not write,"
    found = f"Workers may {rights} the cache's bucket {setting.request.cache}: {URL_VARIABLE} says"
    return [f"{found} where it is, and a token is mounted for it."]


def _off_peak(setting: Setting) -> list[str]:
    """A job larger than the team's usual guarantee waits for the hours of the other one."""
    team, model = setting.team, setting.request.model
    usual = team.accelerators.get(model, 0) if team else 0
    if team is None or setting.devices <= usual:
        return []
    return [f"It starts off-peak only: at other hours {team.name} may use {usual} {model}."]
