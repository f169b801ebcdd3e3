"""node-problem-detector on every pool with faults to look for, and all that it reads."""

from components.making.daemons import Daemon, on_pool
from components.making.manifest import Json, Manifest, by_kind, config_map, content_digest, filled
from components.making.pod_security import SECURITY, pod_security
from components.making.rights import bind, subject
from components.remediation import devicechoice, kernellog
from components.remediation.checks import PROGRAMS, checks, files, monitor
from components.remediation.names import COMPONENT, metadata, selector_labels, settings_of
from schemas.facts.site import Site
from schemas.model.site_file import Pool

NAME = "node-problem-detector"
"""The program: the name of its release image, its objects, and NAME_LABEL on its pods."""
METRICS_PORT = 20257
BINDING = f"foresite:{NAME}"
"""The ClusterRoleBinding: apart from one of the site's own."""
SOURCE = "/configuration"
"""Where the ConfigMap is mounted. What runs is a copy of it, made when the pod starts: new scripts
would else run at once on all hosts, with the old monitors' arguments."""
RESOURCES: Json = {
    # The detector takes some 60 MiB, a health command that talks to eight devices some 100 more.
    "requests": {"cpu": "50m", "memory": "128Mi"},
    "limits": {"memory": "512Mi"},
}
READY_SECONDS = 15
"""A configuration that it does not like ends it when it starts: the next tenth waits for that."""


def detectors(site: Site) -> list[Manifest]:
    """The objects of the detector but its namespace: none where the site looks for no faults."""
    pools = [pool for pool in site.file.pools if checks(site, pool)]
    if site.file.remediation is None or not pools:
        return []
    found = _account(site)
    for pool in pools:
        texts = {**files(site, pool), kernellog.FILE: kernellog.text(site, pool)}
        texts |= devicechoice.files(site, pool)
        named = _own(site, f"{NAME}-{pool.name}")
        found.append(config_map(f"{NAME}/{pool.name}", named, texts))
        found.append(on_pool(site, pool, _daemon(site, pool, texts)))
    return found


def _own(site: Site, name: str) -> Json:
    where = {"namespace": settings_of(site).namespace}
    return {**metadata(site, name, **selector_labels(NAME)), **where}


def _account(site: Site) -> list[Manifest]:
    """The detector's account, with Kubernetes' own role: it may read nodes, change their status
    and write events (Kubernetes 1.34, plugin/pkg/auth/authorizer/rbac/bootstrappolicy)."""
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": _own(site, NAME)}
    who = subject(NAME, settings_of(site).namespace)
    bound = metadata(site, BINDING, **selector_labels(NAME))
    return by_kind([account, bind("ClusterRole", "system:node-problem-detector", bound, who)], NAME)


def _daemon(site: Site, pool: Pool, texts: dict[str, str]) -> Daemon:
    settings = settings_of(site)
    copy, container, pod = filled(
        __file__,
        image=settings.detector.image or site.images[NAME],
        args=flags(site, pool),
        resources=RESOURCES,
        copy_security={**SECURITY, **pod_security()},
        configuration=f"{NAME}-{pool.name}",
    )
    return Daemon(
        name=NAME,
        namespace=settings.namespace,
        component=COMPONENT,
        init_containers=[copy],
        containers=[container],
        volumes=pod.pop("volumes"),
        pod=pod,
        annotations=content_digest(texts, NAME),
        min_ready_seconds=READY_SECONDS,
        vital=True,
    )


def flags(site: Site, pool: Pool) -> list[str]:
    """The detector's flags. No port for its profiles and conditions: nobody asks it."""
    names = [monitor(each) for each in checks(site, pool)]
    names += [devicechoice.FILE] if devicechoice.files(site, pool) else []
    monitors = ",".join(f"{PROGRAMS}/{name}" for name in names)
    return [
        f"--config.custom-plugin-monitor={monitors}",
        f"--config.system-log-monitor={PROGRAMS}/{kernellog.FILE}",
        "--port=0",
        "--prometheus-address=0.0.0.0",
        f"--prometheus-port={METRICS_PORT}",
    ]
