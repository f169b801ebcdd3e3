"""Whether a site's machines are as its applied revision says, from objects of the management
cluster. Pure; what is missing or unknown is never healthy. docs/fleet.md says it in words.

Facts of Cluster API v1.13.6. A MachineDeployment sums its counts and RollingOut from the condition
UpToDate of Machines, which the Machine controller writes after the MachineDeployment's
observedGeneration has moved (machinedeployment_status.go, machine_controller_status.go). Its
MachineSets are made before that, so they count: those of the present template have all machines. A
KubeadmControlPlane writes UpToDate and its counts in one pass (controlplane/kubeadm/internal/
controllers/controller.go, reconcileControlPlaneAndMachinesConditions). Where it returns before that
(a Machine that has just gone, a requeue) it writes its observedGeneration with counts of before;
the next pass puts them right, so a ring is passed after two healthy looks at least (wait.py).
"""

from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from typing import Any, NamedTuple

from components.effects.fleet import Group
from components.machines.rollout import duration, limits
from components.making.manifest import Json, Manifest
from foresite.command import few
from foresite.delivery.differences import field_differences
from foresite.delivery.stack.applied import seconds_of
from schemas.kubernetes.bodies import items, mapping

CLUSTER, CONTROL_PLANE = "Cluster", "KubeadmControlPlane"
CLOCKS = 60.0
"""Seconds by which the clocks of controllers and of Prometheus may be behind."""
_EXHAUSTED = "(MaxRetry)"
"""In the message where a control plane gives up on a machine (remediation.go)."""
_ROLLS = ("version", "failureDomain", "bootstrap", "infrastructureRef")
"""Fields of a template for which machines are replaced (mdutil.MachineTemplateUpToDate)."""
_COMPARED = ("spec.replicas", "spec.kubeadmConfigSpec")
"""Fields that make or replace machines too, and in which the API server fills in defaults."""
_OF = "cluster.x-k8s.io/deployment-name"
_COUNTS = ("replicas", "upToDateReplicas", "availableReplicas")


class Verdict(IntEnum):
    """The verdict on a site or a part of it; a site's is the largest of its parts. What waits may
    become healthy by itself; where something failed, somebody has to act."""

    HEALTHY = 0
    WAITING = 1
    FAILED = 2


class Health(NamedTuple):
    """``done`` of the machines are available at this revision. ``since``: the time from which on it
    was healthy, in seconds of the epoch. ``install`` and ``drain`` are the hours that the rest
    takes, and that drains may add; ``notes`` are machines that do not count, and why."""

    verdict: Verdict
    why: str = ""
    done: int = 0
    of: int = 0
    since: float = 0.0
    install: float = 0.0
    drain: float = 0.0
    notes: tuple[str, ...] = ()


class Wanted(NamedTuple):
    """An object of the revision, and the machines that it makes; a Cluster makes none."""

    manifest: Manifest
    group: Group | None = None


class Seen(NamedTuple):
    """What the management cluster has: objects by kind and name, and MachineSets; when the update
    to the revision began, and when they were seen, in seconds of the epoch; ``ahead``: seconds by
    which the cluster's clock, by which its objects are dated, is ahead of this machine's."""

    objects: Mapping[tuple[str, str], Json]
    applied: float
    now: float
    sets: Sequence[Json] = ()
    ahead: float = 0.0


def health(wanted: Iterable[Wanted], seen: Seen, limit: int = 999_999) -> Health:
    """The health of a site at its revision; ``limit`` hosts are provisioned at a time."""
    parts = [(each, _judge(each, seen)) for each in wanted]
    found = [part for _, part in parts]
    worst = max((part.verdict for part in found), default=Verdict.WAITING)
    # Workers of a newer version wait for the control plane.
    hours = {True: [(0.0, 0.0)], False: [(0.0, 0.0)]}
    for (manifest, group), part in parts:
        if group and part.of > part.done:
            mine = duration(manifest, group, part.of - part.done, limit)
            hours[group.control_plane].append(mine)
    install, drain = (sum(max(e[n] for e in each) for each in hours.values()) for n in (0, 1))
    why = few([part.why for part in found if part.verdict is worst and part.why], 3)
    done, of = sum(part.done for part in found), sum(part.of for part in found)
    since = max((part.since for part in found), default=seen.applied)
    notes = tuple(note for part in found for note in part.notes)
    return Health(worst, why, done, of, since, install, drain, notes)


def _judge(wanted: Wanted, seen: Seen) -> Health:
    made = wanted.manifest
    kind, name, of = made.kind, made.key[3], _number(made.body, "spec", "replicas")
    body = seen.objects.get((kind, name))
    if body is None:
        return Health(Verdict.WAITING, f"there is no {kind} {name}", 0, of)
    if why := _hopeless(body, made):
        return Health(Verdict.FAILED, f"{kind} {name} {why}", 0, of)
    found, unseen = Health(Verdict.HEALTHY, _unlike(body, Available="True")), _unseen(body)
    if kind != CLUSTER:
        control = kind == CONTROL_PLANE
        found = _control_plane(body) if control else _deployment(wanted, body, seen)
    since = max(seen.applied, found.since, *_moved(body, seen, "Available", "RollingOut"))
    verdict = found.verdict or Verdict(bool(unseen or found.why))
    why = f"{kind} {name}: {unseen or found.why}" if verdict else ""
    return found._replace(verdict=verdict, why=why, since=since, done=0 if unseen else found.done)


