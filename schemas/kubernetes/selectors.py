"""Label selectors: what labels have to be for a selector to choose them (Kubernetes 1.34,
apimachinery pkg/labels/selector.go; component-helpers
scheduling/corev1/nodeaffinity/nodeaffinity.go)."""

from collections.abc import Callable, Mapping
from typing import Any


def has_labels(labels: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """True if labels hold all of matchLabels, or of a nodeSelector."""
    return all(labels.get(key) == value for key, value in wanted.items())


def _compare(value: str | None, values: list[Any], sign: int) -> bool:
    """True if a label's number lies above (sign 1) or below (-1) the wanted one."""
    try:
        return value is not None and sign * int(value) > sign * int(values[0])
    except (ValueError, IndexError):
        return False  # as the scheduler has it: what is no number fits nothing


OPERATORS: dict[str, Callable[[str | None, list[Any]], bool]] = {
    "In": lambda value, values: value is not None and value in values,
    "NotIn": lambda value, values: value not in values,
    "Exists": lambda value, _values: value is not None,
    "DoesNotExist": lambda value, _values: value is None,
    "Gt": lambda value, values: _compare(value, values, 1),
    "Lt": lambda value, values: _compare(value, values, -1),
}
"""Condition of each operator on a label's value, which is None if the label is missing."""
