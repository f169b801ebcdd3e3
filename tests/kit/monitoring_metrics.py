"""Every metric that rules and dashboards ask for: who exports it, its type, labels and source.

Labels are the metric's own; those that scraping adds are in TARGET_LABELS. Prometheus sees a
histogram by three names, its own with ``_bucket``, ``_count`` or ``_sum``: the table has it once.
Rows are sorted within their source.
"""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from itertools import chain
from types import MappingProxyType
from typing import NamedTuple

from components.making.promql import Exporter

TARGET_LABELS = ("job", "instance", "namespace", "pod", "node", "pool")
"""Labels of every target that is a pod of Foresite's: ``node`` is the name of its node, ``pool``
the value of the pod's label of the pool (DaemonSets alone)."""
DETECTOR, CONTROLLER = "node-problem-detector", "node-operation-controller"
SCHEDULER, KUEUE, VOLCANO = "scheduler", "kueue", "volcano"
DCGM, CACHE_SERVER, ENVOY = "dcgm-exporter", "cache-server", "envoy"


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


_COUNTER, _GAUGE, _HISTOGRAM = Type.COUNTER, Type.GAUGE, Type.HISTOGRAM
_KSM = Exporter.KUBE_STATE_METRICS
_STORE = "kube-state-metrics 2.20 (c92fe0c5), internal/store/"
_Row = tuple[str, Type, str]
"""Name, type, labels with spaces between them."""


def _from(exporter: str, source: str, *rows: _Row) -> Iterator[tuple[str, Metric]]:
    """The metrics of one source."""
    for name, kind, labels in rows:
        yield name, Metric(exporter, kind, tuple(labels.split()), source)


