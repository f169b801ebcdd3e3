"""Configuration of kube-state-metrics for repairs: of itself it knows no custom resources.

Node Operation Controller exports nothing about a single node, so this is how alerts and dashboards
see them. Both kinds are of the site's own cluster, and so is this kube-state-metrics. Machines and
their health checks are of the management cluster, whose kube-state-metrics is another: Cluster API
brings a configuration for that (docs/monitoring.md).

Sources: kube-state-metrics c92fe0c5, docs/metrics/extend/customresourcestate-metrics.md and
pkg/customresourcestate/registry_factory.go (a value that is not there yet is an error in the log,
unless nilIsZero); node-operation-controller 0.2.2, api/v1alpha1/*_types.go (fields, phases).
"""

from components.making.manifest import Json

GROUP, VERSION = "nodeops.k8s.preferred.jp", "v1alpha1"
STATUSES = ("OK", "Bad")
"""NodeRemediation.status.nodeStatus; empty until it is known."""
PHASES = ("Pending", "Draining", "Drained", "JobCreating", "Running", "Completed", "Failed")
"""NodeOperation.status.phase; empty when it is new."""
CREATED: Json = {
    "name": "created",
    "help": "When it was made, in seconds since 1970.",
    "each": {"type": "Gauge", "gauge": {"path": ["metadata", "creationTimestamp"]}},
}


def custom_resources() -> list[Json]:
    """Node remediations and operations, as entries of spec.resources."""
    return [
        _resource(
            "NodeRemediation",
            {"template": ["spec", "nodeOperationTemplateName"]},
            [
                _states(
                    "status_node_status",
                    "Whether the node's conditions are those to repair.",
                    ("node_status", ["status", "nodeStatus"], STATUSES),
                ),
                _count(
                    "status_operations_count",
                    "Operations since the node was last well.",
                    ["status", "operationsCount"],
                ),
            ],
        ),
        _resource(
            "NodeOperation",
            {},
            [
                _states(
                    "status_phase",
                    "How far the operation is.",
                    ("phase", ["status", "phase"], PHASES),
                )
            ],
        ),
    ]


def _resource(kind: str, labels: dict[str, list[str]], metrics: list[Json]) -> Json:
    """A kind with its metrics, each by the node that it is about and its own name."""
    word = kind.lower()
    return {
        "groupVersionKind": {"group": GROUP, "version": VERSION, "kind": kind},
        "metricNamePrefix": f"kube_{word}",
        "labelsFromPath": {"node": ["spec", "nodeName"], word: ["metadata", "name"], **labels},
        "metrics": [*metrics, CREATED],
    }


def _states(name: str, text: str, values: tuple[str, list[str], tuple[str, ...]]) -> Json:
    """A series for each value that a field may have; ``values``: label, path and the values."""
    label, path, known = values
    states = {"labelName": label, "path": path, "list": list(known)}
    return {"name": name, "help": text, "each": {"type": "StateSet", "stateSet": states}}


def _count(name: str, text: str, path: list[str]) -> Json:
    gauge = {"path": path, "nilIsZero": True}
    return {"name": name, "help": text, "each": {"type": "Gauge", "gauge": gauge}}
