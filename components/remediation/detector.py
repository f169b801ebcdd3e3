"""node-problem-detector on every pool with faults to look for, and all that it reads.

The pod sees its host: processes, kernel log, devices, and the root file system, read-only. So it
is privileged; what it runs on the host is the health command of the pool's accelerators alone.
Source: node-problem-detector 1.36.0, Dockerfile and cmd/options.
"""

from components.making.daemons import Daemon, host_path, on_pool
from components.making.manifest import (
    CONFIGURATION_ANNOTATION,
    Json,
    Manifest,
    Target,
    hash_name,
    labels,
)
from components.making.pod_security import SECURITY, pod_security
from components.making.rights import bind, subject
from components.remediation import devicechoice, kernellog
from components.remediation.checks import HOST, PROGRAMS, STATE, checks, files, monitor
from schemas.facts.site import Site
from schemas.model.remediation import Remediation
from schemas.model.site_file import Pool

COMPONENT = "remediation"
NAME = "node-problem-detector"
"""The program: the name of its release image, its objects, and NAME_LABEL on its pods."""
NAME_LABEL = "app.kubernetes.io/name"
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
    remediation = site.file.remediation
    pools = [pool for pool in site.file.pools if checks(site, pool)]
    if remediation is None or not pools:
        return []
    found = _account(site, remediation)
    for pool in pools:
        texts = {**files(site, pool), kernellog.FILE: kernellog.text(site, pool)}
        texts |= devicechoice.files(site, pool)
        found.append(_configuration(site, remediation, pool, texts))
        found.append(on_pool(site, pool, _daemon(site, remediation, pool, texts)))
    return found


def _metadata(site: Site, name: str, namespace: str | None = None) -> Json:
    metadata: Json = {"name": name, "labels": {**labels(site.name, COMPONENT), NAME_LABEL: NAME}}
    return metadata if namespace is None else {**metadata, "namespace": namespace}


def _account(site: Site, remediation: Remediation) -> list[Manifest]:
    """The detector's account, with Kubernetes' own role: it may read nodes, change their status
    and write events (Kubernetes 1.34, plugin/pkg/auth/authorizer/rbac/bootstrappolicy)."""
    metadata = _metadata(site, NAME, remediation.namespace)
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}
    who = subject(NAME, remediation.namespace)
    binding = bind("ClusterRole", "system:node-problem-detector", _metadata(site, BINDING), who)
    return [
        Manifest(f"ServiceAccount/{NAME}", account, target=Target.SITE),
        Manifest(f"ClusterRoleBinding/{NAME}", binding, target=Target.SITE),
    ]


def _configuration(
    site: Site, remediation: Remediation, pool: Pool, texts: dict[str, str]
) -> Manifest:
    body = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": _metadata(site, f"{NAME}-{pool.name}", remediation.namespace),
        "data": texts,
    }
    return Manifest(f"ConfigMap/{NAME}/{pool.name}", body, target=Target.SITE)


def _daemon(site: Site, remediation: Remediation, pool: Pool, texts: dict[str, str]) -> Daemon:
    image = remediation.detector.image or site.release.images[NAME]
    configuration = {"name": f"{NAME}-{pool.name}", "defaultMode": 0o755}
    return Daemon(
        name=NAME,
        namespace=remediation.namespace,
        component=COMPONENT,
        init_containers=[_copy(image)],
        containers=[_container(site, pool, image)],
        volumes=[
            {"name": "configuration", "configMap": configuration},
            {"name": "programs", "emptyDir": {"medium": "Memory", "sizeLimit": "4Mi"}},
            host_path("host", "/", "Directory"),
            host_path("state", STATE, "DirectoryOrCreate"),
            host_path("kernel-log", "/dev/kmsg", "CharDevice"),
        ],
        pod={"serviceAccountName": NAME, "hostPID": True, "securityContext": {}},
        annotations={CONFIGURATION_ANNOTATION: hash_name(NAME, texts)},
        min_ready_seconds=READY_SECONDS,
        vital=True,
    )


def _copy(image: str) -> Json:
    """Copies the configuration; files of a ConfigMap are links, which cp follows."""
    return {
        "name": "configuration",
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "command": ["/bin/sh", "-c", f"cp {SOURCE}/*.json {SOURCE}/*.sh {PROGRAMS}/"],
        "resources": RESOURCES,
        "securityContext": {**SECURITY, **pod_security()},
        "volumeMounts": [
            {"name": "configuration", "mountPath": SOURCE, "readOnly": True},
            {"name": "programs", "mountPath": PROGRAMS},
        ],
    }


def _container(site: Site, pool: Pool, image: str) -> Json:
    """``command`` too, as the image's own names monitors that set conditions."""
    node = {"name": "NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}
    return {
        "name": NAME,
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "command": [f"/{NAME}"],
        "args": flags(site, pool),
        "env": [node],
        "ports": [{"name": "metrics", "containerPort": METRICS_PORT}],
        "readinessProbe": {"httpGet": {"path": "/metrics", "port": "metrics"}},
        "resources": RESOURCES,
        "securityContext": {"privileged": True, "readOnlyRootFilesystem": True},
        "volumeMounts": [
            {"name": "programs", "mountPath": PROGRAMS, "readOnly": True},
            {
                "name": "host",
                "mountPath": HOST,
                "readOnly": True,
                "mountPropagation": "HostToContainer",
            },
            {"name": "state", "mountPath": STATE},
            {"name": "kernel-log", "mountPath": "/dev/kmsg", "readOnly": True},
        ],
    }


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
