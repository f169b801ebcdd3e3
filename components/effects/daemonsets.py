"""Effects of a DaemonSet change: its pods run on every host that they fit, one each.

Source: Kubernetes 1.34, pkg/controller/daemon (daemon_controller.go, update.go) and
pkg/apis/apps (v1/defaults.go, validation/validation.go).
"""

from components.effects import Effects, Field, Impact, ObjectChange, SiteChange, pods
from components.effects.applying import effect, former
from components.effects.placement import Fit, running
from components.effects.table import read_kinds
from components.making.manifest import Json, Manifest, Target
from schemas.kubernetes.bodies import mapping

CONTROLLER = "Kubernetes 1.34, pkg/controller/daemon/daemon_controller.go"
UPDATE = "Kubernetes 1.34, pkg/controller/daemon/update.go"
PREEMPTION = "Kubernetes 1.34, pkg/scheduler/framework/preemption/preemption.go"
ON_DELETE = "OnDelete"


def template(site: SiteChange, change: ObjectChange, field: Field) -> Effects:
    """A changed pod template: the pods are replaced host by host, unless only deleting renews
    them; where they fit no more they go at once."""
    before, after = former(change), change.one
    its = f"pods of {after.title}"
    if after.target is not Target.SITE:
        why = f"the {its} are replaced {pods.ELSEWHERE}"
        yield effect(change, field, Impact.NONE, why, UPDATE)
        return
    stay, move = pods.moves(site, before, after)
    if move:
        maybe = "may " if Fit.MAYBE in move.values() else ""
        why = f"the {its} {maybe}come to hosts or leave them, as they fit others than before"
        yield from pods.restart(site, change, field, (why, CONTROLLER), move)
    if _strategy(after).get("type") == ON_DELETE:
        why = f"the {its} stay as they are until someone deletes them (updateStrategy OnDelete)"
        yield effect(change, field, Impact.NONE, why, UPDATE)
    elif stay or not move:
        hosts = running(site.side, stay)
        words = (f"the {its} restart, {_pace(after, hosts)}", UPDATE)
        yield from pods.restart(site, change, field, words, stay)


def _strategy(manifest: Manifest) -> Json:
    return mapping(manifest.body, "spec", "updateStrategy")


def _pace(manifest: Manifest, hosts: int) -> str:
    """How many restart at a time: one, unless the rollout says otherwise."""
    rolling = mapping(_strategy(manifest), "rollingUpdate")
    surge = pods.scale(rolling.get("maxSurge") or 0, hosts)
    if surge:
        return f"each new one beside the old one first, on {surge} at a time"
    count = pods.scale(rolling.get("maxUnavailable") or 1, hosts)
    return "all at once" if count >= hosts > 1 else f"{count} at a time"


def strategy(site: SiteChange, change: ObjectChange, field: Field) -> Effects:
    """Pods that were left alone with an old template are replaced once that is no longer so."""
    before, after = former(change), change.one
    kinds = [_strategy(each).get("type") for each in (before, after)]
    if kinds[0] != ON_DELETE or kinds[1] == ON_DELETE:
        why = "how pods are replaced when the template changes; none is replaced by that"
        return [effect(change, field, Impact.NONE, why, UPDATE)]
    both = pods.on_both(site, pods.places(site.after, after))
    hosts = {name: Fit.MAYBE for name, fit in both.items() if fit is not Fit.NO}
    its = f"pods of {after.title}"
    why = f"those {its} that still have an older template restart, {_pace(after, len(hosts))}"
    return pods.restart(site, change, field, (why, UPDATE), hosts, running(site.side, hosts))


def addition(site: SiteChange, change: ObjectChange, field: Field) -> Effects:
    """A new DaemonSet starts a pod on every host that it fits."""
    why = f"a pod of {change.one.title} starts on each host that it fits"
    if (pods.pod_spec(change.one) or {}).get("priorityClassName"):
        why += "; where a host is full it preempts pods of lower priority"
    hosts = pods.on_both(site, pods.places(site.after, change.after))
    yield from pods.restart(site, change, field, (why, f"{CONTROLLER}, {PREEMPTION}"), hosts)


def removal(site: SiteChange, change: ObjectChange, field: Field) -> Effects:
    """A DaemonSet that is deleted takes its pods with it, all at once."""
    hosts = pods.on_both(site, pods.places(site.before, change.before))
    words = (f"all pods of {change.one.title} stop, and do not come back", CONTROLLER)
    yield from pods.restart(site, change, field, words, hosts)


def replacement(site: SiteChange, change: ObjectChange, field: Field) -> Effects:
    """A replaced DaemonSet: no rollout holds its pods back."""
    words = ("all its pods stop at once, and new ones start", CONTROLLER)
    return pods.restart(site, change, field, words, pods.on_either(site, change))


(DAEMON_SET,) = read_kinds(globals()).kinds
