"""Every metric that rules and dashboards ask for: who exports it, its type, labels and source.

The table is ``monitoring_metrics.toml``. Labels are the metric's own; those that scraping adds are
in TARGET_LABELS.
"""

import tomllib
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

TARGET_LABELS = ("job", "instance", "namespace", "pod", "node", "pool")
"""Labels of every target that is a pod of Foresite's: ``node`` is the name of its node, ``pool``
the value of the pod's label of the pool (DaemonSets alone)."""
ENVOY = "envoy"


class Type(StrEnum):
    """The type of a metric; of a histogram the table has the name without its suffixes."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


class Metric(NamedTuple):
    """One metric, and where it is defined (project, version, file)."""

    exporter: str
    type: Type
    labels: tuple[str, ...]
    source: str


METRICS: Mapping[str, Metric] = MappingProxyType(
    {
        name: Metric(each["exporter"], kind, tuple(labels.split()), each["source"])
        for each in tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))["source"]
        for kind in Type
        for name, labels in each.get(kind, {}).items()
    }
)
