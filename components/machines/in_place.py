"""What Cluster API changes on running nodes, and what its managers run with for it (v1.13.6,
internal/controllers/machine/machine_controller_noderef.go, util/labels/helpers.go,
GetManagedLabels, internal/util/taints/validation.go)."""

import re
from collections.abc import Iterable

from components.machines.adopted import is_kept
from components.making.manifest import Json, Manifest
from schemas.kubernetes.bodies import mapping
from schemas.kubernetes.node_labels import copied_to_nodes, is_of_machines
from schemas.model.site_file import Pool

FLAG = "--additional-sync-machine-labels"
GATE = "MachineTaintPropagation"
_GATES = "--feature-gates"
_TEMPLATES = {"MachineDeployment": "template", "KubeadmControlPlane": "machineTemplate"}


def machine_taints(pool: Pool) -> Json:
    """The ``taints`` of a pool's Machines; no field where there are none."""
    found = [each.model_dump(mode="json", exclude_defaults=True) for each in pool.taints_in_place]
    return {"taints": [{**each, "propagation": "Always"} for each in found]} if found else {}


def arguments(made: Iterable[Manifest]) -> list[str]:
    """The arguments of Cluster API's managers that a site's objects need."""
    mine = [each.body for each in made if each.kind in _TEMPLATES and not is_kept(each)]
    found = [each["spec"][_TEMPLATES[each["kind"]]] for each in mine]
    keys = {key for each in found for key in each["metadata"]["labels"]}
    keys -= {key for each in mine for key in mapping(each, "spec", "selector", "matchLabels")}
    own = sorted(key for key in keys if not copied_to_nodes(key) and not is_of_machines(key))
    taints = any("taints" in each["spec"] for each in found)
    said = [f"{FLAG}={','.join(f'^{re.escape(key)}$' for key in own)}"] if own else []
    return said + [f"{_GATES}={GATE}=true"] * taints


def lacks(given: Iterable[str], wanted: str) -> bool:
    """True if a manager with these arguments runs without all that an argument says. A pattern that
    is written otherwise counts where it takes in the same key."""
    name, _, values = wanted.partition("=")
    there = [part for each in given if each.startswith(f"{name}=")
             for part in each.partition("=")[2].split(",")]  # fmt: skip
    return any(
        value not in there and not (name == FLAG and _matches(there, value[1:-1].replace("\\", "")))
        for value in values.split(",")
    )


def _matches(patterns: Iterable[str], key: str) -> bool:
    try:
        return any(each and re.search(each, key) for each in patterns)
    except re.error:  # Go knows some forms that Python does not
        return False
