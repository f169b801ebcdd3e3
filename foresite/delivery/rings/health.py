"""Whether a site's machines are as its applied revision says, from objects of the management
cluster. Pure; what is missing or unknown is never healthy. docs/fleet.md says it in words.

Facts of Cluster API v1.13.6. A MachineDeployment sums its counts and RollingOut from the condition
UpToDate of Machines, which the Machine controller writes after the MachineDeployment's
observedGeneration has moved (machinedeployment_status.go, machine_controller_status.go). Its
MachineSets are made before that, so they count: those of the present template have all machines. A
KubeadmControlPlane writes UpToDate and its counts in one pass (controlplane/kubeadm/internal/
controllers/controller.go, reconcileControlPlaneAndMachinesConditions).
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from enum import IntEnum
from typing import Any, NamedTuple

from components.effects.fleet import Group
from components.machines.rollout import duration, limits
from components.making.manifest import Json, Manifest
from foresite.command import count, few
from schemas.kubernetes.bodies import items, mapping

CLUSTER, DEPLOYMENT, CONTROL_PLANE = "Cluster", "MachineDeployment", "KubeadmControlPlane"
_TRIES = 3
"""Errors with one host after which its install counts as failed: the operator tries again."""
_INSTALLS = {"preparing", "provisioning"}
_EXHAUSTED = "(MaxRetry)"
"""In the message where a control plane gives up on a machine (remediation.go)."""
_ROLLS = ("version", "failureDomain", "bootstrap", "infrastructureRef")
"""Fields of a template for which machines are replaced (mdutil.MachineTemplateUpToDate)."""


class Verdict(IntEnum):
    """The verdict on a site or a part of it; a site's is the largest of its parts."""

    HEALTHY = 0
    WAITING = 1
    """It may become healthy by itself."""
    FAILED = 2
    """Somebody has to do something."""


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
    """What the management cluster has: objects by kind and name, MachineSets, and hosts."""

    objects: Mapping[tuple[str, str], Json]
    sets: Sequence[Json] = ()
    hosts: Sequence[Json] = ()


class Moment(NamedTuple):
    """When the revision was applied, and when it is looked at, in seconds of the epoch."""

    applied: float
    now: float


def health(wanted: Iterable[Wanted], seen: Seen, moment: Moment, limit: int = 999_999) -> Health:
    """The health of a site at its revision; ``limit`` hosts are provisioned at a time."""
    parts = [(each, _judge(each, seen, moment)) for each in wanted]
    found = [part for _, part in parts]
    worst = max((part.verdict for part in found), default=Verdict.HEALTHY)
    hours = {True: (0.0, 0.0), False: (0.0, 0.0)}
    for (manifest, group), part in parts:
        if group and part.of > part.done:
            mine = duration(manifest, group, part.of - part.done, limit)
            before = hours[group.control_plane]
            hours[group.control_plane] = max(before[0], mine[0]), max(before[1], mine[1])
    return Health(
        worst,
        few([part.why for part in found if part.verdict is worst and part.why], 3),
        sum(part.done for part in found),
        sum(part.of for part in found),
        max((part.since for part in found), default=moment.applied),
        # Workers of a newer version wait for the control plane.
        hours[True][0] + hours[False][0],
        hours[True][1] + hours[False][1],
        tuple(note for part in found for note in part.notes),
    )


def _judge(wanted: Wanted, seen: Seen, moment: Moment) -> Health:
    made = wanted.manifest
    kind, name = made.kind, made.key[3]
    of = _number(mapping(made.body, "spec"), "replicas")
    body = seen.objects.get((kind, name))
    if body is None:
        return Health(Verdict.WAITING, f"there is no {kind} {name}", 0, of)
    if why := _hopeless(body, made.body):
        return Health(Verdict.FAILED, f"{kind} {name} {why}", 0, of)
    why = _unseen(body)
    if kind == CLUSTER:
        found = Health(Verdict.HEALTHY, _unlike(body, Available="True"))
    else:
        found = (_control_plane if kind == CONTROL_PLANE else _deployment)(
            wanted, body, seen, moment
        )
    since = max(moment.applied, found.since, *_moved(body, moment, "Available", "RollingOut"))
    verdict = found.verdict or Verdict(bool(why or found.why))
    words = f"{kind} {name}: {why or found.why}" if verdict else ""
    return found._replace(verdict=verdict, why=words, since=since, done=0 if why else found.done)


