"""The requests of a pod, as the policies of admission read them: variables and conditions in CEL.

Every expression reads ``variables.spec``, the spec of a pod or of a pod template. The maps that say
what a site has are written into the policies, so that no other object has to be there first.
"""

import json

from components.accelerators.deviceclasses import class_name
from components.accelerators.names import served_pools
from components.making.manifest import Json
from components.making.rdma import network_resources
from components.making.told import Told
from schemas.facts.feature_gates import completed_models, pod_runtime
from schemas.facts.sharing import devices_of_pod
from schemas.facts.site import Site

LIMITS = "c.?resources.?limits.orValue({})"
HAS = f"variables.model in {LIMITS}"
COUNT = f"quantity({LIMITS}[variables.model]).asInteger()"
TOLD = Told(__file__)
IMPLICIT = "deviceclass.resource.kubernetes.io/"
"""Prefix of the implicit resource of a device class without a name of its own (KEP-5004)."""


literal = json.dumps
"""A map, a list or a text as CEL has it."""


def variables(site: Site, spec: str, **more: dict[str, str]) -> list[Json]:
    """The site's resources, and those that a pod requests; ``spec``: where the pod's spec is;
    ``more``: further maps by name."""
    found = _variables(
        "variables",
        spec=spec,
        models=literal(list(resources(site))),
        most=literal(most(site)),
        plugin=literal(plugins(site)),
        others=literal(other_resources(site)),
        prefix=literal(prefix(site)),
    )
    return found + [{"name": name, "expression": literal(each)} for name, each in more.items()]


def _variables(name: str, **values: str) -> list[Json]:
    found = TOLD.table(name, limits=LIMITS, **values)
    return [{"name": name, "expression": text} for name, text in found.items()]


def asks_for_a_model(site: Site) -> Json:
    """The condition that a pod asks for anything below the site's prefix."""
    text = f"{LIMITS}.exists(r, r.startsWith({literal(prefix(site))}))"
    every = "(object.spec.containers + object.spec.?initContainers.orValue([]))"
    return {"name": "asks-for-a-model", "expression": f"{every}.exists(c, {text})"}


def prefix(site: Site) -> str:
    """The prefix of the resources of the site's models."""
    settings = site.file.accelerators
    return f"{settings.prefix}/" if settings else ""


def resources(site: Site) -> dict[str, str]:
    """The models by the resource that is asked for, sorted by it."""
    return dict(sorted((site.resource(each), each) for each in site.models()))


def most(site: Site) -> dict[str, int]:
    """How many devices of a model a pod may have, by resource: those of the largest host."""
    found: dict[str, int] = {}
    for each in served_pools(site):
        name = site.resource(each.model)
        found[name] = max(found.get(name, 0), devices_of_pod(each.pool, site.devices(each.pool)))
    return dict(sorted(found.items()))


def plugins(site: Site) -> dict[str, str]:
    """The plugin's resource behind each one that no node has; none in the way of DRA."""
    nominal = site.nominal_resources()
    return {
        name: site.accelerators[model].plugin.resource
        for name, model in resources(site).items()
        if name in nominal
    }


def runtimes(site: Site) -> dict[str, str]:
    """The RuntimeClass that pods of a resource get, where they need one."""
    found = {name: pod_runtime(site, model) for name, model in resources(site).items()}
    return {name: runtime for name, runtime in found.items() if runtime}


def nodes(site: Site) -> dict[str, str]:
    """The model that nodes are labelled with, by resource, where admission sends pods there."""
    return resources(site) if completed_models(site) else {}


def other_resources(site: Site) -> list[str]:
    """Resources below the site's prefix that are no models': network devices', plugins' own."""
    names = {*network_resources(site)} | _plugin_resources(site)
    mine = resources(site)
    return sorted(each for each in names if each.startswith(prefix(site)) and each not in mine)


def direct(site: Site) -> str:
    """True if ``r`` is a resource of a device plugin or of a DRA driver's own class, so that it
    passes the limits by model: any of a plugin's domain, and the exact name in the site's own."""
    mine, every = prefix(site), _plugin_resources(site) - set(resources(site))
    domains = {f"{each.partition('/')[0]}/" for each in every} - {mine}
    exact = sorted(each for each in every if each.startswith(mine))
    starts = [f"r.startsWith({literal(each)})" for each in (*sorted(domains), IMPLICIT)]
    named = [f"r in {literal(exact)}"] if exact else []
    network = f"{site.file.network_devices.prefix}/"
    spared = [f"!r.startsWith({literal(network)})"] if network in domains else []
    return " && ".join([*spared, f"({' || '.join((*starts, *named))})"])


def claimable(site: Site) -> tuple[list[str], list[str]]:
    """The resources of models that DRA drivers hand out, and the drivers of all models: one may run
    beside a device plugin, for another use, and hands out its devices a second time."""
    served = served_pools(site)
    mine = {site.resource(each.model) for each in served if site.uses_dra(each.model)}
    drivers = {each.record.dra.driver for each in served if each.record.dra}
    return sorted(mine), sorted(drivers)


def claim_variables(site: Site) -> list[Json]:
    """The classes that a claim names, and those that limits would not count."""
    names, drivers = claimable(site)
    return _variables(
        "claims",
        classes=literal(sorted([*(class_name(each) for each in names), *drivers])),
        domains=literal(sorted({f".{_domain(each)}" for each in drivers})),
        models=literal(list(resources(site))),
    )


def _domain(driver: str) -> str:
    """The common ending of the names of all classes in a driver's chart: gpu.nvidia.com,
    mig.nvidia.com and vfio.gpu.nvidia.com are of one."""
    rest = driver.partition(".")[2]
    return rest if "." in rest else driver


def _plugin_resources(site: Site) -> set[str]:
    return {each.record.plugin.resource for each in served_pools(site)}
