"""The devices that nodes show and should show, for a person, and for fault detection to compare."""

from components.accelerators.names import NAMESPACE, Served, metadata, served_pools
from components.making.manifest import Json, Manifest, config_map, filled, site_object
from schemas.facts.feature_gates import counted_models
from schemas.facts.site import Site
from schemas.kubernetes.node_labels import OWN_DOMAIN
from schemas.model.accelerators import Pci

SEEN_DOMAIN = f"seen.{OWN_DOMAIN}"


def device_count_label(model: str) -> str:
    """The label of a node with the number of a model's devices that its PCI bus shows."""
    return f"{SEEN_DOMAIN}/{model}"


def discovery(site: Site) -> list[Manifest]:
    """A NodeFeatureRule for each model, and a ConfigMap for each pool."""
    pools = served_pools(site)
    rules = [_rule(site, model, pools) for model in dict.fromkeys(p.model for p in pools)]
    return [*rules, *(_expected_devices(site, each) for each in pools)]


def _rule(site: Site, model: str, pools: list[Served]) -> Manifest:
    (spec,) = filled(
        __file__,
        model=model,
        labels=f"{device_count_label(model)}={{{{ len .pci.device }}}}",
        devices=_pci_match(site.accelerators[model].pci),
    )
    if model in counted_models(site):
        counts = {each.devices: each for each in pools if each.model == model}
        spec["rules"] += [_resource(site, each) for each in counts.values()]
    named = metadata(site, f"accelerator-{model}")
    return site_object(f"NodeFeatureRule/{model}", "nfd.k8s-sigs.io/v1alpha1", named, spec=spec)


def _resource(site: Site, each: Served) -> Json:
    """Gives nodes the model's resource, for Kueue's topology. A node has it whole while its bus
    shows all cards, and else not at all: a kubelet that starts again ends pods that hold more of
    it than the node has, and looks at no resource that the node does not have."""
    label, count = device_count_label(each.model), str(each.devices)
    match = {"feature": "rule.matched", "matchExpressions": {label: {"op": "In", "value": [count]}}}
    return {
        "name": f"{each.model} of {count}",
        "matchFeatures": [match],
        "extendedResources": {site.resource(each.model): str(site.devices(each.pool))},
    }


def _pci_match(pci: Pci) -> Json:
    wanted = {"class": pci.classes, "vendor": [pci.vendor], "device": pci.devices}
    return {name: {"op": "In", "value": [*each]} for name, each in wanted.items() if each}


def _expected_devices(site: Site, each: Served) -> Manifest:
    """The cards that each host of a pool should show, and how they are shared."""
    data = {
        "count": str(each.devices),
        "model": each.model,
        "resource": site.resource(each.model),
        "seen-label": device_count_label(each.model),
    }
    if each.pool.sharing:
        data["sharing"] = each.pool.sharing.label
    named = metadata(site, f"expected-devices-{each.pool.name}", NAMESPACE)
    return config_map(f"expected-devices/{each.pool.name}", named, data)