def _hopeless(body: Json, wanted: Json) -> str:
    """Why an object does not become healthy by itself."""
    if mapping(body, "metadata").get("deletionTimestamp"):
        return "is being deleted"
    if _revision(body) != _revision(wanted):
        return "is not of the applied revision: somebody changed it since; apply the site again"
    if mapping(body, "status").get("phase") == "Failed":
        return "has failed"
    said = _condition(body, "Remediating")
    given_up = said.get("status") == "True" and _EXHAUSTED in str(said.get("message"))
    return f"gives up: {_words(said)}" if given_up else ""


def _unseen(body: Json) -> str:
    """Why the status of an object says nothing of its present spec."""
    metadata, status = mapping(body, "metadata"), mapping(body, "status")
    if "cluster.x-k8s.io/paused" in mapping(metadata, "annotations") or mapping(body, "spec").get(
        "paused"
    ):
        return "it is paused"
    if _number(status, "observedGeneration") != metadata.get("generation"):
        return "its controller has not looked at it since it was applied"
    return ""


def _control_plane(wanted: Wanted, body: Json, seen: Seen, _: Moment) -> Health:
    """All its machines have to be available: with one out, a control plane replaces none."""
    status, of = mapping(body, "status"), _number(mapping(body, "spec"), "replicas")
    counts = [
        _number(status, each) for each in ("replicas", "upToDateReplicas", "availableReplicas")
    ]
    why = _unlike(body, Available="True", RollingOut="False")
    if not of or counts != [of] * 3:
        why = f"{min(counts)} of {of} machines{_hint(body)}"
    failed = _failing(wanted, seen, 1) if why else ""
    return Health(Verdict.FAILED if failed else Verdict.HEALTHY, failed or why, min(counts), of)


def _deployment(wanted: Wanted, body: Json, seen: Seen, moment: Moment) -> Health:
    made, of = wanted.manifest, _number(mapping(body, "spec"), "replicas")
    name, rolls = (
        made.key[3],
        mapping(body, "spec", "rollout", "strategy").get("type") != "OnDelete",
    )
    mine = [each for each in seen.sets if _owner(each) == name]
    new = [each for each in mine if _revision(each) == _revision(body)]
    old = [each for each in mine if each not in new]
    counted, left, notes = new if rolls else mine, sum(map(_machines, old)), []
    done, since = (
        sum(_number(mapping(each, "status"), "availableReplicas") for each in counted),
        0.0,
    )
    why = _unlike(body, Available="True", **({"RollingOut": "False"} if rolls else {}))
    if any(_unseen(each) for each in mine) or (rolls and not _counted(body, new, of)):
        why = f"{left} machines of the template before" if left else f"{done} of {of} machines"
        why += _hint(body)
    elif rolls and left:
        why = f"{left} machines of the template before{_hint(body)}"
    elif done < of and not why:
        since = _grace(wanted, body, moment)
        if not done or of - done > limits(made).unavailable or moment.now < since:
            why = f"{done} of {of} machines available{_hint(body)}"
        notes.append(f"{name}: {of - done} of {of} machines unavailable, as max_unavailable allows")
    if left and not rolls:
        kept = count(left, "machine keeps", "machines keep")
        notes.append(f"{name}: {kept} the template before until somebody deletes it (OnDelete)")
    failed = _failing(wanted, seen, max(1, sum(limits(made)))) if why else ""
    verdict = Verdict.FAILED if failed else Verdict.HEALTHY
    return Health(verdict, failed or why, done, of, since, notes=() if why else tuple(notes))


