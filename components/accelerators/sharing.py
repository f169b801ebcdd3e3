"""Configuration of NVIDIA's device plugin on pools whose cards take turns, or run MPS.

Sources: NVIDIA/k8s-device-plugin 0.20.0, api/config/v1 (sharing; ``rename`` and ``devices`` are
ignored), cmd/config-manager (a node's label names a key of one ConfigMap); NVIDIA/gpu-operator
26.3.3, api/nvidia/v1/clusterpolicy_types.go (DevicePluginConfig).
"""

from components.accelerators.names import NAMESPACE, Served, metadata
from components.making.dump import dump
from components.making.manifest import Json, Manifest, config_map
from schemas.facts.sharing import plugin_key
from schemas.facts.site import Site

CONFIG, FILE, FOLDER = "device-plugin-sharing", "config.yaml", "/etc/device-plugin"
DEFAULT = "default"
_UNSHARED: Json = {"version": "v1"}


def plugin_config(each: Served) -> Json | None:
    """The configuration of a pool's plugin; None where it needs none. More than one share of a
    pod is refused, as it would be no faster."""
    sharing = each.pool.sharing
    if sharing is None or sharing.mig:
        return None
    replicas = sharing.mps or sharing.time_slicing
    resources = [{"name": each.record.plugin.resource, "replicas": replicas}]
    way = "mps" if sharing.mps else "timeSlicing"
    chosen = {"failRequestsGreaterThanOne": True, "resources": resources}
    return {**_UNSHARED, "sharing": {way: chosen}}


def pool_config(site: Site, each: Served) -> list[Manifest]:
    """The ConfigMap of the plugin that Foresite runs on a pool."""
    config = plugin_config(each)
    if config is None:
        return []
    named = metadata(site, f"{CONFIG}-{each.pool.name}", NAMESPACE)
    return [config_map(f"{CONFIG}/{each.pool.name}", named, {FILE: dump(config)})]


def operator_config(site: Site, namespace: str, pools: list[Served]) -> list[Manifest]:
    """The ConfigMap of the operator's plugin, with a key for each pool that shares its cards."""
    found = {plugin_key(each.pool): config for each in pools if (config := plugin_config(each))}
    if not found:
        return []
    texts = {name: dump(config) for name, config in {DEFAULT: _UNSHARED, **found}.items()}
    return [config_map(CONFIG, metadata(site, CONFIG, namespace), texts)]
