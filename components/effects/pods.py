"""Pods that come, go and restart: on which hosts of both sides, and how many of them at most."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from components.effects import Effects, Field, Impact, ObjectChange, Side, SiteChange, kinds
from components.effects.applying import effect
from components.effects.fleet import Group
from components.effects.placement import Fit, fits, tolerating
from components.making.manifest import Json, Manifest, Target
from schemas.kubernetes import quantities
from schemas.kubernetes.bodies import mapping

OUTSIDE = "labels of nodes that are not in Git decide where"
ELSEWHERE = "on the management cluster, and on no host of the site"
TEMPLATES = {
    "CronJob.batch": ("spec", "jobTemplate", "spec", "template"),
    kinds.DAEMON_SET: ("spec", "template"),
    kinds.DEPLOYMENT: ("spec", "template"),
    "Job.batch": ("spec", "template"),
    "ReplicaSet.apps": ("spec", "template"),
    "StatefulSet.apps": ("spec", "template"),
    "Pod": (),
}
"""Where each kind that makes pods keeps their template."""

Fits = Mapping[str, Fit]
"""Hosts by name, and whether pods run there."""


def pod_spec(manifest: Manifest) -> Json | None:
    """The spec of the pods that an object makes; None for an object that makes none."""
    if manifest.group_kind not in TEMPLATES:
        return None
    found = mapping(manifest.body, *TEMPLATES[manifest.group_kind], "spec")
    return tolerating(found) if manifest.group_kind == kinds.DAEMON_SET else found


def places(side: Side | None, manifest: Manifest | None) -> dict[str, Fit]:
    """The hosts of a side on which pods of an object run; none on the management cluster."""
    if side is None or manifest is None or manifest.target is not Target.SITE:
        return {}
    return fits(side, pod_spec(manifest) or {})


def moves(
    site: SiteChange, before: Manifest, after: Manifest
) -> tuple[dict[str, Fit], dict[str, Fit]]:
    """The hosts, of those that both sides have, where a DaemonSet's pods stay, and those where they
    come or go; a label outside Git may decide that."""
    old, new = places(site.before, before), places(site.after, after)
    same = _placement(before) == _placement(after)
    stay, move = dict[str, Fit](), dict[str, Fit]()
    for host in (each for each in new if each in old):
        pair = (old[host], new[host])
        if pair == (Fit.NO, Fit.NO):
            continue
        if pair == (Fit.YES, Fit.YES) or (pair[0] is pair[1] and same):
            stay[host] = pair[1]
        else:
            move[host] = Fit.MAYBE if Fit.MAYBE in pair else Fit.YES
    return stay, move


def _placement(manifest: Manifest) -> list[Any]:
    spec = pod_spec(manifest) or {}
    return [spec.get(key) for key in ("nodeName", "nodeSelector", "affinity", "tolerations")]


def on_both(site: SiteChange, hosts: Fits) -> dict[str, Fit]:
    """Those of the hosts that both sides have: what is new joins later, what goes is gone."""
    if site.before is None or site.after is None:
        return dict(hosts)
    there = set(site.before.fleet.names).intersection(site.after.fleet.names)
    return {name: fit for name, fit in hosts.items() if name in there}


def on_either(site: SiteChange, change: ObjectChange) -> dict[str, Fit]:
    """The hosts on which pods of either side of an object may run."""
    old = on_both(site, places(site.before, change.before))
    new = on_both(site, places(site.after, change.after))
    return {name: max(old.get(name, Fit.NO), new.get(name, Fit.NO)) for name in {**old, **new}}


def restart(
    site: SiteChange,
    change: ObjectChange,
    field: Field,
    words: tuple[str, str],
    hosts: Fits,
    limit: int | None = None,
) -> Effects:
    """Pods restart on the hosts, or on ``limit`` of them; ``words`` are why and the source. Spares
    run no pods, and labels outside Git may exclude hosts: then only some are concerned, so many of
    each group of machines."""
    why, source = words
    found = effect(change, field, Impact.POD_RESTART, why, source)
    if change.one.target is not Target.SITE:
        yield found._replace(impact=Impact.NONE, why=f"{why}; {ELSEWHERE}")
        return
    mine = {name: fit for name, fit in hosts.items() if fit is not Fit.NO}
    groups = [_Share.of(site, group, mine) for group in site.side.fleet.groups]
    count = sum(share.nodes for share in groups)
    if not mine or count == 0 or limit == 0:
        there = "but there are none" if mine else "but on no host of the site"
        yield found._replace(impact=Impact.NONE, why=f"{why}; {there}")
    elif limit is not None and limit < count:
        unsure = f"; {OUTSIDE}" if any(share.unsure for share in groups) else ""
        yield found._replace(why=why + unsure, hosts=tuple(mine), at_most=limit)
    else:
        sure = {name for share in groups if share.sure for name in share.hosts}
        if sure:
            yield found._replace(hosts=tuple(name for name in mine if name in sure))
        for share in groups:
            if share.hosts and not share.sure:
                unsure = f"; {OUTSIDE}" if share.unsure else ""
                yield found._replace(why=why + unsure, hosts=share.hosts, at_most=share.nodes)


class _Share(NamedTuple):
    """The hosts of a group of machines that may run a pod, and how many of them are nodes before
    and after; ``unsure`` where labels outside Git decide."""

    hosts: tuple[str, ...]
    nodes: int
    unsure: bool

    @classmethod
    def of(cls, site: SiteChange, group: Group, fits: Fits) -> "_Share":
        """The share of a group as it will be."""
        hosts = tuple(host.name for host in group.hosts if host.name in fits)
        before = site.before.fleet.groups if site.before else ()
        replicas = [each.replicas for each in before if each.owner == group.owner]
        unsure = any(fits[name] is Fit.MAYBE for name in hosts)
        return cls(hosts, min(len(hosts), group.replicas, *replicas), unsure)

    @property
    def sure(self) -> bool:
        """True if the pod runs on each of the hosts."""
        return not self.unsure and self.nodes == len(self.hosts)


def scale(value: Any, whole: int) -> int:
    """A number, or a percentage of ``whole``, rounded up; all of it where the value is neither."""
    found = quantities.scale(value, whole)
    return whole if found is None else found
