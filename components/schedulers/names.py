"""Names of the schedulers' objects, and the labels by which they find each other."""

from functools import partial

from components.making.manifest import Json, metadata_of
from schemas.facts.site import Site
from schemas.kubernetes.node_labels import POOL_LABEL
from schemas.model.scheduling import Backend, KubeScheduler
from schemas.model.site_file import Pool
from schemas.model.vocabulary import BackendKind

COMPONENT = "schedulers"
NAME_LABEL = "app.kubernetes.io/name"
INSTANCE_LABEL = "app.kubernetes.io/instance"
SCHEDULER = "kube-scheduler"
METRICS_PORT = 10259
"""Where a kube-scheduler serves metrics and health, by TLS (its default)."""
HEALTH_PORT = 10260
"""Where the gang plugin serves its own health, and Go's profiles with it."""
CONFIG_DIRECTORY = "/etc/kubernetes/scheduler"
CONFIG_FILE = "config.yaml"
metadata = partial(metadata_of, COMPONENT)


def run_here(site: Site) -> list[tuple[Backend, KubeScheduler]]:
    """The backends whose scheduler Foresite runs, with its settings."""
    return [(each, each.scheduler) for each in kube_schedulers(site) if each.scheduler is not None]


def kinds(site: Site) -> set[BackendKind]:
    """The kinds of backends that the site has."""
    return {backend.kind for backend in site.scheduling.backends}


def kube_schedulers(site: Site) -> list[Backend]:
    """The backends that are kube-schedulers, whoever runs them."""
    return [each for each in backends(site) if each.kind is BackendKind.KUBE_SCHEDULER]


def job(backend: Backend) -> str:
    """The value of ``job`` of a backend's kube-schedulers: each backend has its own."""
    return f"scheduler-{backend.name}"


def backends(site: Site) -> list[Backend]:
    """The backends by name: their order in the file means nothing, and changes no object."""
    return sorted(site.scheduling.backends, key=lambda each: each.name)


def pools_of(site: Site, backend: Backend) -> list[Pool]:
    """The pools of a backend, in the order of the site: theirs in the backend means nothing."""
    return [pool for pool in site.file.pools if pool.name in backend.pools]


def on_pools(site: Site, backend: Backend) -> Json:
    """The affinity of what runs on the pools of a backend alone."""
    names = [pool.name for pool in pools_of(site, backend)]
    term = {"matchExpressions": [{"key": POOL_LABEL, "operator": "In", "values": names}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    return {"nodeAffinity": required}


def selector_labels(backend: Backend) -> dict[str, str]:
    """The labels by which a backend's scheduler pods are selected; they can never change."""
    return {NAME_LABEL: SCHEDULER, INSTANCE_LABEL: backend.name}


def own(site: Site, backend: Backend, suffix: str = "") -> Json:
    """The metadata of an object of one backend, in the namespace of the schedulers."""
    space = site.scheduling.namespace
    return metadata(site, backend.name + suffix, space, **selector_labels(backend))


def shared_name(backend: Backend, part: str) -> str:
    """The name of a cluster-wide object of a backend: apart from those of anybody else."""
    return f"foresite:scheduler:{backend.name}:{part}"