def _hopeless(body: Json, wanted: Manifest) -> str:
    """Why an object does not become healthy by itself."""
    said = _condition(body, "Remediating")
    if mapping(body, "metadata").get("deletionTimestamp"):
        return "is being deleted"
    other = [e.field for e in field_differences(wanted, body) if e.field.startswith(_COMPARED)]
    if other or _revision(body) != _revision(wanted.body):
        where = f" ({few(other, 2)})" if other else ""
        return f"is not of the applied revision{where}: somebody changed it; apply the site again"
    gives_up = said.get("status") == "True" and _EXHAUSTED in str(said.get("message"))
    return f"gives up: {_words(said)}" if gives_up else ""


def _unseen(body: Json) -> str:
    """Why the status of an object says nothing of its present spec."""
    metadata = mapping(body, "metadata")
    held = "cluster.x-k8s.io/paused" in mapping(metadata, "annotations")
    if held or mapping(body, "spec").get("paused"):
        return "it is paused"
    if _number(body, "status", "observedGeneration") != metadata.get("generation"):
        return "its controller has not looked at it since it was applied"
    return ""


def _control_plane(body: Json) -> Health:
    """All its machines have to be available: with one out, a control plane replaces none."""
    of, counts = _number(body, "spec", "replicas"), [_number(body, "status", e) for e in _COUNTS]
    why = _unlike(body, Available="True", RollingOut="False")
    if not of or counts != [of] * 3:
        why = f"{min(counts)} of {of} machines{_words(_condition(body, 'MachinesReady'), ' ({})')}"
    return Health(Verdict.HEALTHY, why, min(counts), of)


def _deployment(wanted: Wanted, body: Json, seen: Seen) -> Health:
    name, of = wanted.manifest.key[3], _number(body, "spec", "replicas")
    unavailable, _ = limits(wanted.manifest)
    rolls = mapping(body, "spec", "rollout", "strategy").get("type") != "OnDelete"
    mine = [s for s in seen.sets if mapping(s, "metadata", "labels").get(_OF) == name]
    new = [each for each in mine if _revision(each) == _revision(body)]
    old = [each for each in mine if each not in new]
    left, hint = sum(max(_number(e, s, "replicas") for s in ("spec", "status")) for e in old), ""
    done = sum(_number(each, "status", "availableReplicas") for each in (new if rolls else mine))
    why = _unlike(body, Available="True", **({"RollingOut": "False"} if rolls else {}))
    notes, since = list[str](), 0.0
    least = min(
        min(_number(body, "status", name), sum(_number(each, "status", name) for each in new))
        for name in _COUNTS[:2]
    )
    # A machine that breaks by itself is replaced again and again: its counts are not the template's
    # of before.
    moves = left or sum(_number(e, "spec", "replicas") for e in new) != of
    if any(map(_unseen, mine)) or (rolls and (moves or least < of - unavailable)):
        hint = f"{done} of {of} machines, and {left} of the template before"
    elif done < of and not why:
        since = _grace(wanted, body, seen)
        if not done or of - done > unavailable or seen.now < since:
            hint = f"{done} of {of} machines available"
        notes.append(f"{name}: {of - done} of {of} machines unavailable, as max_unavailable allows")
    if left and not rolls:
        notes.append(f"{name}: {left} machines keep the template before (OnDelete)")
    why = f"{hint}{_words(_condition(body, 'MachinesReady'), ' ({})')}" if hint else why
    return Health(Verdict.HEALTHY, why, done, of, since, notes=() if why else tuple(notes))


def _grace(wanted: Wanted, body: Json, seen: Seen) -> float:
    """Until when a machine that is missing may be on its way: where machines were made since the
    revision was applied, each has the time that its pool gives it."""
    rolled, scaled = _moved(body, seen, "RollingOut", "ScalingUp")
    if max(rolled, scaled) < seen.applied - CLOCKS or wanted.group is None:
        return 0.0
    pace = wanted.group.pace
    return max(seen.applied, rolled) + (pace.startup_seconds or 120 * pace.install_minutes)


def _revision(body: Json) -> Any:
    """The fields of an object for which machines are replaced."""
    if body.get("kind") == CONTROL_PLANE:
        template = mapping(body, "spec", "machineTemplate", "spec", "infrastructureRef")
        return mapping(body, "spec").get("version"), template.get("name")
    template = mapping(body, "spec", "template", "spec")
    return {key: template[key] for key in _ROLLS if template.get(key)}


def _unlike(body: Json, **wanted: str) -> str:
    """The first condition that is not as wanted, in words; empty where all are."""
    for name, status in wanted.items():
        found = _condition(body, name)
        if found.get("status") != status:
            return _words(found) or f"its condition {name} is not {status}"
    return ""


def _moved(body: Json, seen: Seen, *names: str) -> Iterable[float]:
    """When conditions got their status; 0 where there is none, now where it does not say."""
    for condition in (_condition(body, each) for each in names):
        said = seconds_of(str(condition.get("lastTransitionTime")))
        yield (said - seen.ahead if said else seen.now) if condition else 0.0


def _condition(body: Json, name: str) -> Json:
    found = items(mapping(body, "status"), "conditions")
    return next((each for each in found if each.get("type") == name), {})


def _words(condition: Json, form: str = "{}") -> str:
    """What a controller says in a condition, where it does."""
    said = " ".join(str(condition.get("message") or "").split())[:300]
    return form.format(said) if said else ""


def _number(body: Json, part: str, name: str) -> int:
    """A number in the spec or the status of an object; 0 where it has none."""
    found = mapping(body, part).get(name)
    return found if type(found) is int else 0
