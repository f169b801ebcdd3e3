"""Configuration of NVIDIA's GPU operator: a ClusterPolicy, and an NVIDIADriver for each pool."""

from components.accelerators.names import COMPONENT, Served, metadata, served_pools
from components.accelerators.sharing import CONFIG, DEFAULT, operator_config
from components.making.daemons import MAX_UNAVAILABLE, namespace
from components.making.manifest import Json, Manifest, documents, fill, prune, site_object
from schemas.facts.feature_gates import uses_gpu_operator
from schemas.facts.site import Site
from schemas.kubernetes.node_labels import POOL_LABEL
from schemas.model.accelerators import GpuOperator

_POLICY, _DRIVER, _UPGRADE = documents(__file__)
_OFF = {"enabled": False}


def operator(site: Site) -> list[Manifest]:
    """The objects that the GPU operator reads, and its namespace; none where it serves no pool."""
    settings = site.file.accelerators
    pools = [each for each in served_pools(site) if uses_gpu_operator(site, each.model)]
    if settings is None or settings.gpu_operator is None or not pools:
        return []
    chosen = settings.gpu_operator
    drivers = [_driver(site, each) for each in pools] if chosen.drivers else []
    return [
        namespace(site, chosen.namespace, COMPONENT, level="privileged"),
        *operator_config(site, chosen.namespace, pools if _plugs(site, pools) else []),
        _policy(site, chosen, pools),
        *drivers,
    ]


def _plugs(site: Site, pools: list[Served]) -> bool:
    """True if the operator runs its device plugin."""
    return not all(site.uses_dra(each.model) for each in pools)


def _policy(site: Site, chosen: GpuOperator, pools: list[Served]) -> Manifest:
    plugs, slices = _plugs(site, pools), any(p.pool.sharing and p.pool.sharing.mig for p in pools)
    configured = {"name": CONFIG, "default": DEFAULT}
    shares = configured if operator_config(site, chosen.namespace, pools) else None
    exports = any(each.record.exporter for each in pools)
    classes = sorted({each.record.runtime_class for each in pools if each.record.runtime_class})
    # It divides the cards of the nodes that have the label, and leaves the others undivided.
    divides = {**_part(site, "mig-manager"), "config": {"default": "all-disabled"}}
    values = {
        # The models' own, or the operator's default.
        "runtime_class": classes[0] if classes else "nvidia",
        "at_once": MAX_UNAVAILABLE,
        "driver": _drivers(chosen, pools),
        "toolkit": _part(site, "container-toolkit"),
        # With a DRA driver the same devices would be handed out twice.
        "plugin": {**_part(site, "device-plugin"), "config": shares} if plugs else _OFF,
        "mig": "mixed" if slices else "none",
        "mig_manager": divides if slices else _OFF,
        "discovery": _part(site, "device-plugin"),
        "exporter": _part(site, "exporter") if exports else _OFF,
        "validator": site.images.get("nvidia-gpu-operator"),
    }
    named = metadata(site, "cluster-policy")
    found = site_object("ClusterPolicy", "nvidia.com/v1", named, spec=prune(fill(_POLICY, values)))
    return found._replace(protect=True)


def _part(site: Site, name: str) -> Json:
    """A part of the operator with the release's image; without one the operator's own default."""
    return {"enabled": True, "image": site.images.get(f"nvidia-{name}")}


def _drivers(chosen: GpuOperator, pools: list[Served]) -> Json:
    """The installation and the upgrade of drivers."""
    if not chosen.drivers:
        return _OFF
    patience = max(each.pool.rollout.drain_timeout_seconds for each in pools)
    values = {"number": chosen.max_parallel_upgrades, "patience": patience}
    policy = fill(_UPGRADE, values) if chosen.max_parallel_upgrades else {"autoUpgrade": False}
    return {"enabled": True, "useNvidiaDriverCRD": True, "upgradePolicy": policy}


def _driver(site: Site, each: Served) -> Manifest:
    """The driver of a pool, at its model's version: new branches drop old devices."""
    values = {
        "version": each.record.driver,
        "manager": site.images.get("nvidia-driver-manager"),
        "pool": {POOL_LABEL: each.pool.name},
    }
    spec, named = prune(fill(_DRIVER, values)), metadata(site, each.pool.name)
    logical, api = f"NVIDIADriver/{each.pool.name}", "nvidia.com/v1alpha1"
    return site_object(logical, api, named, spec=spec)._replace(protect=True)
