"""Labels of Machines: Cluster API copies some to their nodes in place, all at once, and takes off
those that a Machine no longer has (v1.13.6,
internal/controllers/machine/machine_controller_noderef.go, patchNode)."""

from components.effects import ABSENT, Effects, FieldChange, Impact, ObjectChange, SiteChange
from components.effects.applying import effect
from components.effects.placement import Fit, running
from components.effects.pods import Fits
from components.effects.relabelled import changed_labels, reselections
from components.machines.effects.concerned import limit_below, staying, value
from components.making.manifest import Manifest
from components.making.told import Told

TOLD = Told(__file__)
PATCHED = "Cluster API v1.13.6, internal/controllers/machine/machine_controller_noderef.go"
DAEMONS = "Kubernetes 1.34, pkg/controller/daemon/daemon_controller.go (podsShouldBeOnNode)"


def label_change(site: SiteChange, change: ObjectChange, field: FieldChange) -> Effects:
    """Labels go to each Machine, and those of some domains to its node: no machine is replaced.
    DaemonSets that select nodes by them come or go."""
    why = "labels go to each Machine and some to its node, in place: no machine is replaced for it"
    yield effect(change, field, Impact.NONE, why, PATCHED)
    for manifest, fits in reselections(site, staying(site, change), changed_labels(field)):
        yield from _moves(site, change, field, manifest, fits)


def taint_change(site: SiteChange, change: ObjectChange, field: FieldChange) -> Effects:
    """Taints go to each Machine and its node, in place; NoExecute evicts what runs there."""
    at = field.path[: field.path.index("taints") + 1]
    was, now = (value(each, *at) for each in change.both)
    coming = [] if now is ABSENT else [each for each in now if was is ABSENT or each not in was]
    why = "taints go to each Machine and its node, in place: no host restarts, pods that run stay"
    found = effect(change, field, Impact.NONE, why, PATCHED)
    if any(each["effect"] == "NoExecute" for each in coming):
        hosts = staying(site, change)
        why = TOLD.say("evicts")
        most = limit_below(hosts, running(site.side, hosts))
        found = found._replace(impact=Impact.DRAIN, why=why, hosts=hosts, at_most=most)
    yield found


def _moves(
    site: SiteChange, change: ObjectChange, field: FieldChange, found: Manifest, fits: Fits
) -> Effects:
    title, hosts, unsure = found.title, tuple(fits), Fit.MAYBE in fits.values()
    count = running(site.side, hosts)
    most = count if unsure else limit_below(hosts, count)
    if found.kind != "DaemonSet":
        why = f"{title} selects other nodes by this label: what its operator does is not known"
        yield effect(change, field, Impact.UNKNOWN, why, PATCHED, hosts=hosts, at_most=most)
        return
    why = TOLD.say("selects", title=title, maybe="may " if unsure else "")
    source = f"{PATCHED}; {DAEMONS}"
    yield effect(change, field, Impact.POD_RESTART, why, source, hosts=hosts, at_most=most)
