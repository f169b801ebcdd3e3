"""Isolation of teams: nobody takes a device without asking for it, or lands where others wait."""

import json

from components.making.manifest import Json
from components.making.rdma import network_resources
from components.making.told import Told
from components.teams.names import TOLERATIONS_ANNOTATION
from schemas.facts.feature_gates import uses_gpu_operator
from schemas.facts.site import Site

TOLD = Told(__file__)
DEVICE_MOUNTS = "nvidia-container-devices"
"""The folder's name that NVIDIA's runtime looks for, however a path to it is spelled."""
OPERATOR_RUNTIME = "nvidia"
"""The RuntimeClass of the GPU operator, and the beginning of its others (-cdi, -legacy)."""
CHANGED = TOLD.table("write")["new"]
TEMPLATES = [(each["group"], each["resources"]) for each in TOLD.rows("templates")]
"""API groups, and their resources with templates of pods."""


def variables(site: Site) -> dict[str, str]:
    """The variables of the rules, in this order."""
    values = {"resources": json.dumps(_resources(site)), "runtimes": json.dumps(_runtimes(site))}
    found: dict[str, str] = TOLD.table("variables", tolerations=TOLERATIONS_ANNOTATION, **values)
    return found


def rules(site: Site, name: str = "rules") -> list[Json]:
    """The rules of pods, or of what ``name`` says (environment: ConfigMaps, and Secrets), in the
    order in which the API server asks them."""
    (tolerated,) = TOLD.rows("tolerated")
    folders = {site.accelerators[each].device_mounts for each in site.models()}
    mounts = {DEVICE_MOUNTS, *(each.rpartition("/")[2] for each in folders if each)}
    values = {"device_mounts": sorted(mounts), "device_variables": device_variables(site)}
    values |= {"tolerated": tolerated["taints"]}
    return TOLD.rows(name, **{key: json.dumps(each) for key, each in values.items()})


def device_variables(site: Site) -> list[str]:
    """The variables by which containers choose devices: vendors', and of the models' records."""
    known = [name for names in TOLD.table("device_variables").values() for name in names]
    own = (n for m in site.models() for n in site.accelerators[m].device_variables)
    return sorted({*known, *own})


def _resources(site: Site) -> list[str]:
    """The resources of accelerators, by model and of plugins, and of network devices."""
    return sorted(
        {site.resource(model) for model in site.models()}
        | {site.accelerators[model].plugin.resource for model in site.models()}
        | {*network_resources(site)}
    )


def _runtimes(site: Site) -> dict[str, list[str]]:
    """The resources that a pod of a RuntimeClass for accelerators has to ask for."""
    found: dict[str, list[str]] = {}
    for model in site.models():
        operated = OPERATOR_RUNTIME if uses_gpu_operator(site, model) else None
        name = site.accelerators[model].runtime_class or operated
        if name:
            found.setdefault(name, []).append(site.resource(model))
    return {name: sorted(resources) for name, resources in sorted(found.items())}
