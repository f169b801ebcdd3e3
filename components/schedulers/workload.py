"""A scheduler as it runs: a Deployment on the control plane, with what watches and guards it."""

from components.making import replicas
from components.making.dump import dump
from components.making.manifest import Json, Manifest, by_kind, content_digest, filled, prune
from components.making.pod_security import SECURITY
from components.schedulers import names
from components.schedulers.configuration import configuration
from schemas.facts.feature_gates import gate_list
from schemas.facts.site import Site
from schemas.model.scheduling import Backend, KubeScheduler
from schemas.model.vocabulary import ModelBy

_ALIVE = {"path": "/livez", "port": "metrics", "scheme": "HTTPS"}
_GANG = {"path": "/gang-healthz", "port": "gang-health"}
"""It hangs with the gang plugin's locks, so a probe finds that after 90 s; the plugin itself gives
up after three minutes."""


def workload(site: Site, backend: Backend, scheduler: KubeScheduler) -> list[Manifest]:
    """Everything that makes a scheduler run, in the namespace of the schedulers."""
    text, selector = dump(configuration(site, backend, scheduler)), names.selector_labels(backend)
    metadata = names.own(site, backend)
    template, config, *guards = filled(
        __file__,
        labels=metadata["labels"],
        digest=content_digest(text),
        pod=replicas.pod(site, backend.name, selector),
        name=backend.name,
        image=scheduler.image,
        command=list(scheduler.command) or None,
        args=_flags(site),
        ports=_ports(scheduler),
        alive=_GANG if scheduler.gang else _ALIVE,
        security=SECURITY,
        metadata=metadata,
        selector=selector,
        text=text,
    )
    template["spec"]["containers"] = [prune(each) for each in template["spec"]["containers"]]
    runs = replicas.deployment(metadata, selector, scheduler.replicas, template)
    return by_kind((config, runs, *guards), backend.name)


def _flags(site: Site) -> list[str]:
    """With the feature gate without which a scheduler finds none of the site's devices by DRA.

    Said whatever the site's version of Kubernetes, as the image may be built of an older one, in
    which DRAExtendedResource is off by default (Kubernetes 1.34, pkg/features/kube_features.go).
    """
    settings = site.file.accelerators
    by_dra = settings is not None and settings.model_by is ModelBy.DRA
    gate = [f"--feature-gates={gate_list({'DRAExtendedResource': True})}"]
    flags = [f"--config={names.CONFIG_DIRECTORY}/{names.CONFIG_FILE}", "--v=2"]
    return [*flags, *(gate if by_dra and site.models() else ())]


def _ports(scheduler: KubeScheduler) -> list[Json]:
    found = [{"name": "metrics", "containerPort": names.METRICS_PORT}]
    if scheduler.gang is not None:
        found.append({"name": "gang-health", "containerPort": names.HEALTH_PORT})
    return found
