"""Which pods export metrics, and where: labels, ports and paths as the components make them.

Components know nothing of each other, so what is written here is theirs once more; a test holds it
against the objects that they make. What is not Foresite's has its source beside it.
"""

from typing import NamedTuple

from components.monitoring.exporters import Exporter, exporters, scheduler_job
from schemas.facts.feature_gates import operated
from schemas.facts.site import Site
from schemas.model.vocabulary import BackendKind, HealerKind

NAME_LABEL, INSTANCE_LABEL = "app.kubernetes.io/name", "app.kubernetes.io/instance"
ACCELERATORS_NAMESPACE = "accelerators"
METRICS = "/metrics"
ENVOY_PATH, ENVOY_PORT = "/stats/prometheus", 9903
SCHEDULER_PORT, DETECTOR_PORT, CONTROLLER_PORT = 10259, 20257, 8080
DCGM_PORT = 9400


class Scrape(NamedTuple):
    """Pods that are asked for metrics. ``port_name`` is that of their container, or of the Service
    where one is named; ``port`` the number in the pod. Always one ``namespace``: in others anybody
    may run pods with these labels, to whom Prometheus would show its token."""

    name: str
    exporter: Exporter | None
    """None for what no rule asks: exporters of cards that are the site's own."""
    job: str
    namespace: str
    labels: dict[str, str]
    """Of the pods, or of the Service where there is one."""
    port_name: str
    port: int
    path: str = METRICS
    pools: tuple[str, ...] = ()
    """Of whose nodes alone."""
    service: bool = False
    """Whether a Service leads to them."""
    behind: dict[str, str] | None = None
    """Labels of the pods behind the Service, where they are others."""
    secure: bool = False
    """Whether they speak TLS and ask for a token that may read /metrics."""

    @property
    def pod_labels(self) -> dict[str, str]:
        """The labels by which pods are told from others."""
        return self.labels if self.behind is None else self.behind


def scrapes(site: Site) -> list[Scrape]:
    """All that is asked on a site, in a fixed order."""
    return [
        *_detectors(site),
        *_controllers(site),
        *_schedulers(site),
        *_queues(site),
        *_cards(site),
        *_cache(site),
    ]


def _program(exporter: Exporter, namespace: str, port: int, **more: str) -> Scrape:
    """Pods that have the exporter's name, and a port called metrics."""
    labels = {NAME_LABEL: exporter.value, **more}
    return Scrape(exporter.value, exporter, exporter.value, namespace, labels, "metrics", port)


def _detectors(site: Site) -> list[Scrape]:
    """node-problem-detector, on every pool with faults to look for."""
    remediation = site.file.remediation
    if remediation is None or Exporter.NODE_PROBLEM_DETECTOR not in exporters(site):
        return []
    return [_program(Exporter.NODE_PROBLEM_DETECTOR, remediation.namespace, DETECTOR_PORT)]


def _controllers(site: Site) -> list[Scrape]:
    remediation = site.file.remediation
    if remediation is None:
        return []
    kinds = {healer.kind for healer in remediation.healers}
    if HealerKind.NODE_OPERATION_CONTROLLER not in kinds:
        return []
    return [_program(Exporter.NODE_OPERATION_CONTROLLER, remediation.namespace, CONTROLLER_PORT)]


def _schedulers(site: Site) -> list[Scrape]:
    """The kube-schedulers that Foresite runs, with what their plugins count."""
    return [
        Scrape(
            f"scheduler-{backend.name}",
            Exporter.SCHEDULER,
            scheduler_job(backend),
            site.scheduling.namespace,
            {NAME_LABEL: "kube-scheduler", INSTANCE_LABEL: backend.name},
            "metrics",
            SCHEDULER_PORT,
            service=True,
            secure=True,
        )
        for backend in sorted(site.scheduling.backends, key=lambda each: each.name)
        if backend.kind is BackendKind.KUBE_SCHEDULER and backend.scheduler is not None
    ]


