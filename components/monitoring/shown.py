"""Metrics that dashboards ask for and no rule does: the rest of the table in metrics.py."""

from collections.abc import Iterator, Mapping
from itertools import chain
from types import MappingProxyType

from components.monitoring.exporters import Exporter
from components.monitoring.metrics import METRICS, Metric, Type

_COUNTER, _GAUGE, _HISTOGRAM = Type.COUNTER, Type.GAUGE, Type.HISTOGRAM
_Row = tuple[str, Type, str]
"""Name, type, labels with spaces between them."""


def _from(exporter: Exporter, source: str, *rows: _Row) -> Iterator[tuple[str, Metric]]:
    """The metrics of one source."""
    for name, kind, labels in rows:
        yield name, Metric(exporter, kind, tuple(labels.split()), source)


_REPAIRS = _from(
    Exporter.CUSTOM_RESOURCES,
    "components/monitoring/customresources.py",
    ("kube_nodeoperation_created", _GAUGE, "node nodeoperation"),
    ("kube_nodeoperation_status_phase", _GAUGE, "node nodeoperation phase"),
    (
        "kube_noderemediation_status_node_status",
        _GAUGE,
        "node noderemediation template node_status",
    ),
)
_OWN = chain(
    _from(
        Exporter.PROMETHEUS,
        "Prometheus 2.42, docs/configuration/alerting_rules.md",
        ("ALERTS", _GAUGE, "alertname alertstate severity site"),
    ),
    _from(
        Exporter.NODE_OPERATION_CONTROLLER,
        "controller-runtime 0.19.7, pkg/internal/controller/metrics/metrics.go",
        ("controller_runtime_reconcile_errors_total", _COUNTER, "controller"),
    ),
    _from(
        Exporter.NODE_OPERATION_CONTROLLER,
        "controller-runtime 0.19.7, pkg/metrics/workqueue.go",
        ("workqueue_depth", _GAUGE, "name controller"),
    ),
)
_SCHEDULERS = chain(
    _from(
        Exporter.SCHEDULER,
        "Kubernetes 1.34.3, pkg/scheduler/metrics/metrics.go",
        ("scheduler_pod_scheduling_sli_duration_seconds", _HISTOGRAM, "attempts"),
        ("scheduler_scheduling_attempt_duration_seconds", _HISTOGRAM, "result profile"),
    ),
    _from(
        Exporter.SCHEDULER,
        "pfnet/scheduler-plugins f63b46e, plugins/gang/metrics.go",
        ("gang_event_total", _COUNTER, "type namespace gang"),
    ),
    _from(
        Exporter.SCHEDULER,
        "kube-throttler 1.7.4, pkg/controllers/clusterthrottle_metrics.go",
        (
            "clusterthrottle_status_calculated_threshold_resourceRequests",
            _GAUGE,
            "name uid resource",
        ),
        ("clusterthrottle_status_used_resourceRequests", _GAUGE, "name uid resource"),
    ),
    _from(
        Exporter.KUEUE,
        "Kueue 0.19.2, pkg/metrics/metrics.go",
        ("kueue_admission_attempts_total", _COUNTER, "result replica_role"),
        (
            "kueue_admission_wait_time_seconds",
            _HISTOGRAM,
            "cluster_queue priority_class replica_role",
        ),
        ("kueue_admitted_active_workloads", _GAUGE, "cluster_queue replica_role"),
    ),
    _from(
        Exporter.VOLCANO,
        "Volcano 1.15.1, pkg/scheduler/metrics/metrics.go",
        ("volcano_schedule_attempts_total", _COUNTER, "result"),
    ),
    _from(
        Exporter.VOLCANO,
        "Volcano 1.15.1, pkg/scheduler/metrics/queue.go; in thousandths by "
        "pkg/scheduler/api/resource_info.go",
        ("volcano_queue_allocated_scalar_resources", _GAUGE, "queue_name resource"),
    ),
    _from(
        Exporter.API_SERVER,
        "apiserver 0.34.3, pkg/endpoints/metrics/metrics.go",
        (
            "apiserver_request_duration_seconds",
            _HISTOGRAM,
            "verb dry_run group version resource subresource scope component",
        ),
        (
            "apiserver_request_total",
            _COUNTER,
            "verb dry_run group version resource subresource scope component code",
        ),
    ),
)
_NODES = chain(
    _from(
        Exporter.NODE_EXPORTER,
        "node_exporter 1.10.2, collector/filesystem_common.go",
        ("node_filesystem_files", _GAUGE, "device mountpoint fstype device_error"),
        ("node_filesystem_files_free", _GAUGE, "device mountpoint fstype device_error"),
    ),
    _from(
        Exporter.NODE_EXPORTER,
        "node_exporter 1.10.2, collector/diskstats_linux.go",
        ("node_disk_io_time_seconds_total", _COUNTER, "device"),
    ),
    _from(
        Exporter.NODE_EXPORTER,
        "node_exporter 1.10.2, collector/meminfo.go",
        ("node_memory_MemAvailable_bytes", _GAUGE, ""),
        ("node_memory_MemTotal_bytes", _GAUGE, ""),
    ),
    _from(
        Exporter.DCGM,
        "dcgm-exporter 4.5.3-4.8.2, etc/default-counters.csv",
        ("DCGM_FI_DEV_GPU_TEMP", _GAUGE, "gpu UUID pci_bus_id device modelName"),
        ("DCGM_FI_DEV_GPU_UTIL", _GAUGE, "gpu UUID pci_bus_id device modelName"),
    ),
)
_CACHE = chain(
    _from(
        Exporter.CACHE_SERVER,
        "cache-server 0.1.0, cache_server/metrics.py",
        ("cache_evicted_bytes_total", _COUNTER, "bucket"),
        ("cache_quota_bytes", _GAUGE, "bucket"),
        ("cache_used_bytes", _GAUGE, "bucket"),
    ),
    _from(
        Exporter.ENVOY,
        "Envoy 1.39, docs/root/configuration/upstream/cluster_manager/cluster_stats.rst",
        ("envoy_cluster_membership_total", _GAUGE, "envoy_cluster_name"),
        ("envoy_cluster_upstream_rq", _COUNTER, "envoy_cluster_name envoy_response_code"),
    ),
)

SHOWN: Mapping[str, Metric] = MappingProxyType(
    dict(chain(_REPAIRS, _OWN, _SCHEDULERS, _NODES, _CACHE))
)
"""By name; none of them is in METRICS."""
ASKED: Mapping[str, Metric] = MappingProxyType({**METRICS, **SHOWN})
"""All that rules and dashboards ask for."""
