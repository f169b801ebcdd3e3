"""Effects of a restart of the cache's two programs on objects and on those who request them.

The hosts, and how many restart at a time, are the DaemonSet's own rules to say.

Sources: Kubernetes 1.34, pkg/controller/daemon, pkg/volume/hostpath (a folder of the host is
neither made nor emptied), pkg/kubelet/kuberuntime (killContainer: first the hook, then the signal,
both within the grace period), pkg/scheduler/framework/plugins/defaultpreemption; pfio 2.10,
pfio/cache/http_cache.py (no answer is a miss).
"""

from collections.abc import Callable, Iterable

from components.effects.applying import former
from components.effects.bodies import items, mapping
from components.effects.rules import Judge
from components.effects.vocabulary import (
    ABSENT,
    Effects,
    Field,
    FieldChange,
    Impact,
    ObjectChange,
    SiteChange,
)
from components.object_cache.effects.buckets import EVICTS
from components.object_cache.effects.section import cache_of
from components.object_cache.names import (
    AUDIENCE_VARIABLE,
    CAPACITY_VARIABLE,
    CONFIG_VARIABLE,
    DRAIN_OPTION,
    ENVOY,
    NAME_LABEL,
    PORT_VARIABLE,
    SERVER,
)
from schemas.kubernetes.quantities import in_bytes, thousandths
from schemas.model.object_cache import Cache
from schemas.model.vocabulary import CacheDiscovery

FOLDERS = "Kubernetes 1.34, pkg/volume/hostpath/host_path.go"
STOPPING = "Kubernetes 1.34, pkg/kubelet/kuberuntime/kuberuntime_container.go"
TOKENS = "Kubernetes 1.34, pkg/serviceaccount/jwt.go (audiences)"
PREEMPTION = (
    "Kubernetes 1.34, pkg/scheduler/framework/plugins/defaultpreemption/default_preemption.go"
)
_MAKES_ROOM = (
    "where a host is full, pods of lower priority are evicted to make room, and jobs of theirs may "
    "end: these pods are system-node-critical"
)
_STAYS = (
    "no host is drained, and objects stay on the disks: those of a server that restarts are misses "
    "meanwhile"
)
_MISSES = "objects of a host whose server stops are misses"


def add_restart_notes(
    judge: Judge, site: SiteChange, change: ObjectChange, field: Field
) -> Effects:
    """``judge`` for a DaemonSet, with the effect of its pods' restart on the cache."""
    notes, source = _notes(site, change, field)
    joins = _joins(site, change)
    for each in judge(site, change, field):
        why = each.why
        if joins:
            why = f"pods of {change.one.title} start on the pool's hosts once they are machines"
        if notes and (joins or each.impact is Impact.POD_RESTART):
            why = "; ".join((why, *notes))
            each = each._replace(source=f"{each.source}, {source}")
        yield each._replace(why=why)


def _joins(site: SiteChange, change: ObjectChange) -> bool:
    """True if a new DaemonSet is that of a pool whose hosts are all new."""
    if change.before is not None or site.before is None or site.after is None:
        return False
    hosts = site.after.fleet.hosts_of(change.one.name.rpartition("/")[2])
    return bool(hosts) and {host.name for host in hosts}.isdisjoint(site.before.fleet.names)


def _notes(site: SiteChange, change: ObjectChange, field: Field) -> tuple[list[str], str]:
    """Further notes for a reviewer, and their source."""
    program = mapping(change.one.body, "metadata", "labels").get(NAME_LABEL)
    if program not in (ENVOY, SERVER):
        return [], ""
    server = program == SERVER
    found = list((_server if server else _envoy)(site, change, field))
    source = FOLDERS if server else STOPPING
    if _takes_more(field):
        return [*found, _MAKES_ROOM], f"{source}, {PREEMPTION}"
    if server and field is not None and AUDIENCE_VARIABLE in field.path:
        source = f"{source}, {TOKENS}"
    return found, source


def _envoy(site: SiteChange, change: ObjectChange, field: Field) -> Iterable[str]:
    if change.before is None:
        if cache_of(site.before) is None:
            yield "pods reach the cache once some are ready"
        return
    if change.after is None:
        yield "no request finds the cache any more: jobs go on, and read from the origin"
        return
    seconds = _drain_seconds(change)
    most = f"have {seconds} s to end" if seconds else "may break"
    yield f"requests that one carries {most}, and new connections go to others; no host is drained"
    if field is not None and "ports" in field.path:
        yield (
            "the Service goes by the name of the pods' port, so that each is asked where it "
            "listens, before its restart and after it"
        )


