"""Rules on limits: what a team is guaranteed is there, something holds it, and other hours come.

Sources: facts of what each holder can do: kube-throttler 1.7.4, pkg/apis/schedule/v1alpha1
(temporaryThresholdOverrides); Kubernetes 1.34, pkg/apis/core ResourceQuotaSpec; Kueue 0.19.2,
apis/kueue/v1beta2/clusterqueue_types.go; Volcano 1.15.1, Queue. None but the first knows of hours.
"""

from collections.abc import Iterator
from datetime import date
from math import ceil

from schemas.facts.quotas import Holder, Supply, guaranteed_devices, holder, models_held_by, supply
from schemas.facts.site import Site
from schemas.model.codes import Code
from schemas.model.nearest import nearest
from schemas.model.scheduling import OffPeak, Team
from schemas.rules.finding import Finding, Path
from schemas.rules.teams import teams_of

MAX_WINDOWS = 400
"""Spans of off-peak hours in one throttle: nights and weekends of one and a half years. The
throttler reads all of them anew for each pod."""
_LIMITS = ("accelerators", "off_peak")
_NO_HOURS = {
    Holder.QUOTA: "a ResourceQuota knows no hours",
    Holder.KUEUE: "Kueue's quotas know no hours",
    Holder.VOLCANO: "Volcano's queues know no hours",
}


def limit_models(site: Site) -> Iterator[Finding]:
    """Limits are on models that the site has."""
    for place, team in teams_of(site):
        for name in _LIMITS:
            for model in getattr(team, name):
                yield from _known_model(site, (*place, name, model), model)
    scheduling = site.file.scheduling
    for model in scheduling.overcommit_percent if scheduling else ():
        yield from _known_model(site, ("scheduling", "overcommit_percent", model), model)


def _known_model(site: Site, place: Path, model: str) -> Iterator[Finding]:
    models = site.models()
    if model in models:
        return
    settings = site.file.accelerators
    if settings is None:
        message = f"{model} is limited, and Foresite serves no accelerators on this site"
        fix = "add the section accelerators, which says how pods ask for them"
        yield Finding(Code.ACCELERATOR_UNSERVED, place, message, fix, key=True)
    elif any(pool.hardware not in site.hardware for pool in site.file.pools):
        return  # that pool may have it
    elif model in site.accelerators:
        message = f"no pool of the site has {model}"
        fix = f"remove it; there is {', '.join(models)}" if models else "remove it"
        yield Finding(Code.ACCELERATOR_UNKNOWN, place, message, fix, key=True)
    else:
        short = {settings.names.get(each, each): each for each in models}
        near = short.get(model) or nearest(model, models)
        fix = f"write {near}" if near else f"there is {', '.join(models) or 'none'}"
        message = f"there is no accelerator model {model}"
        yield Finding(Code.ACCELERATOR_UNKNOWN, place, message, fix, key=True)


def off_peak_hours(site: Site) -> Iterator[Finding]:
    """Off-peak hours are hours that come: in a zone and between days that there are."""
    scheduling = site.file.scheduling
    if scheduling is None or scheduling.off_peak is None:
        return
    from schemas.facts.off_peak import windows  # most sites need no time zones

    off_peak, place = scheduling.off_peak, ("scheduling", "off_peak")
    faults = list(_hours(off_peak, place))
    yield from faults
    times = 0 if faults else len(windows(off_peak))
    if times > MAX_WINDOWS:
        message = f"from {off_peak.first_day} on off-peak comes {times} times, over {MAX_WINDOWS}"
        fix = "choose an earlier last day, and a later one when it comes near"
        yield Finding(Code.OUT_OF_BOUNDS, (*place, "last_day"), message, fix)


