"""From a request to the job's objects, or to why there are none."""

from typing import NamedTuple

from components.making.manifest import Json
from components.making.object_cache_client import URL_VARIABLE
from components.making.told import Told
from components.training import job, jobset, mpi, racks, trainjob
from components.training.checks import refusals
from components.training.request import Refusal, Template
from components.training.setting import Setting
from components.training.stopping import GRACE_SECONDS, STOPPED
from schemas.model.vocabulary import BackendKind

TOLD = Told(__file__)
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


def make_job(setting: Setting) -> Made | list[Refusal]:
    """The job of a setting, or everything that is wrong with its request."""
    if found := refusals(setting):
        return found
    objects = [*racks.domain(setting), *MAKERS[setting.request.template](setting)]
    return Made(objects, notes(setting))


def notes(setting: Setting) -> list[str]:
    """The notes on a job for a person, a sentence each."""
    request, each, resource = setting.request, setting.per_worker, setting.resource
    workers = f"{request.workers} worker{'' if request.workers == 1 else 's'}"
    told = {"template": request.template, "workers": workers, "each": each, "resource": resource}
    found = [TOLD.say("what", **told), _together(setting), *racks.note(setting)]
    found += [TOLD.say("domain")] if setting.has_domain else []
    found += [*_off_peak(setting), *_cache(setting), TOLD.say("stopped", seconds=GRACE_SECONDS)]
    return found if request.command else [*found, TOLD.say("entry_point", stopped=STOPPED)]


def _together(setting: Setting) -> str:
    """How pods of the job start, in a sentence."""
    request, backend = setting.request, setting.backend
    pods = request.workers + request.server_count
    if backend is not None and backend.kind is BackendKind.KUEUE:
        return TOLD.say("kueue", backend=backend.name)
    if pods == 1:
        return TOLD.say("one_pod")
    if backend is not None and backend.kind is BackendKind.VOLCANO:
        return TOLD.say("volcano", backend=backend.name, pods=pods)
    if setting.gang is not None and backend is not None:
        later = "; the launcher follows" if request.template is Template.MPI else ""
        return TOLD.say("gang", backend=backend.name, pods=pods, later=later)
    return TOLD.say("alone")


def _cache(setting: Setting) -> list[str]:
    """The address where workers find the cache, and their rights there."""
    if setting.cache is None:
        return []
    rights = "read and write" if setting.writes else "read, and not write,"
    return [TOLD.say("cache", rights=rights, bucket=setting.request.cache, url=URL_VARIABLE)]


def _off_peak(setting: Setting) -> list[str]:
    """A job larger than the team's usual guarantee waits for the hours of the other one."""
    team, model = setting.team, setting.request.model
    usual = team.accelerators.get(model, 0) if team else 0
    if team is None or setting.devices <= usual:
        return []
    return [TOLD.say("off_peak", team=team.name, usual=usual, model=model)]
