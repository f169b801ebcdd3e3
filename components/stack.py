"""A site's stack: the components that ``pulumi preview`` and ``pulumi up`` register."""

import os
from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pulumi

from components.making.decommission import VARIABLE, read
from components.making.manifest import Target
from components.record import module
from components.shell import SiteArgs, SiteComponent, cluster_providers
from components.site import COMPONENTS, site_objects
from schemas.facts.adopted import management_names
from schemas.facts.site import Site

SHELLS: dict[str, type[SiteComponent[Any]]] = {
    name: getattr(import_module(module(name, "component")), name.title().replace("-", ""))
    for name in COMPONENTS
}
"""Each component as Pulumi registers it; the class's name (``PodNetwork``) is part of every URN."""


def deploy(site: Site) -> None:
    """Register every component of a site, and export what a person wants to know afterwards."""
    clusters = cluster_providers(site)
    own, management = clusters.get(Target.SITE), clusters.get(Target.MANAGEMENT)
    args = SiteArgs(site=site, provider=own, management=management, incomplete=True)
    made: dict[str, SiteComponent[Any]] = {}
    objects = site_objects(site)
    for name in objects:
        component = SHELLS[name]
        made[component.__name__] = component(name, args)
        # Namespaces of one may hold objects of the next.
        args = replace(args, after=made[component.__name__].made_namespaces)
    if site.file.decommission is not None and VARIABLE in os.environ:
        _release(site.file.decommission.reason, args, made)
    every = [each for manifests in objects.values() for each in manifests]
    later, there = [each for each in every if each.target not in clusters], management_names(site)
    if later:
        pulumi.log.info(
            f"{len(later)} objects of the site's own cluster follow once it answers: write its "
            f"kubeconfig context as cluster.context in sites/{site.name}.yaml "
            f"(clusterctl get kubeconfig {there.cluster} -n {there.namespace})"
        )
    pulumi.export("management", site.file.management)
    pulumi.export("namespace", there.namespace)
    pulumi.export("objects", len(every) - len(later))
    pulumi.export("following", [f"{each.kind} {each.key[3]}" for each in later])


def _release(reason: str, args: SiteArgs, components: Mapping[str, SiteComponent[Any]]) -> None:
    """Register what a decommissioned site gives up for the last time, unprotected. Dependents are
    deleted first, so the Cluster is made to depend on all."""
    others: list[pulumi.Resource] = []
    clusters = args.clusters()
    objects = read(Path(os.environ[VARIABLE]))
    for each in sorted(objects, key=lambda one: one.goes_first):
        options = pulumi.ResourceOptions(
            parent=components[each.component],
            provider=clusters[each.target],
            protect=False,
            retain_on_delete=each.is_forgotten or None,
            depends_on=list(others) if each.goes_first else None,
        )
        resource = pulumi.CustomResource(each.token, each.name, each.last_body(reason), options)
        if not each.is_forgotten:
            others.append(resource)