_RULES = chain(
    _from(
        Exporter.PROMETHEUS,
        "Prometheus 2.42, docs/concepts/jobs_instances.md",
        ("up", _GAUGE, ""),
    ),
    _from(
        _KSM,
        _STORE + "node.go",
        ("kube_node_created", _GAUGE, "node"),
        ("kube_node_info", _GAUGE, "node internal_ip provider_id kubelet_version kernel_version"),
        ("kube_node_spec_taint", _GAUGE, "node key value effect"),
        ("kube_node_spec_unschedulable", _GAUGE, "node"),
        ("kube_node_status_allocatable", _GAUGE, "node resource unit"),
        ("kube_node_status_condition", _GAUGE, "node condition status"),
    ),
    _from(
        _KSM,
        _STORE + "pod.go",
        (
            "kube_pod_container_resource_requests",
            _GAUGE,
            "namespace pod uid container node resource unit",
        ),
        ("kube_pod_container_status_restarts_total", _COUNTER, "namespace pod uid container"),
        ("kube_pod_created", _GAUGE, "namespace pod uid"),
        ("kube_pod_info", _GAUGE, "namespace pod uid node host_ip pod_ip priority_class"),
        ("kube_pod_scheduler", _GAUGE, "namespace pod uid name"),
        ("kube_pod_status_phase", _GAUGE, "namespace pod uid phase"),
        ("kube_pod_status_reason", _GAUGE, "namespace pod uid reason"),
        ("kube_pod_status_scheduled", _GAUGE, "namespace pod uid condition"),
        ("kube_pod_status_unschedulable", _GAUGE, "namespace pod uid"),
    ),
    _from(
        _KSM,
        _STORE + "cronjob.go",
        ("kube_cronjob_created", _GAUGE, "namespace cronjob"),
        ("kube_cronjob_status_last_schedule_time", _GAUGE, "namespace cronjob"),
        ("kube_cronjob_status_last_successful_time", _GAUGE, "namespace cronjob"),
    ),
    _from(
        _KSM,
        _STORE + "daemonset.go",
        ("kube_daemonset_status_desired_number_scheduled", _GAUGE, "namespace daemonset"),
        ("kube_daemonset_status_number_ready", _GAUGE, "namespace daemonset"),
    ),
    _from(
        _KSM,
        _STORE + "deployment.go",
        ("kube_deployment_status_replicas_available", _GAUGE, "namespace deployment"),
    ),
    _from(
        Exporter.NODE_EXPORTER,
        "node_exporter 1.10.2, collector/filesystem_common.go",
        ("node_filesystem_avail_bytes", _GAUGE, "device mountpoint fstype device_error"),
        ("node_filesystem_size_bytes", _GAUGE, "device mountpoint fstype device_error"),
    ),
    _from(
        Exporter.NODE_EXPORTER,
        "node_exporter 1.10.2, collector/stat_linux.go",
        ("node_boot_time_seconds", _GAUGE, ""),
    ),
    _from(
        Exporter.NODE_EXPORTER,
        "node_exporter 1.10.2, collector/time.go",
        ("node_time_seconds", _GAUGE, ""),
    ),
    _from(
        Exporter.API_SERVER,
        "apiserver 0.34.3, pkg/authentication/request/x509/x509.go",
        ("apiserver_client_certificate_expiration_seconds", _HISTOGRAM, "le"),
    ),
    _from(
        Exporter.KUBELET,
        "Kubernetes 1.34.3, cmd/kubelet/app/server.go, pkg/kubelet/certificate/kubelet.go",
        ("kubelet_certificate_manager_client_ttl_seconds", _GAUGE, ""),
        ("kubelet_certificate_manager_server_ttl_seconds", _GAUGE, ""),
    ),
    _from(
        Exporter.KUBELET,
        "cadvisor 0.52.1, metrics/prometheus.go; kept by Kubernetes 1.34.3, "
        "pkg/kubelet/cadvisor/cadvisor_linux.go (DiskIOMetrics)",
        (
            "container_fs_writes_bytes_total",
            _COUNTER,
            "namespace pod container id image name device",
        ),
    ),
    _from(
        SCHEDULER,
        "Kubernetes 1.34.3, pkg/scheduler/metrics/metrics.go",
        ("scheduler_pending_pods", _GAUGE, "queue"),
        ("scheduler_schedule_attempts_total", _COUNTER, "result profile"),
    ),
    _from(
        SCHEDULER,
        "component-base 0.34.3, metrics/prometheus/clientgo/leaderelection/metrics.go",
        ("leader_election_master_status", _GAUGE, "name"),
    ),
    _from(
        KUEUE,
        "Kueue 0.19.2, pkg/metrics/metrics.go",
        ("kueue_admitted_workloads_total", _COUNTER, "cluster_queue priority_class replica_role"),
        ("kueue_build_info", _GAUGE, "git_version git_commit build_date go_version"),
        ("kueue_cluster_queue_status", _GAUGE, "cluster_queue status replica_role"),
        ("kueue_pending_workloads", _GAUGE, "cluster_queue status replica_role"),
    ),
    _from(
        VOLCANO,
        "Volcano 1.15.1, pkg/scheduler/metrics/metrics.go",
        ("volcano_unschedule_job_count", _GAUGE, ""),
        ("volcano_unschedule_task_count", _GAUGE, "job_id"),
    ),
    _from(
        DETECTOR,
        "node-problem-detector 1.36.0, pkg/problemmetrics/problem_metrics.go",
        ("problem_counter", _COUNTER, "reason"),
    ),
    _from(
        DCGM,
        "dcgm-exporter 4.5.3-4.8.2, etc/default-counters.csv and "
        "internal/pkg/rendermetrics/render_metrics.go",
        ("DCGM_FI_DEV_ROW_REMAP_FAILURE", _GAUGE, "gpu UUID pci_bus_id device modelName"),
        (
            "DCGM_FI_DEV_XID_ERRORS",
            _GAUGE,
            "gpu UUID pci_bus_id device modelName err_code err_msg",
        ),
    ),
    _from(
        CACHE_SERVER,
        "cache-server 0.1.0, cache_server/metrics.py",
        ("cache_config_last_reload_successful", _GAUGE, ""),
        ("cache_hits_total", _COUNTER, "bucket"),
        ("cache_lost_objects_total", _COUNTER, ""),
        ("cache_misses_total", _COUNTER, "bucket"),
        ("cache_requests_total", _COUNTER, "method bucket code"),
        ("cache_token_reviews_total", _COUNTER, "result"),
    ),
    _from(
        ENVOY,
        "Envoy 1.39, docs/root/configuration/upstream/cluster_manager/cluster_stats.rst",
        ("envoy_cluster_membership_healthy", _GAUGE, "envoy_cluster_name"),
    ),
    _from(
        ENVOY,
        "Envoy 1.39, docs/root/configuration/http/http_conn_man/stats.rst",
        (
            "envoy_http_downstream_rq_xx",
            _COUNTER,
            "envoy_http_conn_manager_prefix envoy_response_code_class",
        ),
    ),
)

