"""Rules on PriorityClasses, teams and their limits: each name once and known; what a team is
guaranteed is there, something holds it, and other hours come.

Sources: Kubernetes 1.34, pkg/apis/scheduling/validation/validation.go (names of PriorityClasses),
plugin/pkg/admission/priority (one default), plugin/pkg/admission/limitranger (space on disk).
What each holder can do: kube-throttler 1.7.4, pkg/apis/schedule/v1alpha1
(temporaryThresholdOverrides); Kubernetes 1.34, pkg/apis/core ResourceQuotaSpec; Kueue 0.19.2,
apis/kueue/v1beta2/clusterqueue_types.go; Volcano 1.15.1, Queue. None but the first knows of hours.
"""

from collections.abc import Iterator
from datetime import date
from math import ceil

from schemas.facts.quotas import Holder, Supply, guaranteed_devices, holder, models_held_by, supply
from schemas.facts.site import Site
from schemas.kubernetes.quantities import amount
from schemas.model.scheduling import EphemeralStorage, OffPeak, Scheduling, Team
from schemas.model.texts import nearest
from schemas.model.vocabulary import BackendKind
from schemas.rules.finding import Finding, Path, advise, say

MAX_WINDOWS = 400
"""Spans of off-peak hours in one throttle: nights and weekends of one and a half years. The
throttler reads all of them anew for each pod."""
_LIMITS = ("accelerators", "off_peak")
_NO_HOURS = {
    Holder.QUOTA: "a ResourceQuota knows no hours",
    Holder.KUEUE: "Kueue's quotas know no hours",
    Holder.VOLCANO: "Volcano's queues know no hours",
}
_VOLCANOS_QUEUES = ("default", "root")


def teams_of(site: Site) -> list[tuple[Path, Team]]:
    """The teams of a site, each with its place."""
    teams = enumerate(site.scheduling.teams)
    return [(("scheduling", "teams", index), team) for index, team in teams]


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
    for place, team in teams_of(site):
        if team.name in _VOLCANOS_QUEUES and BackendKind.VOLCANO in kinds:
            yield say("team-name-of-queue", (*place, "name"), team)


def storage(site: Site, scheduling: Scheduling) -> Iterator[Finding]:
    """A container's default request is within its limit, and that within what it may request."""
    yield from _storage(("scheduling", "ephemeral_storage"), scheduling.ephemeral_storage)
    for place, team in teams_of(site):
        if team.ephemeral_storage is not None:
            yield from _storage((*place, "ephemeral_storage"), team.ephemeral_storage)


def _storage(place: Path, given: EphemeralStorage) -> Iterator[Finding]:
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
    for place, team in teams_of(site):
        for name in _LIMITS:
            for model in getattr(team, name):
                yield from _known_model(site, (*place, name, model), model)
    for model in site.scheduling.overcommit_percent:
        yield from _known_model(site, ("scheduling", "overcommit_percent", model), model)


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


def off_peak_hours(off_peak: OffPeak) -> Iterator[Finding]:
    """Off-peak hours are hours that come: in a zone and between days that there are."""
    from schemas.facts.off_peak import windows  # most sites need no time zones

    place = ("scheduling", "off_peak")
    faults = list(_hours(off_peak, place))
    yield from faults
    times = 0 if faults else len(windows(off_peak))
    if times > MAX_WINDOWS:
        yield say("off-peak-too-often", (*place, "last_day"), off_peak, times, MAX_WINDOWS)


def zone_advice(name: str) -> str:
    """The time zone to write in place of one that there is not; empty where there is it."""
    from schemas.facts.off_peak import time_zones

    if name in time_zones():
        return ""
    # Abbreviations are alike and mean other hours: only places are offered.
    places = [each for each in time_zones() if "/" in each and not each.startswith("Etc/")]
    return advise(name, sorted(places), "write one of the tz database, such as Asia/Tokyo")


def _hours(off_peak: OffPeak, place: Path) -> Iterator[Finding]:
    if advice := zone_advice(off_peak.time_zone):
        yield say("off-peak-zone-unknown", (*place, "time_zone"), off_peak, advice)
    if off_peak.start == off_peak.end:
        yield say("off-peak-empty", (*place, "end"), off_peak)
    days = []
    for name in ("first_day", "last_day"):
        try:
            days.append(date.fromisoformat(getattr(off_peak, name)))
        except ValueError:
            yield say("off-peak-day-unknown", (*place, name), getattr(off_peak, name))
    if days != sorted(days):
        yield say("off-peak-ends-before-start", (*place, "last_day"), days[1], days[0])


def off_peak_used(site: Site, scheduling: Scheduling) -> Iterator[Finding]:
    """Off-peak hours have other limits, and other limits have hours."""
    teams = teams_of(site)
    for place, team in teams:
        if team.off_peak and scheduling.off_peak is None:
            yield say("off-peak-limits-without-hours", (*place, "off_peak"), team)
        for model, count in team.off_peak.items():
            if team.accelerators.get(model, 0) == count:
                yield say("off-peak-limit-is-usual", (*place, "off_peak", model), count, model)
    if scheduling.off_peak is not None and not any(team.off_peak for _, team in teams):
        yield say("off-peak-without-limits", ("scheduling", "off_peak"))


def limits_held(site: Site) -> Iterator[Finding]:
    """The holder of a limit can hold it: with other hours, and over several namespaces."""
    quotas = models_held_by(site, Holder.QUOTA)
    for place, team in teams_of(site):
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
    sums = [(team.accelerators.get(model, 0), place, team) for place, team in teams_of(site)]
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
    for place, team in teams_of(site):
        for model, count in team.off_peak.items():
            there = supply(site, model).devices if model in models else count
            if count > there:
                at = (*place, "off_peak", model)
                yield say("off-peak-limit-beyond-supply", at, there, model, count)
