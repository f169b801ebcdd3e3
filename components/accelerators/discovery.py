"""The devices that nodes show and those that they should show, for a person, and for fault
detection to compare.

Node feature discovery counts the devices of each model on the PCI bus and labels the node with it,
whether a driver or a plugin sees them or not; how many there should be is in a ConfigMap for each
pool. A node without a device of the model has no such label.

Sources: node-feature-discovery 0.19.0, pkg/apis/nfd/nodefeaturerule/rule.go (a template sees the
devices that matched) and pkg/nfd-master/nfd-master.go (domains of labels).
"""

from components.accelerators.names import NAMESPACE, Served, metadata, served_pools
from components.making.manifest import Json, Manifest, Target
from schemas.facts.site import Site
from schemas.kubernetes.node_labels import OWN_DOMAIN
from schemas.model.accelerators import AcceleratorModel, Pci

SEEN_DOMAIN = f"seen.{OWN_DOMAIN}"


def device_count_label(model: str) -> str:
    """The label of a node with the number of a model's devices that its PCI bus shows."""
    return f"{SEEN_DOMAIN}/{model}"


def discovery(site: Site) -> list[Manifest]:
    """A NodeFeatureRule for each model, and a ConfigMap for each pool."""
    records = {each.model: each.record for each in served_pools(site)}
    rules = [_rule(site, model, record) for model, record in records.items()]
    return [*rules, *(_expected_devices(site, each) for each in served_pools(site))]


def _rule(site: Site, model: str, record: AcceleratorModel) -> Manifest:
    body = {
        "apiVersion": "nfd.k8s-sigs.io/v1alpha1",
        "kind": "NodeFeatureRule",
        "metadata": metadata(site, f"accelerator-{model}"),
        "spec": {
            "rules": [
                {
                    "name": model,
                    "labelsTemplate": f"{device_count_label(model)}={{{{ len .pci.device }}}}",
                    "matchFeatures": [
                        {"feature": "pci.device", "matchExpressions": _pci_match(record.pci)}
                    ],
                }
            ]
        },
    }
    return Manifest(f"NodeFeatureRule/{model}", body, target=Target.SITE)


def _pci_match(pci: Pci) -> Json:
    found: Json = {
        "class": {"op": "In", "value": list(pci.classes)},
        "vendor": {"op": "In", "value": [pci.vendor]},
    }
    if pci.devices:
        found["device"] = {"op": "In", "value": list(pci.devices)}
    return found


def _expected_devices(site: Site, each: Served) -> Manifest:
    """The devices that each host of a pool should show."""
    body = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": metadata(site, f"expected-devices-{each.pool.name}", NAMESPACE),
        "data": {
            "count": str(each.devices),
            "model": each.model,
            "resource": site.resource(each.model),
            "seen-label": device_count_label(each.model),
        },
    }
    return Manifest(f"ConfigMap/expected-devices/{each.pool.name}", body, target=Target.SITE)
