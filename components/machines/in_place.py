"""What Cluster API changes on running nodes, and what its managers have to run with for it.

Sources: Cluster API v1.13.6, internal/controllers/machine/machine_controller_noderef.go, util/
labels/helpers.go (GetManagedLabels), internal/util/taints/validation.go.
"""

import re
from collections.abc import Iterable

from components.making.manifest import Json, Manifest
from schemas.kubernetes.node_labels import copied_to_nodes, is_of_machines
from schemas.model.site_file import Pool

FLAG = "--additional-sync-machine-labels"
GATE = "MachineTaintPropagation"
MANAGERS = {"Cluster API": "cluster-api", "its kubeadm control plane": "control-plane-kubeadm"}
"""Managers by their label cluster.x-k8s.io/provider; the first one patches nodes."""
_TEMPLATES = {"MachineDeployment": "template", "KubeadmControlPlane": "machineTemplate"}


def machine_taints(pool: Pool) -> Json:
    """The ``taints`` of a pool's Machines; no field where there are none."""
    taints = [
        {"key": each.key, "effect": each.effect.value, "propagation": "Always"}
        | ({"value": each.value} if each.value else {})
        for each in pool.taints_in_place
    ]
    return {"taints": taints} if taints else {}


def needs(made: Iterable[Manifest]) -> tuple[list[str], bool]:
    """The keys of labels that the managers have to be told of, and whether they need the gate."""
    found = [each.body["spec"][_TEMPLATES[each.kind]] for each in made if each.kind in _TEMPLATES]
    keys = {key for each in found for key in each["metadata"]["labels"]}
    own = sorted(key for key in keys if not copied_to_nodes(key) and not is_of_machines(key))
    return own, any("taints" in each["spec"] for each in found)


def arguments(made: Iterable[Manifest]) -> list[str]:
    """The arguments of Cluster API's managers that a site's objects need."""
    keys, taints = needs(made)
    said = ",".join(f"^{re.escape(key)}$" for key in keys)
    return [*([f"{FLAG}={said}"] if keys else []), *([f"--feature-gates={GATE}=true"] * taints)]


def lacking(manager: str, given: Iterable[str], made: Iterable[Manifest]) -> list[str]:
    """The keys and the gate that a manager with these arguments runs without."""
    keys, taints = needs(made)
    said = dict.fromkeys((FLAG, "--feature-gates"), "")
    for name, _, value in (each.partition("=") for each in given):
        said[name] = f"{said.get(name, '')},{value}"
    patterns = [each for each in said[FLAG].split(",") if each]
    first = manager == next(iter(MANAGERS))
    found = [key for key in keys if first and not any(_matches(each, key) for each in patterns)]
    return [*found, *([GATE] if taints and f"{GATE}=true" not in said["--feature-gates"] else [])]


def _matches(pattern: str, key: str) -> bool:
    """True if a label is one of a pattern's, which Go reads without an anchor as well."""
    try:
        return re.search(pattern, key) is not None
    except re.error:
        return False
