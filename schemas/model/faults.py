"""Faults of hosts by name: those of Foresite's own checks (faults.toml), and those of a site's."""

import re
from collections.abc import Mapping
from typing import Annotated

from schemas.kubernetes.tables import read_table
from schemas.model.primitives import text_form

FaultName = Annotated[str, text_form("[a-z][a-z0-9]*(-[a-z][a-z0-9]*)*", "disk-full", longest=40)]
"""Name of a fault: words of small letters and digits, with dashes between them. Each word begins
with a letter, so that the condition's type leads back to it."""
RECORDS: Mapping[str, Mapping[str, str]] = read_table(__file__)
"""The faults of Foresite's own checks by name."""
KUBERNETES_CONDITIONS = frozenset(
    ["Ready", "MemoryPressure", "DiskPressure", "PidPressure", "NetworkUnavailable"]
)
"""Conditions that others set (Kubernetes 1.34, core/v1 NodeConditionType), in our spelling."""
_TYPES = {record["condition"]: name for name, record in RECORDS.items()}


def condition_of(fault: str) -> str:
    """The type of a fault's node condition; that of a site's own check is its name in CamelCase."""
    own = "".join(word.capitalize() for word in fault.split("-"))
    return RECORDS[fault]["condition"] if fault in RECORDS else own


def fault_of(condition: str) -> str | None:
    """The fault of a type of node condition; None for a type that no check of ours can set."""
    words = re.findall(r"[A-Z][a-z0-9]*", condition)
    own = "-".join(words).lower() if words and "".join(words) == condition else None
    return _TYPES.get(condition, None if condition in KUBERNETES_CONDITIONS else own)
