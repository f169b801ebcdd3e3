"""A site's stack: the components that ``pulumi preview`` and ``pulumi up`` register."""

from dataclasses import replace

import pulumi

from components.machines.component import Machines
from components.pod_network.component import PodNetwork
from components.shell import placement
from components.site import site_objects
from schemas.site import Site


def deploy(site: Site) -> None:
    """Register every component of a site, and export what a person wants to know afterwards."""
    spec = placement(site)
    machines = Machines("machines", spec)
    PodNetwork("pod-network", replace(spec, namespaces=machines.namespaces))
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
