"""A site's stack: the components that ``pulumi preview`` and ``pulumi up`` register."""

from dataclasses import replace

import pulumi

from components.accelerators.component import Accelerators
from components.machines.component import Machines
from components.monitoring.component import Monitoring
from components.network_devices.component import NetworkDevices
from components.object_cache.component import ObjectCache
from components.pod_network.component import PodNetwork
from components.remediation.component import Remediation
from components.schedulers.component import Schedulers
from components.shell import placement
from components.site import site_objects
from components.teams.component import Teams
from components.training.component import Training
from schemas.site import Site

SHELLS = {
    "machines": Machines,
    "pod-network": PodNetwork,
    "accelerators": Accelerators,
    "network-devices": NetworkDevices,
    "teams": Teams,
    "schedulers": Schedulers,
    "training": Training,
    "object-cache": ObjectCache,
    "remediation": Remediation,
    "monitoring": Monitoring,
}
"""Each component by name, as Pulumi registers it, in the order of components/site.py."""


def deploy(site: Site) -> None:
    """Register every component of a site, and export what a person wants to know afterwards."""
    spec = placement(site)
    for name, component in SHELLS.items():
        # Namespaces of one may hold objects of the next.
        spec = replace(spec, namespaces=component(name, spec).namespaces)
    every = [each for made in site_objects(site).values() for each in made]
    later = [each for each in every if each.target not in spec.clusters]
    if later:
        pulumi.log.info(
            f"{len(later)} objects of the site's own cluster follow once it answers: write its "
            f"kubeconfig context as cluster.context in sites/{site.name}.yaml "
            f"(clusterctl get kubeconfig {site.name} -n {site.name})"
        )
    pulumi.export("management", site.file.management)
    pulumi.export("namespace", site.name)
    pulumi.export("objects", len(every) - len(later))
    pulumi.export("following", [f"{each.kind} {each.key[3]}" for each in later])
