"""Rules on PriorityClasses, teams and their limits: each name once and known; what a team is
guaranteed is there, and something holds it, also off-peak.

Sources: Kubernetes 1.34, pkg/apis/scheduling/validation/validation.go (names of PriorityClasses),
plugin/pkg/admission/priority (one default), plugin/pkg/admission/limitranger (space on disk).
What each holder can do: kube-throttler 1.7.4, pkg/apis/schedule/v1alpha1
(temporaryThresholdOverrides); Kubernetes 1.34, pkg/apis/core ResourceQuotaSpec; Kueue 0.19.2,
apis/kueue/v1beta2/clusterqueue_types.go; Volcano 1.15.1, Queue. None but the first knows of hours.
"""

from collections.abc import Iterator
from math import ceil

from schemas.facts.quotas import Holder, Supply, guaranteed_devices, holder, models_held_by, supply
from schemas.facts.site import Site
from schemas.kubernetes.quantities import amount
from schemas.model.scheduling import Scheduling
from schemas.model.texts import nearest
from schemas.model.vocabulary import BackendKind
from schemas.reading.paths import each_at
from schemas.rules.finding import Finding, Path, say

_TEAMS = "scheduling.teams.*"
_LIMITS = f"{_TEAMS}.accelerators.*", f"{_TEAMS}.off_peak.*", "scheduling.overcommit_percent.*"
_STORAGE = "scheduling.ephemeral_storage", f"{_TEAMS}.ephemeral_storage"
_NO_HOURS = {
    Holder.QUOTA: "a ResourceQuota knows no hours",
    Holder.KUEUE: "Kueue's quotas know no hours",
    Holder.VOLCANO: "Volcano's queues know no hours",
}
_VOLCANOS_QUEUES = ("default", "root")


def priorities(site: Site) -> Iterator[Finding]:
    """Each PriorityClass has a value of its own, and pods that name none have one default."""
    seen: dict[int, str] = {}
    default = ""
    for index, priority in enumerate(site.scheduling.priorities):
        place: Path = ("scheduling", "priorities", index)
        if priority.value in seen:
            yield say("priority-value-taken", (*place, "value"), priority, seen[priority.value])
        if priority.default and default:
            yield say("priority-second-default", (*place, "default"), priority, default)
        seen[priority.value] = priority.name
        default = default or (priority.name if priority.default else "")


def team_names(site: Site) -> Iterator[Finding]:
    """No team has the name of a queue which Volcano has by itself."""
    kinds = {backend.kind for backend in site.scheduling.backends}
    for place, team in each_at(site.file, _TEAMS):
        if team.name in _VOLCANOS_QUEUES and BackendKind.VOLCANO in kinds:
            yield say("team-name-of-queue", (*place, "name"), team)


def storage(site: Site) -> Iterator[Finding]:
    """A container's default request is within its limit, and that within what it may request."""
    for place, given in each_at(site.file, *_STORAGE):
        if given is None:
            continue
        sizes = {name: getattr(given, name) for name in ("request", "limit", "max")}
        for less, more in (("request", "limit"), ("limit", "max")):
            if amount(sizes[less]) > amount(sizes[more]):
                # Of the two the one that the file says is at fault.
                name, other = (less, more) if less in given.model_fields_set else (more, less)
                side = "less" if name == less else "more"
                values = less, sizes[less], more, sizes[more], sizes[other], side
                yield say("storage-bounds-crossed", (*place, name), *values)


def limit_models(site: Site) -> Iterator[Finding]:
    """Limits are on models that the site has."""
    for place, _ in each_at(site.file, *_LIMITS):
        yield from _known_model(site, place, str(place[-1]))


def _known_model(site: Site, place: Path, model: str) -> Iterator[Finding]:
    models = site.models()
    if model in models:
        return
    settings = site.file.accelerators
    if settings is None:
        yield say("limit-without-accelerators", place, model)
    elif any(pool.hardware not in site.hardware for pool in site.file.pools):
        return  # that pool may have it
    elif model in site.accelerators:
        others = f"; there is {', '.join(models)}" if models else ""
        yield say("limit-model-of-no-pool", place, model, others)
    else:
        short = {settings.names.get(each, each): each for each in models}
        near = short.get(model) or nearest(model, models)
        fix = f"write {near}" if near else f"there is {', '.join(models) or 'none'}"
        yield say("limit-model-unknown", place, model, fix)


