"""Effects of changes to the GPU operator's objects, at the operator's 26.3."""

from components.accelerators.effects.concerned import by_operator, concerning, hosts_where, unsure
from components.accelerators.names import Served
from components.effects import Effect, Effects, Field, Impact, ObjectChange, SiteChange
from components.effects.applying import effect, former
from components.effects.placement import Fit, running
from components.effects.pods import scale
from components.effects.table import read_kinds
from components.making.daemons import MAX_UNAVAILABLE
from components.making.manifest import Json
from components.making.told import Told
from schemas.kubernetes.bodies import mapping
from schemas.kubernetes.node_labels import POOL_LABEL

UPGRADE = "NVIDIA/gpu-operator 26.3.3, controllers/upgrade_controller.go; k8s-operator-libs"
MPS = "NVIDIA/k8s-device-plugin 0.20.0, cmd/mps-control-daemon (quit, then a new daemon)"
TOLD = Told(__file__)
DRIVERS = "NVIDIA/gpu-operator 26.3.3, internal/state/driver.go"


def restart(why: str, source: str, site: SiteChange, change: ObjectChange, field: Field) -> Effects:
    """The pods of some parts restart; ``why`` has for ``{}`` how many at a time."""
    hosts = hosts_where(site, by_operator)
    rolling = mapping(change.one.body, "spec", "daemonsets", "rollingUpdate")
    count = scale(rolling.get("maxUnavailable", MAX_UNAVAILABLE), running(site.side, hosts))
    told = effect(change, field, Impact.POD_RESTART, why.format(max(1, count)), source)
    yield concerning(site, told, hosts)
    clients = hosts_where(site, lambda of, each: by_operator(of, each) and _by_mps(each))
    if clients and "device plugin" in why:
        yield unsure(change, field, (TOLD.say("clients"), MPS), clients)


def _by_mps(each: Served) -> bool:
    return each.pool.sharing is not None and each.pool.sharing.mps is not None


def served(why: str, source: str, site: SiteChange, change: ObjectChange, field: Field) -> Effects:
    """Nobody can tell what becomes of the hosts that the operator serves."""
    yield unsure(change, field, (why, source), hosts_where(site, by_operator))


def pool(why: str, source: str, site: SiteChange, change: ObjectChange, field: Field) -> Effects:
    """Nobody can tell what becomes of the hosts of an NVIDIADriver's pool."""
    yield unsure(change, field, (why, source), _pool_of(site, change))


def _upgrade_policy(body: Json) -> Json:
    return mapping(body, "spec", "driver", "upgradePolicy")


def automatic(site: SiteChange, change: ObjectChange, field: Field) -> Effects:
    """The switch of automatic driver upgrades: waiting upgrades begin now, or begin no more."""
    policy = _upgrade_policy(change.one.body)
    if policy.get("autoUpgrade") is not True:
        return [effect(change, field, Impact.NONE, TOLD.say("no_upgrade"), UPGRADE)]
    why = f"hosts whose driver is older than it should be are renewed now: {_renewal(policy)}"
    found = _drain_effect(change, field, why, policy)
    return [concerning(site, found, hosts_where(site, by_operator))]


def _drain_effect(change: ObjectChange, field: Field, why: str, policy: Json) -> Effect:
    return effect(change, field, Impact.DRAIN, why, UPGRADE, at_once=_at_a_time(policy))


def _at_a_time(policy: Json) -> int:
    """Hosts that are renewed at a time; the definition's default is 1."""
    count = policy.get("maxParallelUpgrades")
    return count if isinstance(count, int) and count > 0 else 1


def _renewal(policy: Json) -> str:
    """How a host's driver is renewed, and how many at a time."""
    wait = mapping(policy, "waitForCompletion").get("timeoutSeconds", 0)
    return TOLD.say("renewal", count=_at_a_time(policy), wait=wait)


def driver(site: SiteChange, change: ObjectChange, field: Field) -> Effects:
    """A field of an NVIDIADriver: any of them goes into the driver's pods."""
    every = site.after.objects.values() if site.after else ()
    mine = (each.body for each in every if each.group_kind == "ClusterPolicy.nvidia.com")
    policy = _upgrade_policy(next(mine, {}))
    if policy.get("autoUpgrade") is not True:
        return [effect(change, field, Impact.NONE, TOLD.say("stays"), DRIVERS)]
    why = f"the driver is renewed: {_renewal(policy)}"
    return [concerning(site, _drain_effect(change, field, why, policy), _pool_of(site, change))]


def _pool_of(site: SiteChange, change: ObjectChange) -> dict[str, Fit]:
    """The hosts of the pool that an NVIDIADriver selects."""
    sides = (former(change), change.one)
    names = {mapping(each.body, "spec", "nodeSelector").get(POOL_LABEL) for each in sides}
    return hosts_where(site, lambda _, each: each.pool.name in names)


KINDS = read_kinds(globals()).kinds
