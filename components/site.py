"""The one page that wires a site: which components it has, in which order."""

from collections.abc import Callable

from components.accelerators import effects as accelerators_impact
from components.accelerators import objects as accelerators
from components.admission_policies import effects as admission_policies_impact
from components.admission_policies import objects as admission_policies
from components.effects import kubernetes
from components.effects.rules import Rules
from components.effects.vocabulary import Name
from components.machines import effects as machines_impact
from components.machines import objects as machines
from components.making.decommission import remaining
from components.making.manifest import Manifest
from components.monitoring import effects as monitoring_impact
from components.monitoring import objects as monitoring
from components.network_devices import effects as network_devices_impact
from components.network_devices import objects as network_devices
from components.object_cache import effects as object_cache_impact
from components.object_cache import objects as object_cache
from components.pod_network import effects as pod_network_impact
from components.pod_network import objects as pod_network
from components.remediation import effects as remediation_impact
from components.remediation import objects as remediation
from components.schedulers import effects as schedulers_impact
from components.schedulers import objects as schedulers
from components.secrets import effects as secrets_impact
from components.secrets import objects as secrets
from components.teams import effects as teams_impact
from components.teams import objects as teams
from components.training import effects as training_impact
from components.training import objects as training
from schemas.facts.site import Site

COMPONENTS: dict[str, Callable[[Site], list[Manifest]]] = {
    "machines": machines.objects,
    "pod-network": pod_network.objects,
    "accelerators": accelerators.objects,
    "network-devices": network_devices.objects,
    "teams": teams.objects,
    "schedulers": schedulers.objects,
    "training": training.objects,
    "object-cache": object_cache.objects,
    "remediation": remediation.objects,
    "monitoring": monitoring.objects,
    "secrets": secrets.objects,
    "admission-policies": admission_policies.objects,
}
"""Each component by name, with the pure function that makes its objects."""

RULES: dict[str, Rules] = {
    "machines": Rules((*machines_impact.RULES, *kubernetes.RULES)),
    "pod-network": Rules((*pod_network_impact.RULES, *kubernetes.RULES)),
    "accelerators": Rules((*accelerators_impact.RULES, *kubernetes.RULES)),
    "network-devices": Rules((*network_devices_impact.RULES, *kubernetes.RULES)),
    "teams": Rules((*teams_impact.RULES, *kubernetes.RULES)),
    "schedulers": Rules((*schedulers_impact.RULES, *kubernetes.RULES)),
    "training": Rules((*training_impact.RULES, *kubernetes.RULES)),
    "object-cache": Rules((*object_cache_impact.RULES, *kubernetes.RULES)),
    "remediation": Rules((*remediation_impact.RULES, *kubernetes.RULES)),
    "monitoring": Rules((*monitoring_impact.RULES, *kubernetes.RULES)),
    "secrets": Rules((*secrets_impact.RULES, *kubernetes.RULES)),
    "admission-policies": Rules((*admission_policies_impact.RULES, *kubernetes.RULES)),
}
"""What a change of a component's objects does to machines: its own rules, then Kubernetes'."""


def site_objects(site: Site) -> dict[str, list[Manifest]]:
    """Every object of a site, by component, in a fixed order; of one that is decommissioned what
    remains of it."""
    return {name: remaining(site, make(site)) for name, make in COMPONENTS.items()}


def objects_by_name(site: Site) -> dict[Name, Manifest]:
    """Every object of a site by component and logical name, in the same order."""
    return {
        (component, manifest.name): manifest
        for component, manifests in site_objects(site).items()
        for manifest in manifests
    }