def off_peak_used(site: Site, scheduling: Scheduling) -> Iterator[Finding]:
    """Off-peak hours have other limits, and other limits have hours."""
    for place, team in each_at(site.file, _TEAMS):
        for model, count in team.off_peak.items():
            if team.accelerators.get(model, 0) == count:
                yield say("off-peak-limit-is-usual", (*place, "off_peak", model), count, model)
    if scheduling.off_peak is not None and not any(team.off_peak for team in scheduling.teams):
        yield say("off-peak-without-limits", ("scheduling", "off_peak"))


def limits_held(site: Site) -> Iterator[Finding]:
    """The holder of a limit can hold it: with other hours, and over several namespaces."""
    quotas = models_held_by(site, Holder.QUOTA)
    for place, team in each_at(site.file, _TEAMS):
        for model in (each for each in team.off_peak if each in site.models()):
            if (by := holder(site.backend_of(model))) in _NO_HOURS:
                said = model, _NO_HOURS[by], _throttler_advice(site, model)
                yield say("limit-without-hours", (*place, "off_peak", model), *said)
        several = len(team.namespaces) > 1
        for model, count in team.accelerators.items():
            if several and count and model in quotas:
                values = model, team, len(team.namespaces), _throttler_advice(site, model)
                yield say("limit-over-namespaces", (*place, "accelerators", model), *values)


def _throttler_advice(site: Site, model: str) -> str:
    """How to have a throttler hold a model."""
    backend = site.backend_of(model)
    if backend is not None and backend.scheduler is not None:
        return f"run kube-throttler in {backend.name}, and name it in scheduler.throttler"
    return "have its pools served by a kube-scheduler with a throttler"


def overcommitment(site: Site, scheduling: Scheduling) -> Iterator[Finding]:
    """The devices that teams are guaranteed are there, also while a rollout takes hosts out."""
    for model in site.models():
        there, total = supply(site, model), guaranteed_devices(scheduling, model)
        percent = scheduling.overcommit_percent.get(model)
        allowed = _allowed_devices(there, percent)
        if total > allowed:
            yield _too_much(site, model, (there, total, percent))
        elif percent is not None and total <= there.devices - there.out:
            place = ("scheduling", "overcommit_percent", model)
            yield say("overcommit-unneeded", place, total, model)


def _allowed_devices(there: Supply, percent: int | None) -> int:
    if percent is None:
        return there.devices - there.out
    return there.devices * percent // 100


def _too_much(site: Site, model: str, numbers: tuple[Supply, int, int | None]) -> Finding:
    """The sum of guarantees, at the largest of them, with all others."""
    there, total, percent = numbers
    teams = each_at(site.file, _TEAMS)
    sums = [(team.accelerators.get(model, 0), place, team) for place, team in teams]
    sums = sorted((each for each in sums if each[0]), key=lambda each: -each[0])
    most, _, team = sums[0]
    message = f"teams are guaranteed {total} {model}; there are {there.devices}"
    if percent is not None:
        message += f", and overcommit_percent lets {_allowed_devices(there, percent)} be guaranteed"
    elif there.out:
        message += f", and a rollout takes out {there.out} of them"
    fix = f"guarantee {total - _allowed_devices(there, percent)} less in all"
    fix += f" (team {team.name} has most, {most})" if len(sums) > 1 else ""
    needed = max(101, ceil(100 * total / there.devices)) if there.devices else 0
    if 0 < needed <= 1000:
        fix += f", or set overcommit_percent of {model} to {needed} if teams may have to wait"
    place, *also = [(*at, "accelerators", model) for _, at, _ in sums]
    also += [("scheduling", "overcommit_percent", model)]
    return say("guarantees-beyond-supply", place, message, fix, also=tuple(also))


def off_peak_there(site: Site) -> Iterator[Finding]:
    """No team may use more of a model off-peak than there is."""
    models = site.models()
    for place, team in each_at(site.file, _TEAMS):
        for model, count in team.off_peak.items():
            there = supply(site, model).devices if model in models else count
            if count > there:
                at = (*place, "off_peak", model)
                yield say("off-peak-limit-beyond-supply", at, there, model, count)
