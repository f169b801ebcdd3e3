"""Effects of a restart of the cache's two programs on objects and on those who request them; which
hosts, and how many at a time, the DaemonSet's own rules say."""

from collections.abc import Iterable

from components.effects import ABSENT, Effects, Field, FieldChange, Impact, ObjectChange, SiteChange
from components.effects.applying import former
from components.effects.rules import Judge
from components.making.told import Told
from components.object_cache import names
from components.object_cache.effects.buckets import EVICTS
from components.object_cache.effects.section import cache_of
from schemas.kubernetes.bodies import items, mapping
from schemas.kubernetes.quantities import in_bytes, thousandths
from schemas.model.object_cache import Cache
from schemas.model.vocabulary import CacheDiscovery

TOLD = Told(__file__)
SOURCES = TOLD.table("sources")


def note_restarts(judge: Judge, site: SiteChange, change: ObjectChange, field: Field) -> Effects:
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
    program = mapping(change.one.body, "metadata", "labels").get(names.NAME_LABEL)
    if program not in (names.ENVOY, names.SERVER):
        return [], ""
    server = program == names.SERVER
    found = list((_server if server else _envoy)(site, change, field))
    source = SOURCES["folders" if server else "stopping"]
    if _takes_more(field):
        return [*found, TOLD.say("makes_room")], f"{source}, {SOURCES['preemption']}"
    if server and field is not None and names.AUDIENCE_VARIABLE in field.path:
        source = f"{source}, {SOURCES['tokens']}"
    return found, source


def _envoy(site: SiteChange, change: ObjectChange, field: Field) -> Iterable[str]:
    if change.before is None:
        yield from [TOLD.say("reached")] if cache_of(site.before) is None else []
        return
    if change.after is None:
        yield TOLD.say("unreached")
        return
    seconds = _drain_seconds(change)
    yield TOLD.say("drains", most=f"have {seconds} s to end" if seconds else "may break")
    if field is not None and "ports" in field.path:
        yield TOLD.say("ports")


def _drain_seconds(change: ObjectChange) -> str:
    """The seconds for which stopping Envoys go on; empty where they are not configured."""
    spec = mapping(former(change).body, "spec", "template", "spec")
    for container in items(spec, "containers"):
        words = [str(each) for each in container.get("args") or ()]
        if names.DRAIN_OPTION in words[:-1]:
            return words[words.index(names.DRAIN_OPTION) + 1]
    return ""


def _server(site: SiteChange, change: ObjectChange, field: Field) -> Iterable[str]:
    before, after = cache_of(site.before), cache_of(site.after)
    if change.before is None:
        at = after.data_path if after else "its data path"
        yield f"where a host has no folder {at} its pod waits for one"
        return
    if change.after is None:
        layers = before and before.image_layers and after is None
        yield TOLD.say("stop_with_layers" if layers else "stop")
        return
    yield TOLD.say("stays")
    if before and after and field is not None:
        yield from _of_field(before, after, field)


def _of_field(before: Cache, after: Cache, field: FieldChange) -> Iterable[str]:
    """The notes on a field besides the restart of its pods: on each setting of its that differs."""
    sizes = [in_bytes(each.capacity) for each in (before, after)]
    port = "port_by_dns" if after.discovery is CacheDiscovery.DNS else "port"
    more = "capacity_less" if sizes[1] < sizes[0] else "capacity_more"
    notes: dict[str, tuple[str, object, object]] = {
        "volumes": ("data_path", before.data_path, after.data_path),
        "runAsUser": ("user", before.server.user, after.server.user),
        names.PORT_VARIABLE: (port, before.server.port, after.server.port),
        names.CAPACITY_VARIABLE: (more, sizes[0], sizes[1]),
        names.AUDIENCE_VARIABLE: ("audience", before.audience, after.audience),
        names.CONFIG_VARIABLE: ("config", before.server.config_path, after.server.config_path),
    }
    texts = {"evicts": EVICTS, "capacity": after.capacity}
    for step, (name, was, now) in notes.items():
        if step in field.path and (was != now or step == "runAsUser"):
            yield TOLD.say(name, was=was, now=now, **texts)


def _takes_more(field: Field) -> bool:
    """True if pods are to be guaranteed more than before."""
    if field is None or "requests" not in field.path:
        return False
    sides = (field.before, field.after)
    old, new = (thousandths(str(each)) if each is not ABSENT else 0 for each in sides)
    return new > old
