"""DaemonSets of what hosts need: one a pool, so that a change of one restarts nothing elsewhere."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from components.making.manifest import Json, Manifest, by_kind, filled, metadata_of, prune
from components.making.pod_security import POD_SECURITY, SECURITY, pod_security_labels
from components.making.taints import tolerations
from schemas.facts.site import Site
from schemas.kubernetes.node_labels import POOL_LABEL
from schemas.model.site_file import Pool

MAX_UNAVAILABLE = "10%"
"""Share of a pool whose pods are replaced at a time: a bad image stops at the first tenth."""


class Daemon(NamedTuple):
    """A DaemonSet for each host of a pool: the part's ``name`` (its objects are named after it and
    the pool), where it belongs, its containers, and further fields of the pod's spec."""

    name: str
    namespace: str
    component: str
    containers: Sequence[Json]
    """Each as :func:`container` makes it, or another."""
    volumes: Sequence[Json] = ()
    init_containers: Sequence[Json] = ()
    pod: Mapping[str, Any] = MappingProxyType({})
    """A securityContext replaces the restricted one; an empty one leaves it to the containers."""
    annotations: Mapping[str, str] = MappingProxyType({})
    """Of the pod template: a checksum here restarts the pods when what they read changes."""
    min_ready_seconds: int = 0
    """Seconds that a new pod must be ready before it counts and the next pods are replaced."""
    vital: bool = False
    """True if a host cannot work without it: it outranks every pod and tolerates every taint, also
    of a node under repair that would else never get it back. The policies allow both by exception
    alone (policies/exceptions.yaml). Else ``pod`` names a PriorityClass of the site."""


def on_pool(site: Site, pool: Pool, daemon: Daemon) -> Manifest:
    """The DaemonSet of a part on a pool. No token: none of these asks the API server, unless
    ``pod`` names a ServiceAccount."""
    name = f"{daemon.name}-{pool.name}"
    match = {"app.kubernetes.io/name": daemon.name, POOL_LABEL: pool.name}
    spec: Json = {
        "automountServiceAccountToken": "serviceAccountName" in daemon.pod,
        "priorityClassName": "system-node-critical" if daemon.vital else None,
        "nodeSelector": {POOL_LABEL: pool.name},
        "tolerations": [{"operator": "Exists"}] if daemon.vital else tolerations([pool]),
        "initContainers": list(daemon.init_containers) or None,
        "containers": list(daemon.containers),
        "volumes": list(daemon.volumes) or None,
        **daemon.pod,
    }
    spec.setdefault("securityContext", POD_SECURITY)
    metadata = metadata_of(daemon.component, site, name, daemon.namespace, **match)
    (body,) = filled(
        __file__,
        metadata=metadata,
        settling={"minReadySeconds": daemon.min_ready_seconds} if daemon.min_ready_seconds else {},
        match=match,
        at_once=MAX_UNAVAILABLE,
        pod_metadata=prune({"labels": metadata["labels"], "annotations": dict(daemon.annotations)}),
        pod=prune(spec),
    )
    return by_kind([body], f"{daemon.name}/{pool.name}")[0]


def container(
    name: str, image: str, resources: tuple[str, str], capabilities: Sequence[str] = (), **more: Any
) -> Json:
    """A container that is held to the Pod Security Standard "restricted".

    ``resources``: processor time and memory that it requests; memory is its limit too.
    ``capabilities`` are added, and only root has added ones: the policies allow both by exception
    alone. ``more``: further fields of a container; ``probes`` returns some.
    """
    cpu, memory = resources
    rights: Json = {}
    if capabilities:
        rights = {"capabilities": {"drop": ["ALL"], "add": list(capabilities)}}
        rights |= {"runAsNonRoot": False, "runAsUser": 0, "runAsGroup": 0}
    sizes = {"requests": {"cpu": cpu, "memory": memory}, "limits": {"memory": memory}}
    head = {"name": name, "image": image, "imagePullPolicy": "IfNotPresent", "resources": sizes}
    return prune({**head, "securityContext": {**SECURITY, **rights}, **more})


def probes(path: str, port: str) -> Json:
    """Probes of a container: ready while the path answers, restarted after two minutes without."""
    asked = {"httpGet": {"path": path, "port": port}, "timeoutSeconds": 5}
    live = {**asked, "periodSeconds": 20, "failureThreshold": 6}
    return {"readinessProbe": asked, "livenessProbe": live}


def host_path(name: str, path: str, kind: str = "") -> Json:
    """A volume of a pod that is a path of its host; ``kind`` as in HostPathVolumeSource.type."""
    return {"name": name, "hostPath": prune({"path": path, "type": kind or None})}


def namespace(site: Site, name: str, component: str, level: str) -> Manifest:
    """A namespace of ours on the site's own cluster, protected as everything in it goes with it;
    ``level``: its Pod Security Standard, privileged where pods have paths of their host."""
    metadata = metadata_of(component, site, name, **pod_security_labels(level))
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
    return by_kind([body], name, protect=True)[0]
