"""Effects of changes to how devices are requested: policies, classes, labels, expected devices."""

from components.accelerators.discovery import SEEN_DOMAIN
from components.accelerators.effects import concerned
from components.accelerators.effects.concerned import changes_allocation, hosts_where, unsure
from components.accelerators.effects.operator import MPS, restart
from components.accelerators.sharing import CONFIG
from components.effects import Effects, Field, ObjectChange, SiteChange
from components.effects.applying import not_known
from components.effects.configuration import content, readers
from components.effects.rules import harmless
from components.effects.table import read_kinds
from components.making.told import Told
from schemas.kubernetes.bodies import items

DEVICES = "Kubernetes 1.34, pkg/kubelet/cm/devicemanager/manager.go; KEP-5004"
PARTS = "NVIDIA/gpu-operator 26.3.3, controllers/object_controls.go"
MIG = "NVIDIA/mig-parted 0.15, deployments; NVIDIA, MIG User Guide (no process may use the card)"
TOLD = Told(__file__)
MASTER = "node-feature-discovery 0.19.0, pkg/nfd-master/nfd-api-controller.go"


def device_labels(site: SiteChange, change: ObjectChange, field: Field) -> Effects:
    """Labels that show a node's devices: harmless while nothing is placed by them."""
    every = (each for side in site.sides for each in side.objects.values())
    kinds = ("NodeFeatureRule.nfd.k8s-sigs.io", "ConfigMap")
    others = (each for each in every if each.group_kind not in kinds)
    placed = [each.title for each in others if SEEN_DOMAIN in str(each.body)]
    if placed:
        why = f"{', '.join(dict.fromkeys(placed))} may be placed by these labels"
        return not_known(why, MASTER)(site, change, field)
    rules = (rule for each in change.both if each for rule in items(each.body["spec"], "rules"))
    counts = any("extendedResources" in rule for rule in rules)
    return TABLE.judges["recounted" if counts else "unplaced"](site, change, field)


def expected_devices(site: SiteChange, change: ObjectChange, field: Field) -> Effects:
    """The number of devices that a host should show; who mounts it is judged as any reader. The
    operator's plugin reads its own by a label of the node."""
    if change.one.name == f"ConfigMap/{CONFIG}":
        return restart(TOLD.say("reload"), PARTS, site, change, field)
    read = any(True for side in site.sides for _ in readers(side, change.one))
    return (content if read else TABLE.judges["unread"])(site, change, field)


def shared(site: SiteChange, change: ObjectChange, field: Field) -> Effects:
    """Cards of a pool that are divided otherwise: nobody drains the hosts for it."""
    pool = change.one.name.rpartition("/")[2]
    served = concerned.served_on_sides(site)
    ways = [each.pool.sharing for each in served if each.pool.name == pool]
    hosts = hosts_where(site, lambda _, each: each.pool.name == pool)
    if any(each and each.mig for each in ways):
        yield unsure(change, field, (TOLD.say("slices"), MIG), hosts)
    elif all(each and each.mps for each in ways):
        yield unsure(change, field, (TOLD.say("clients"), MPS), hosts)
    elif all(each and each.time_slicing for each in ways):
        yield from TABLE.judges["reshared"](site, change, field)
    else:
        yield unsure(change, field, (TOLD.say("whole"), DEVICES), hosts)


def handover(
    otherwise: str, source: str, site: SiteChange, change: ObjectChange, field: Field
) -> Effects:
    """Devices allocated in one way change to the other: neither knows of the other's pods."""
    model = change.one.name.partition("/")[2]
    moved = changes_allocation(site)
    hosts = hosts_where(site, lambda _, each: each.model == model) if moved else {}
    if not hosts:
        return harmless(otherwise, source)(site, change, field)
    return [unsure(change, field, (TOLD.say("handover", model=model), DEVICES), hosts)]


TABLE = read_kinds(vars(concerned) | globals())
