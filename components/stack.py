"""A site's stack: the components that ``pulumi preview`` and ``pulumi up`` register."""

import pulumi

from components.machines.component import Machines
from components.pod_network.component import PodNetwork
from components.shell import Component, clusters
from components.site import site_objects
from schemas.site import Site

SHELLS: dict[str, type[Component]] = {"machines": Machines, "pod-network": PodNetwork}
"""The Pulumi component of each component of components/site.py."""


def deploy(site: Site) -> None:
    """Register every component of a site, and export what a person wants to know afterwards."""
    providers = clusters(site)
    objects = site_objects(site)
    for name, shell in SHELLS.items():
        shell(name, (site, providers), None)
    later = [m for made in objects.values() for m in made if m.target not in providers]
    pulumi.export("management", site.file.management)
    pulumi.export("namespace", site.name)
    pulumi.export("objects", sum(map(len, objects.values())) - len(later))
    if later:
        pulumi.log.info(
            f"{len(later)} objects of the site's own cluster follow once it answers: write its "
            f"kubeconfig context as cluster.context in sites/{site.name}.yaml "
            f"(clusterctl get kubeconfig {site.name} -n {site.name})"
        )
    pulumi.export("following", [f"{m.kind} {m.body['metadata']['name']}" for m in later])