KUEUE = Scrape(
    "kueue",
    Exporter.KUEUE,
    Exporter.KUEUE.value,
    "kueue-system",
    {NAME_LABEL: "kueue", "app.kubernetes.io/component": "metrics-service"},
    "https",
    8443,
    service=True,
    behind={NAME_LABEL: "kueue", "control-plane": "controller-manager"},
    secure=True,
)
"""Kueue 0.19.2, config/components/prometheus/monitor.yaml, config/default/metrics_service.yaml and
charts/kueue/templates/manager: the same labels by manifest and by chart; the namespace of both, by
config/default/kustomization.yaml and charts/kueue/README.md."""
VOLCANO = Scrape(
    "volcano",
    Exporter.VOLCANO,
    Exporter.VOLCANO.value,
    "volcano-system",
    {"app": "volcano-scheduler"},
    "metrics",
    8080,
    service=True,
)
"""Volcano 1.15.1, installer/helm/chart/volcano/templates/scheduler.yaml: its pods declare no port,
its Service does. The namespace is that of installer/volcano-development.yaml and its README."""


def _queues(site: Site) -> list[Scrape]:
    """Kueue and Volcano, which the site runs itself, in the namespaces of their own manuals."""
    known = {BackendKind.KUEUE: KUEUE, BackendKind.VOLCANO: VOLCANO}
    kinds = {backend.kind for backend in site.scheduling.backends}
    return [scrape for kind, scrape in known.items() if kind in kinds]


def _cards(site: Site) -> list[Scrape]:
    """The exporters of accelerators: Foresite's by the ports of their records, and the GPU
    operator's."""
    found: dict[tuple[str, int], list[str]] = {}
    by_operator = False
    for pool in site.file.pools:
        model = site.model(pool)
        program = site.accelerators[model].exporter if model else None
        if model is None or program is None:
            continue
        if operated(site, model):
            by_operator = True
        else:
            found.setdefault((site.accelerators[model].vendor, program.port), []).append(pool.name)
    made = [_exporter(found, each) for each in sorted(found)]
    return [*made, *(_operators(site) if by_operator else [])]


def _exporter(found: dict[tuple[str, int], list[str]], key: tuple[str, int]) -> Scrape:
    """The exporters of a vendor's cards at one port."""
    vendor, port = key
    nvidia = vendor == "nvidia"
    job = Exporter.DCGM.value if nvidia else f"{vendor}-exporter"
    several = len([each for each in found if each[0] == vendor]) > 1
    return Scrape(
        f"{job}-{port}" if several else job,
        Exporter.DCGM if nvidia else None,
        job,
        ACCELERATORS_NAMESPACE,
        {NAME_LABEL: "exporter"},
        "metrics",
        port,
        pools=tuple(found[key]),
    )


def _operators(site: Site) -> list[Scrape]:
    """The exporter that the GPU operator runs (NVIDIA/gpu-operator,
    assets/state-dcgm-exporter/0900_daemonset.yaml); Foresite turns the operator's own monitor
    off."""
    settings = site.file.accelerators
    if settings is None or settings.gpu_operator is None:
        return []
    space = settings.gpu_operator.namespace
    labels = {"app": "nvidia-dcgm-exporter"}
    dcgm = Exporter.DCGM
    return [Scrape("gpu-operator", dcgm, dcgm.value, space, labels, "metrics", DCGM_PORT)]


def _cache(site: Site) -> list[Scrape]:
    """Servers of the cache, where they have metrics, and Envoys."""
    cache = site.file.cache
    if cache is None:
        return []
    server, proxy = Exporter.CACHE_SERVER, Exporter.ENVOY
    envoys = _program(proxy, cache.namespace, ENVOY_PORT)._replace(path=ENVOY_PATH)
    path = cache.server.metrics_path
    if path is None:
        return [envoys]
    servers = _program(server, cache.namespace, cache.server.port)
    return [servers._replace(port_name="objects", path=path), envoys]
