"""The faults of hosts as nodes show them: for detectors, remediators and alerts alike."""

from schemas.kubernetes.node_labels import OWN_DOMAIN
from schemas.model.faults import RECORDS, condition_of
from schemas.model.vocabulary import Fault


class _Conditions(dict[str, str]):
    """Types of conditions by fault; a site's own checks are in it without being listed."""

    def __missing__(self, fault: str) -> str:
        return condition_of(fault)


CONDITIONS = _Conditions({fault: RECORDS[fault]["condition"] for fault in Fault})
"""The type of the node condition of each fault; True means that the node has it."""
CHOICE_REASON = "ImagesChooseDevices"
"""Reason of the detector's events about a host whose container runtime lets images choose devices,
which no repair helps."""
DOMAIN = f"remediation.{OWN_DOMAIN}"
FAULTY_TAINT = f"{DOMAIN}/faulty"
"""Taint of a node with a fault that a remediator repairs, from when it is seen until it is gone: no
new pod comes, whatever becomes of the repair. Its value is the fault."""
QUARANTINED_TAINT = f"{DOMAIN}/quarantined"
"""Taint of a node that repairs did not help. A person takes it away."""
OPERATING_TAINT = "nodeops.k8s.preferred.jp/operating"
"""Taint of a node under repair (node-operation-controller 0.2.2, nodeoperation_controller.go)."""
TURN_LABEL = f"{DOMAIN}/turn"
"""Label of a node whose turn it is to be repaired; its value is the fault. A
NodeRemediationTemplate only selects nodes with it, so that a node has one operation at a time."""
RESET_LABEL = f"{DOMAIN}/reset"
"""Label of a node whose accelerators are being reset: programs that have them open leave."""