def _hours(off_peak: OffPeak, place: Path) -> Iterator[Finding]:
    from schemas.facts.off_peak import time_zones

    code = Code.OFF_PEAK_MEANINGLESS
    if off_peak.time_zone not in time_zones():
        # Abbreviations are alike and mean other hours: only places are offered.
        places = [each for each in time_zones() if "/" in each and not each.startswith("Etc/")]
        near = nearest(off_peak.time_zone, sorted(places))
        message = f"there is no time zone {off_peak.time_zone}"
        fix = f"write {near}" if near else "write one of the tz database, such as Asia/Tokyo"
        yield Finding(code, (*place, "time_zone"), message, fix)
    if off_peak.start == off_peak.end:
        message = f"off-peak starts and ends at {off_peak.start}"
        yield Finding(code, (*place, "end"), message, "let it end at another time than it starts")
    days = {name: _day(getattr(off_peak, name)) for name in ("first_day", "last_day")}
    for name, day in days.items():
        if day is None:
            message = f"there is no {getattr(off_peak, name)}"
            yield Finding(code, (*place, name), message, "write a day of the calendar")
    first, last = days.values()
    if first and last and last < first:
        message = f"the last day, {last}, is before the first, {first}"
        yield Finding(code, (*place, "last_day"), message, f"write {first} or a later day")


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def off_peak_used(site: Site) -> Iterator[Finding]:
    """Off-peak hours have other limits, and other limits have hours."""
    scheduling = site.file.scheduling
    if scheduling is None:
        return
    code, teams = Code.OFF_PEAK_MEANINGLESS, teams_of(site)
    for place, team in teams:
        if team.off_peak and scheduling.off_peak is None:
            message = f"team {team.name} has limits off-peak, and no hours are off-peak"
            fix = "say in off_peak of scheduling when they hold, or remove them"
            yield Finding(code, (*place, "off_peak"), message, fix, key=True)
        for model, count in team.off_peak.items():
            if team.accelerators.get(model, 0) == count:
                message = f"{count} is the usual limit of {model}"
                fix = "write another number, or remove it"
                yield Finding(code, (*place, "off_peak", model), message, fix)
    if scheduling.off_peak is not None and not any(team.off_peak for _, team in teams):
        message = "no team has other limits off-peak"
        fix = "give teams limits in off_peak, or remove the hours"
        yield Finding(code, ("scheduling", "off_peak"), message, fix, key=True)


def limits_held(site: Site) -> Iterator[Finding]:
    """The holder of a limit can hold it: with other hours, and over several namespaces."""
    quotas = models_held_by(site, Holder.QUOTA)
    for place, team in teams_of(site):
        yield from _without_hours(site, place, team)
        several = len(team.namespaces) > 1
        for model, count in team.accelerators.items():
            if several and count and model in quotas:
                message = (
                    f"{model} is limited by a ResourceQuota, which holds for one namespace, and "
                    f"team {team.name} has {len(team.namespaces)}"
                )
                fix = f"give the team one namespace, or {_throttler_advice(site, model)}"
                at = (*place, "accelerators", model)
                yield Finding(Code.LIMIT_UNSUPPORTED, at, message, fix, key=True)


def _without_hours(site: Site, place: Path, team: Team) -> Iterator[Finding]:
    for model in team.off_peak:
        if model not in site.models():
            continue
        by = holder(site.backend_of(model))
        if by in _NO_HOURS:
            message = f"{model} has the same limit at all hours: {_NO_HOURS[by]}"
            fix = f"remove it, or {_throttler_advice(site, model)}"
            at = (*place, "off_peak", model)
            yield Finding(Code.LIMIT_UNSUPPORTED, at, message, fix, key=True)


def _throttler_advice(site: Site, model: str) -> str:
    """How to have a throttler hold a model."""
    backend = site.backend_of(model)
    if backend is not None and backend.scheduler is not None:
        return f"run kube-throttler in {backend.name}, and name it in scheduler.throttler"
    return "have its pools served by a kube-scheduler with a throttler"


def overcommitment(site: Site) -> Iterator[Finding]:
    """The devices that teams are guaranteed are there, also while a rollout takes hosts out."""
    scheduling = site.file.scheduling
    if scheduling is None:
        return
    for model in site.models():
        there, total = supply(site, model), guaranteed_devices(scheduling, model)
        percent = scheduling.overcommit_percent.get(model)
        allowed = _allowed_devices(there, percent)
        if total > allowed:
            yield _too_much(site, model, (there, total, percent))
        elif percent is not None and total <= there.devices - there.out:
            place = ("scheduling", "overcommit_percent", model)
            message = f"all {total} {model} that teams are guaranteed exist without it"
            fix = "remove it, so that a guarantee beyond the supply is found"
            yield Finding(Code.SCHEDULER_MEANINGLESS, place, message, fix, key=True)


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
    return Finding(Code.OVERCOMMITTED, place, message, fix, also=tuple(also))


def off_peak_there(site: Site) -> Iterator[Finding]:
    """No team may use more of a model off-peak than there is."""
    models = site.models()
    for place, team in teams_of(site):
        for model, count in team.off_peak.items():
            if model in models and count > supply(site, model).devices:
                message = f"there are {supply(site, model).devices} {model}, and not {count}"
                fix = f"write {supply(site, model).devices} or less"
                yield Finding(Code.OVERCOMMITTED, (*place, "off_peak", model), message, fix)