def _counted(body: Json, new: Sequence[Json], of: int) -> bool:
    """True if all machines are of the present template, by MachineSets and by their owner."""
    status = mapping(body, "status")
    fields = ("replicas", "upToDateReplicas")
    found = [sum(_number(mapping(each, "status"), name) for each in new) for name in fields]
    found += [_number(status, name) for name in fields]
    return found == [of] * 4 and sum(_number(mapping(e, "spec"), "replicas") for e in new) == of


def _grace(wanted: Wanted, body: Json, moment: Moment) -> float:
    """Until when a machine that is missing may be on its way: where machines were made since the
    revision was applied, each has the time that its pool gives it."""
    rolled, scaled = _moved(body, moment, "RollingOut", "ScalingUp")
    if max(rolled, scaled) < moment.applied or wanted.group is None:
        return 0.0
    pace = wanted.group.pace
    return max(moment.applied, rolled) + (pace.startup_seconds or 120 * pace.install_minutes)


def _failing(wanted: Wanted, seen: Seen, least: int) -> str:
    """Which hosts of a group fail to install, where there are so many."""
    names = {host.name for host in wanted.group.hosts} if wanted.group else ()
    found = []
    for each in seen.hosts:
        status, name = mapping(each, "status"), mapping(each, "metadata").get("name")
        installs = mapping(status, "provisioning").get("state") in _INSTALLS
        if name in names and installs and _number(status, "errorCount") >= _TRIES:
            found.append(f"{name} ({str(status.get('errorMessage'))[:200]})")
    return f"hosts fail to install: {few(found, 2)}" if len(found) >= least else ""


def _revision(body: Json) -> Any:
    """The fields of an object for which machines are replaced."""
    spec = mapping(body, "spec")
    if body.get("kind") == CONTROL_PLANE:
        template = mapping(spec, "machineTemplate", "spec", "infrastructureRef")
        return spec.get("version"), template.get("name")
    template = mapping(spec, "template", "spec")
    return {key: template[key] for key in _ROLLS if template.get(key)}


def _unlike(body: Json, **wanted: str) -> str:
    """The first condition that is not as wanted, in words; empty where all are."""
    for name, status in wanted.items():
        found = _condition(body, name)
        if found.get("status") != status:
            return _words(found) or f"its condition {name} is not {status}"
    return ""


def _moved(body: Json, moment: Moment, *names: str) -> list[float]:
    """When conditions got their status; now, where they do not say."""
    found = [_condition(body, each) for each in names]
    return [_time(c.get("lastTransitionTime"), moment.now) if c else 0.0 for c in found]


def _condition(body: Json, name: str) -> Json:
    found = items(mapping(body, "status"), "conditions")
    return next((each for each in found if each.get("type") == name), {})


def _words(condition: Json) -> str:
    return " ".join(str(condition.get("message") or "").split())[:300]


def _hint(body: Json) -> str:
    """What the controllers complain of, where they do."""
    said = _words(_condition(body, "MachinesReady"))
    return f" ({said})" if said else ""


def _machines(machine_set: Json) -> int:
    """The machines that a MachineSet has or is to have."""
    return max(_number(mapping(machine_set, each), "replicas") for each in ("spec", "status"))


def _owner(machine_set: Json) -> Any:
    found = items(mapping(machine_set, "metadata"), "ownerReferences")
    return next((each.get("name") for each in found if each.get("kind") == DEPLOYMENT), None)


def _number(holder: Json, name: str) -> int:
    """A number of an object; 0 where it has none."""
    found = holder.get(name)
    return found if type(found) is int else 0


def _time(text: Any, otherwise: float) -> float:
    try:
        return datetime.fromisoformat(str(text)).timestamp()
    except ValueError:
        return otherwise
