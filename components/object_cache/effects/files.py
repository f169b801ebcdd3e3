"""Effects of changes to the files that the cache's programs read: buckets, hosts, Envoy's
bootstrap. None restarts a pod by itself; a template that does so is judged at the DaemonSet."""

from collections.abc import Callable

from components.effects import Effect, Effects, Field, FieldChange, Impact, ObjectChange, SiteChange
from components.effects.applying import effect, former
from components.effects.configuration import CONFIG_MAP, REFRESHED, content
from components.effects.rules import say_more
from components.making.told import Told
from components.object_cache.effects import listed
from components.object_cache.effects.buckets import meaning as of_bucket
from components.object_cache.effects.moved import cache_move, percent
from components.object_cache.effects.section import cache_of
from components.object_cache.limits import FILTER
from components.object_cache.names import BOOTSTRAP, BUCKETS, CLUSTER, ENDPOINTS

WATCHED = "Envoy 1.39, api/envoy/config/core/v3/config_source.proto (watched_directory)"
BUCKET_FILE = "the operator's bucket configuration; cache-server/"
TOLD = Told(__file__)
_SOON = "within about two minutes, one after the other, and no pod restarts"


def data(site: SiteChange, change: ObjectChange, field: Field) -> Effects:
    """Other content of a file; who reads it otherwise than the two programs is not known."""
    judge = _FILES.get(change.one.key[3])
    if field is None or judge is None or former(change).key != change.one.key:
        return content(site, change, field)
    return judge(site, change, field)


def _read_at_start(site: SiteChange, change: ObjectChange, field: FieldChange) -> list[Effect]:
    """Empty where some pods read the file again without a restart, which they may or may not use;
    else what is said of their restart."""
    found = list(content(site, change, field))
    return [] if any(each.source == REFRESHED for each in found) else found


def buckets(site: SiteChange, change: ObjectChange, field: FieldChange) -> Effects:
    """The servers' buckets: what is lost is copies, which is a cache's to lose."""
    means = of_bucket(site, field)
    cache = cache_of(site.side)
    if restarted := _read_at_start(site, change, field):
        yield from say_more(restarted, means, BUCKET_FILE)
    elif cache and cache.server.reloads_config:
        why = f"each server reads it again (server.reloads_config), {_SOON}; {means}"
        yield effect(change, field, Impact.NONE, why, f"{REFRESHED}; {BUCKET_FILE}")
    else:
        yield from say_more(content(site, change, field), means, BUCKET_FILE)


def endpoints(site: SiteChange, change: ObjectChange, field: FieldChange) -> Effects:
    """The hosts that Envoys watch: each field of an endpoint that can change has its meaning."""
    last = field.path[-1]
    if "socket_address" in field.path and last == "address":
        means = (listed.NOT_YET, listed.ADDRESSES)
    elif last == "port_value":
        means = (TOLD.say("port"), listed.MAGLEV)
    else:
        means = listed.describe_hosts(site, field, _routes(site))
    why = f"each Envoy reads it again, {_SOON}; {means[0]}"
    yield effect(change, field, Impact.NONE, why, f"{WATCHED}; {REFRESHED}; {means[1]}")


def _routes(site: SiteChange) -> str:
    """The keys that move by the tables of both sides."""
    found = cache_move(site)
    if found is None:
        return TOLD.say("no_routes")
    return TOLD.say("moved", percent=percent(found.moved)) if found.moved else listed.NO_KEY


_ROUTING = {"cluster_type", "eds_cluster_config", "load_assignment", "maglev_lb_config", "type"}
"""Fields of the servers' cluster by which Envoy finds the host of a key."""
_HASHING = {"hash_policy", "lb_policy", "load_balancing_policy"}


def bootstrap(site: SiteChange, change: ObjectChange, field: FieldChange) -> Effects:
    """The file that Envoys read when they start; some of it decides where keys are."""
    steps = set(field.path)
    if steps & _HASHING:
        means = TOLD.say("hashing")
    elif CLUSTER in steps and steps & _ROUTING:
        means = TOLD.say("routing", routes=_routes(site))
    else:
        means = TOLD.say("limited" if FILTER in steps else "no_key")
    yield from say_more(content(site, change, field), means, listed.MAGLEV)


_FILES: dict[str, Callable[[SiteChange, ObjectChange, FieldChange], Effects]] = {
    BUCKETS: buckets,
    ENDPOINTS: endpoints,
    BOOTSTRAP: bootstrap,
}
FILES = CONFIG_MAP._replace(fields=(*CONFIG_MAP.fields, ("data", data)))
"""The rules of ConfigMaps, with what these three files mean."""