def _drain_seconds(change: ObjectChange) -> str:
    """The seconds for which stopping Envoys go on; empty where they are not configured."""
    spec = mapping(former(change).body, "spec", "template", "spec")
    for container in items(spec, "containers"):
        words = [str(each) for each in container.get("args") or ()]
        if DRAIN_OPTION in words[:-1]:
            return words[words.index(DRAIN_OPTION) + 1]
    return ""


def _server(site: SiteChange, change: ObjectChange, field: Field) -> Iterable[str]:
    before, after = cache_of(site.before), cache_of(site.after)
    if change.before is None:
        at = after.data_path if after else "its data path"
        yield f"where a host has no folder {at} its pod waits for one"
        return
    if change.after is None:
        yield f"{_MISSES}, and {_lost_objects(before, after)}"
        return
    yield _STAYS
    if before and after and field is not None:
        yield from _of_field(before, after, field)


def _lost_objects(before: Cache | None, after: Cache | None) -> str:
    """The fate of the objects on the disks of servers that go."""
    if before and before.image_layers and after is None:
        return (
            "their objects stay on the disks, and are lost with these when hosts are installed "
            "again, because hosts no longer look for image layers in the cache"
        )
    return "their objects stay on the disks until a person deletes them"


def _of_field(before: Cache, after: Cache, field: FieldChange) -> Iterable[str]:
    """The notes on a field besides the restart of its pods."""
    steps = set(field.path)
    if before.data_path != after.data_path and "volumes" in steps:
        yield (
            f"the cache starts empty in {after.data_path}, and the folder must exist; the objects "
            f"in {before.data_path} are not used, and take space until a person deletes them"
        )
    if "runAsUser" in steps:
        yield (
            f"existing files belong to user {before.server.user}: until a person gives them to "
            f"user {after.server.user} the server may neither read nor delete them"
        )
    for variable, says in _VARIABLES.items():
        if variable in steps:
            yield from says(before, after)


def _port(before: Cache, after: Cache) -> Iterable[str]:
    if before.server.port == after.server.port:
        return
    if after.discovery is CacheDiscovery.DNS:
        yield (
            "each Envoy asks the servers at the new port from its own restart on, and each server "
            "answers there from its own on: where only one of two has restarted, objects are misses"
        )
    else:
        yield (
            "Envoys ask every server at the new port within about two minutes, and it answers "
            "there after its restart: until then its objects are misses, or with other hosts"
        )


def _capacity(before: Cache, after: Cache) -> Iterable[str]:
    sizes = [in_bytes(each.capacity) for each in (before, after)]
    if sizes[1] < sizes[0]:
        yield f"a server that keeps more than {after.capacity} makes room: {EVICTS}"
    elif sizes[1] > sizes[0]:
        yield f"each server may keep {after.capacity}; nothing is deleted"


def _audience(before: Cache, after: Cache) -> Iterable[str]:
    if before.audience != after.audience:
        yield (
            f"running pods have tokens for {before.audience}, which a server refuses after its "
            "restart: such a pod gets misses of objects that are not public, and stores nothing, "
            f"until it is created again with tokens for {after.audience}; servers refuse these "
            "until their own restart"
        )


def _config(before: Cache, after: Cache) -> Iterable[str]:
    if before.server.config_path != after.server.config_path:
        yield f"servers find their buckets in {after.server.config_path} after their restart"


_VARIABLES: dict[str, Callable[[Cache, Cache], Iterable[str]]] = {
    PORT_VARIABLE: _port,
    CAPACITY_VARIABLE: _capacity,
    AUDIENCE_VARIABLE: _audience,
    CONFIG_VARIABLE: _config,
}


def _takes_more(field: Field) -> bool:
    """True if pods are to be guaranteed more than before."""
    if field is None or "requests" not in field.path:
        return False
    sides = (field.before, field.after)
    old, new = (thousandths(str(each)) if each is not ABSENT else 0 for each in sides)
    return new > old
