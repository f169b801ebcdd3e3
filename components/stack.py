"""A site's stack: the components that ``pulumi preview`` and ``pulumi up`` register."""

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pulumi

from components.making.decommission_release import VARIABLE, read
from components.record import module
from components.shell import Component, Placement, placement
from components.site import COMPONENTS, site_objects
from schemas.facts.site import Site


def shell(name: str) -> Callable[[str, Placement], Component]:
    """A component's class for Pulumi: ``pod-network`` is ``PodNetwork`` of components/pod_network.

    Its name is part of every URN below it.
    """
    found: Callable[[str, Placement], Component] = getattr(
        import_module(module(name, "component")), name.title().replace("-", "")
    )
    return found


def deploy(site: Site) -> None:
    """Register every component of a site, and export what a person wants to know afterwards."""
    spec = placement(site)
    made: dict[str, Component] = {}
    for name in COMPONENTS:
        registered = shell(name)(name, spec)
        made[type(registered).__name__] = registered
        # Namespaces of one may hold objects of the next.
        spec = replace(spec, namespaces=registered.namespaces)
    if site.file.decommission is not None and VARIABLE in os.environ:
        _release(site.file.decommission.reason, spec, made)
    every = [each for objects in site_objects(site).values() for each in objects]
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


def _release(reason: str, spec: Placement, components: Mapping[str, Component]) -> None:
    """Register what a decommissioned site gives up for the last time, unprotected.

    What depends on others is deleted before them, so the Cluster is made to depend on all.
    """
    others: list[pulumi.Resource] = []
    objects = read(Path(os.environ[VARIABLE]))
    for each in sorted(objects, key=lambda one: one.goes_first):
        options = pulumi.ResourceOptions(
            parent=components[each.component],
            provider=spec.clusters[each.target],
            protect=False,
            retain_on_delete=each.forgotten or None,
            depends_on=list(others) if each.goes_first else None,
        )
        resource = pulumi.CustomResource(each.token, each.name, each.registered(reason), options)
        if not each.forgotten:
            others.append(resource)
