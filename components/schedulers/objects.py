"""The schedulers of a site, in a fixed order; none where the site has no backends."""

from components.making import daemons
from components.making.manifest import Manifest, annotate
from components.schedulers.canary import canary, priority_class
from components.schedulers.gangpolicies import gang_policies
from components.schedulers.names import COMPONENT, run_here
from components.schedulers.policies import scheduler_policies
from components.schedulers.rights import rights
from components.schedulers.workload import workload
from schemas.facts.site import Site


def objects(site: Site) -> list[Manifest]:
    """Every object of the site's schedulers, on its own cluster."""
    return annotate([*schedulers(site), *gang_policies(site), *scheduler_policies(site)])


def schedulers(site: Site) -> list[Manifest]:
    """The schedulers that Foresite runs, in a namespace of their own, without pods of teams:
    whoever may make pods there may use a scheduler's account."""
    backends = run_here(site)
    if not backends:
        return []
    space = site.scheduling.namespace
    found = [daemons.namespace(site, space, COMPONENT, level="restricted")]
    if any(scheduler.gang for _, scheduler in backends):
        found.append(priority_class(site))
    for backend, scheduler in backends:
        found += rights(site, backend, scheduler)
        found += workload(site, backend, scheduler)
        if scheduler.gang is not None:
            found.append(canary(site, backend))
    return found
