"""The scrapes, alerts and panels of schedulers and their queues.

What is not Foresite's has its source beside it.
"""

from components.making.watch import Group, Scrape, Watched
from components.schedulers import names
from components.schedulers.watch import alerts, queues
from schemas.facts.site import Site
from schemas.model.vocabulary import BackendKind


def watch(site: Site) -> Watched:
    """The data from which monitoring renders schedulers and queues."""
    monitoring = site.file.monitoring
    if monitoring is None:
        return Watched()
    groups = (
        Group("queues", queues.rules(site, monitoring.thresholds), place=3),
        Group("schedulers", alerts.rules(site), place=4),
    )
    return Watched(scrapes(site), groups, (queues.board(site), alerts.board(site)))


def scrapes(site: Site) -> list[Scrape]:
    """The kube-schedulers that Foresite runs, with what their plugins count; Kueue and Volcano,
    which the site runs itself, in the namespaces of their own manuals."""
    found = [
        Scrape(
            names.job(backend),
            "scheduler",
            names.job(backend),
            site.scheduling.namespace,
            names.selector_labels(backend),
            "metrics",
            names.METRICS_PORT,
            service=True,
            secure=True,
            place=1,
        )
        for backend, _ in names.run_here(site)
    ]
    known = {BackendKind.KUEUE: KUEUE, BackendKind.VOLCANO: VOLCANO}
    return [*found, *(scrape for kind, scrape in known.items() if kind in names.kinds(site))]


KUEUE = Scrape(
    "kueue",
    BackendKind.KUEUE.value,
    BackendKind.KUEUE.value,
    "kueue-system",
    {names.NAME_LABEL: "kueue", "app.kubernetes.io/component": "metrics-service"},
    "https",
    8443,
    service=True,
    behind={names.NAME_LABEL: "kueue", "control-plane": "controller-manager"},
    secure=True,
    always="kueue_build_info",
    place=2,
)
"""Kueue 0.19.2, config/components/prometheus/monitor.yaml, config/default/metrics_service.yaml and
charts/kueue/templates/manager: the same labels by manifest and by chart; the namespace of both, by
config/default/kustomization.yaml and charts/kueue/README.md."""
VOLCANO = Scrape(
    "volcano",
    BackendKind.VOLCANO.value,
    BackendKind.VOLCANO.value,
    "volcano-system",
    {"app": "volcano-scheduler"},
    "metrics",
    8080,
    service=True,
    always="volcano_unschedule_job_count",
    place=2,
)
"""Volcano 1.15.1, installer/helm/chart/volcano/templates/scheduler.yaml: its pods declare no port,
its Service does. The namespace is that of installer/volcano-development.yaml and its README."""
