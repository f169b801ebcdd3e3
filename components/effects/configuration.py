"""Effects of changes to ConfigMaps and Secrets on the pods that read them. Readers are found among
the objects of the same site and cluster.

Source: Kubernetes 1.34, pkg/kubelet (kubelet_pods.go, pod_workers.go, util/manager/
watch_based_manager.go), pkg/volume/configmap and secret, pkg/apis/core/validation/validation.go.
"""

from collections.abc import Iterator
from typing import NamedTuple

from components.effects import Effects, Field, Impact, Name, ObjectChange, Side, SiteChange
from components.effects.applying import FORCE_NEW, effect, former, not_known
from components.effects.networks import settings
from components.effects.pods import TEMPLATES, pod_spec
from components.effects.rules import say_more
from components.effects.table import read_kinds
from components.making.manifest import Json, Manifest
from components.making.told import Told
from schemas.kubernetes.bodies import items, mapping

TOLD = Told(__file__)
KUBELET = "Kubernetes 1.34, pkg/kubelet"
REFRESHED = f"{KUBELET}/pod_workers.go, {KUBELET}/util/manager/watch_based_manager.go"
FIXED_THERE = f"{KUBELET}/kubelet_pods.go (makeMounts, makeEnvironmentVariables)"
NOBODY = "foresite, components/effects/configuration.py"

_NAMES = {
    "ConfigMap": ("configMap", "name", "configMapKeyRef", "configMapRef"),
    "Secret": ("secret", "secretName", "secretKeyRef", "secretRef"),
}
"""For each kind: its volume source, the field with the name in it, and its two forms in env."""


class Reader(NamedTuple):
    """An object whose pods read a ConfigMap or a Secret: ``fixed`` if some container gets it by
    environment or subPath, which stays as it is until the pod is created again."""

    name: Name
    manifest: Manifest
    fixed: bool


def readers(side: Side | None, read: Manifest) -> Iterator[Reader]:
    """The objects of a side whose pods read another one."""
    for name, manifest in side.objects.items() if side else ():
        same = manifest.target is read.target and manifest.key[2] == read.key[2]
        spec = pod_spec(manifest) if same else None
        if not spec:
            continue
        mounted, fixed = _uses(spec, read.kind, read.key[3])
        if mounted or fixed:
            yield Reader(name, manifest, fixed)


def _uses(spec: Json, kind: str, name: str) -> tuple[bool, bool]:
    """Whether pods of a spec read an object at all, and whether they do in a form that stays."""
    volumes = {str(each.get("name")) for each in items(spec, "volumes") if _holds(each, kind, name)}
    mounted, fixed = bool(volumes), False
    for key in ("containers", "initContainers", "ephemeralContainers"):
        for container in items(spec, key):
            fixed = fixed or _in_environment(container, kind, name)
            for mount in items(container, "volumeMounts"):
                partly = mount.get("subPath") or mount.get("subPathExpr")
                fixed = fixed or bool(partly and mount.get("name") in volumes)
    secrets = items(spec, "imagePullSecrets") if kind == "Secret" else []
    pulls = any(each.get("name") == name for each in secrets)
    return mounted or pulls, fixed


def _holds(volume: Json, kind: str, name: str) -> bool:
    source, named, _, _ = _NAMES[kind]
    if mapping(volume, source).get(named) == name:
        return True
    projected = items(mapping(volume, "projected"), "sources")
    return any(mapping(each, source).get("name") == name for each in projected)


def _in_environment(container: Json, kind: str, name: str) -> bool:
    _, _, key_ref, whole_ref = _NAMES[kind]
    single = (mapping(each, "valueFrom", key_ref) for each in items(container, "env"))
    whole = (mapping(each, whole_ref) for each in items(container, "envFrom"))
    return any(each.get("name") == name for each in (*single, *whole))


def _restarts(site: SiteChange, reader: Reader) -> bool:
    """True if the same change gives a reader another pod template, or adds or removes it."""
    change = site.changes.get(reader.name)
    if change is None:
        return False
    at = TEMPLATES[reader.manifest.group_kind]
    whole = change.before is None or change.after is None
    inside = (each for each in change.fields if each.path[0] != "metadata")
    return whole or any(each.path[: len(at)] == at for each in inside)


def content(site: SiteChange, change: ObjectChange, field: Field) -> Effects:
    """Other content: who reads it, and when."""
    old = former(change)
    if old.key != change.one.key:
        yield from removal(site, change, field)
        return
    if immutable(site, change, field):
        yield from _TABLE.judges["refused"](site, change, field)
        return
    known = settings(site, change, field)
    if known is not None:
        yield from known
        return
    found = _both(site, change)
    if not found:
        yield from _nobody(site, change, field)
        return
    stale = [each for each in found if not _restarts(site, each)]
    if not stale:
        why = "pods that read it get another template too: their restart is judged there"
        yield effect(change, field, Impact.NONE, why, NOBODY)
    for fixed in (False, True):
        mine = [each for each in stale if each.fixed is fixed]
        if mine:
            who = ", ".join(each.manifest.title for each in mine)
            why = TOLD.say("by_environment" if fixed else "in_place", who=who)
            source = FIXED_THERE if fixed else REFRESHED
            yield effect(change, field, Impact.NONE, why, source)


def _both(site: SiteChange, change: ObjectChange) -> list[Reader]:
    """The readers on either side, once each; pods that run are of the earlier one."""
    found: dict[Name, Reader] = {}
    for side, read in ((site.after, change.after), (site.before, change.before)):
        for each in readers(side, read) if read else ():
            known = found.get(each.name)
            found[each.name] = each._replace(fixed=each.fixed or bool(known and known.fixed))
    return list(found.values())


def immutable(_site: SiteChange, change: ObjectChange, _field: Field) -> bool:
    """True of an object that says so; one that is not created again the API server refuses."""
    return former(change).body.get("immutable") is True


def _nobody(site: SiteChange, change: ObjectChange, field: Field) -> Effects:
    why = f"no object of this site reads {change.one.title}, so who does is not known"
    return not_known(why, NOBODY)(site, change, field)


def replacement(site: SiteChange, change: ObjectChange, field: Field) -> Effects:
    """Deleted and created again under one name: readers get the new content, unless their kubelet
    has stopped looking, as it does for what is immutable."""
    old = former(change)
    if not immutable(site, change, field) or old.key != change.one.key:
        yield from content(site, change, field)
        return
    mutable = old._replace(body={**old.body, "immutable": False})
    words = "it was immutable, so running pods keep the old content"
    yield from say_more(content(site, change._replace(before=mutable), field), words)


def removal(site: SiteChange, change: ObjectChange, field: Field) -> Effects:
    """A removed object: running pods keep what they have, and new ones need it to start."""
    old = former(change)
    still = list(readers(site.after, old))
    if still:
        who = ", ".join(each.manifest.title for each in still)
        why = f"pods of {who} still name it: those that run go on, new ones wait for it to be there"
        yield effect(change, field, Impact.NONE, why, f"{KUBELET}/kubelet_pods.go")
    elif list(readers(site.before, old)):
        why = "no pod of the site's objects reads it any more"
        yield effect(change, field, Impact.NONE, why, NOBODY)
    else:
        yield from _nobody(site, change, field)


_TABLE = read_kinds({"FORCE_NEW": FORCE_NEW, **globals()})
CONFIGURATION = _TABLE.kinds
CONFIG_MAP = _TABLE.kind("ConfigMap")