_REPAIRS = _from(
    Exporter.CUSTOM_RESOURCES,
    "kube-state-metrics 2.20, by components/remediation/watch/resources.yaml",
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
        CONTROLLER,
        "controller-runtime 0.19.7, pkg/internal/controller/metrics/metrics.go",
        ("controller_runtime_reconcile_errors_total", _COUNTER, "controller"),
    ),
    _from(
        CONTROLLER,
        "controller-runtime 0.19.7, pkg/metrics/workqueue.go",
        ("workqueue_depth", _GAUGE, "name controller"),
    ),
)
_SCHEDULERS = chain(
    _from(
        SCHEDULER,
        "Kubernetes 1.34.3, pkg/scheduler/metrics/metrics.go",
        ("scheduler_pod_scheduling_sli_duration_seconds", _HISTOGRAM, "attempts"),
        ("scheduler_preemption_victims", _HISTOGRAM, ""),
        ("scheduler_scheduling_attempt_duration_seconds", _HISTOGRAM, "result profile"),
    ),
    _from(
        SCHEDULER,
        "pfnet/scheduler-plugins f63b46e, plugins/gang/metrics.go",
        ("gang_event_total", _COUNTER, "type namespace gang"),
    ),
    _from(
        SCHEDULER,
        "kube-throttler 1.7.4, pkg/controllers/clusterthrottle_metrics.go",
        (
            "clusterthrottle_status_calculated_threshold_resourceRequests",
            _GAUGE,
            "name uid resource",
        ),
        ("clusterthrottle_status_used_resourceRequests", _GAUGE, "name uid resource"),
    ),
    _from(
        KUEUE,
        "Kueue 0.19.2, pkg/metrics/metrics.go",
        ("kueue_admission_attempts_total", _COUNTER, "result replica_role"),
        (
            "kueue_admission_wait_time_seconds",
            _HISTOGRAM,
            "cluster_queue priority_class replica_role",
        ),
        ("kueue_admitted_active_workloads", _GAUGE, "cluster_queue replica_role"),
        (
            "kueue_evicted_workloads_total",
            _COUNTER,
            "cluster_queue reason underlying_cause priority_class replica_role",
        ),
    ),
    _from(
        VOLCANO,
        "Volcano 1.15.1, pkg/scheduler/metrics/metrics.go",
        ("volcano_schedule_attempts_total", _COUNTER, "result"),
    ),
    _from(
        VOLCANO,
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
        DCGM,
        "dcgm-exporter 4.5.3-4.8.2, etc/default-counters.csv",
        ("DCGM_FI_DEV_GPU_TEMP", _GAUGE, "gpu UUID pci_bus_id device modelName"),
        ("DCGM_FI_DEV_GPU_UTIL", _GAUGE, "gpu UUID pci_bus_id device modelName"),
    ),
)
_OF_CACHE = chain(
    _from(
        CACHE_SERVER,
        "cache-server 0.1.0, cache_server/metrics.py",
        ("cache_evicted_bytes_total", _COUNTER, "bucket"),
        ("cache_quota_bytes", _GAUGE, "bucket"),
        ("cache_used_bytes", _GAUGE, "bucket"),
    ),
    _from(
        ENVOY,
        "Envoy 1.39, docs/root/configuration/upstream/cluster_manager/cluster_stats.rst",
        ("envoy_cluster_membership_total", _GAUGE, "envoy_cluster_name"),
        ("envoy_cluster_upstream_rq", _COUNTER, "envoy_cluster_name envoy_response_code"),
    ),
)

METRICS: Mapping[str, Metric] = MappingProxyType(
    dict(chain(_RULES, _REPAIRS, _OWN, _SCHEDULERS, _NODES, _OF_CACHE))
)
