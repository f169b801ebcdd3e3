"""Admission policies on what teams create: the pod itself, and the template of a Job, so that a
person hears of a mistake at once and not from the events of a Job without pods.

Source: Kubernetes 1.34, pkg/apis/admissionregistration and apiserver pkg/admission/plugin/policy.
"""

import json
from collections.abc import Mapping
from typing import Any

from components.making.admission import in_force
from components.making.manifest import Json, Manifest, filled
from components.schedulers.names import metadata
from schemas.facts.site import Site
from schemas.kubernetes.node_labels import OWN_DOMAIN, TEAM_LABEL
from schemas.model.scheduling import DEFAULT_SCHEDULER

VARIABLES = {
    # ``dyn``: the checker of types would look for a template in a Pod, and warn.
    "template": "dyn(object).kind == 'Job' ? dyn(object).spec.template : dyn(object)",
    "annotations": "variables.template.?metadata.?annotations.orValue({})",
    "scheduler": f"variables.template.spec.?schedulerName.orValue('{DEFAULT_SCHEDULER}')",
}
"""Variables of every policy here: the pod, its gang annotations, and its scheduler."""


def policy(site: Site, name: str, variables: Mapping[str, str], rows: list[Json]) -> list[Manifest]:
    """A policy with its binding, on what is created for teams; ``rows`` of the data are checks."""
    full = f"{name}.{OWN_DOMAIN}"
    every = {**VARIABLES, **variables}
    spec, binding = filled(
        __file__,
        team=TEAM_LABEL,
        variables=[{"name": key, "expression": text} for key, text in every.items()],
        checks=rows,
    )
    return in_force(full, metadata(site, full), spec, binding)


def literal(value: Any) -> str:
    """A text, a list or a map of texts in CEL, which writes them as JSON does."""
    return json.dumps(value, ensure_ascii=False)
