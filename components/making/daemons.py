"""DaemonSets of what a pool's hosts need: one for each pool, so that a change of one pool's part
restarts nothing on another's.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from components.making.manifest import Json, Manifest, Target, labels, pruned
from components.making.pod_security import pod_security_labels
from schemas.facts.site import Site
from schemas.kubernetes.node_labels import POOL_LABEL
from schemas.model.site_file import Pool

MAX_UNAVAILABLE = "10%"
"""Share of a pool whose pods are replaced at a time: a bad image stops at the first tenth."""


class Daemon(NamedTuple):
    """What runs on each host of a pool: the part's ``name`` (its objects are named after it and
    the pool), where it belongs, its containers, and further fields of the pod's spec."""

    name: str
    namespace: str
    component: str
    containers: Sequence[Json]
    volumes: Sequence[Json] = ()
    init_containers: Sequence[Json] = ()
    pod: Mapping[str, Any] = MappingProxyType({})
    annotations: Mapping[str, str] = MappingProxyType({})
    """Of the pod template: a checksum here restarts the pods when what they read changes."""
    min_ready_seconds: int = 0
    """How long a new pod has to be ready before it counts, and the next ones are replaced."""


def on_pool(site: Site, pool: Pool, daemon: Daemon) -> Manifest:
    """The DaemonSet of a part on a pool.

    It tolerates every taint: a node under repair that lost its plugin, driver or network would else
    never get it back, and so never be found healthy. No token: none of these asks the API server,
    unless ``pod`` names a ServiceAccount.
    """
    name = f"{daemon.name}-{pool.name}"
    ours = labels(site.name, daemon.component)
    match = {"app.kubernetes.io/name": daemon.name, POOL_LABEL: pool.name}
    spec: Json = {
        "automountServiceAccountToken": "serviceAccountName" in daemon.pod,
        "priorityClassName": "system-node-critical",
        "nodeSelector": {POOL_LABEL: pool.name},
        "tolerations": [{"operator": "Exists"}],
        "initContainers": list(daemon.init_containers) or None,
        "containers": list(daemon.containers),
        "volumes": list(daemon.volumes) or None,
        **daemon.pod,
    }
    body = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": name, "namespace": daemon.namespace, "labels": {**ours, **match}},
        "spec": {
            **({"minReadySeconds": daemon.min_ready_seconds} if daemon.min_ready_seconds else {}),
            "selector": {"matchLabels": match},
            "updateStrategy": {
                "type": "RollingUpdate",
                "rollingUpdate": {"maxUnavailable": MAX_UNAVAILABLE},
            },
            "template": {
                "metadata": pruned(
                    {"labels": {**ours, **match}, "annotations": dict(daemon.annotations)}
                ),
                "spec": pruned(spec),
            },
        },
    }
    return Manifest(f"DaemonSet/{daemon.name}/{pool.name}", body, target=Target.SITE)


def host_path(name: str, path: str, kind: str = "") -> Json:
    """A volume of a pod that is a path of its host; ``kind`` as in HostPathVolumeSource.type."""
    return {"name": name, "hostPath": pruned({"path": path, "type": kind or None})}


def namespace(site: Site, name: str, component: str, level: str) -> Manifest:
    """A namespace of ours on the site's own cluster; ``level`` is its Pod Security Standard:
    privileged where pods have paths of their host.

    Protected, as everything in it goes with it.
    """
    found = {**labels(site.name, component), **pod_security_labels(level)}
    body = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": name, "labels": found},
    }
    return Manifest(f"Namespace/{name}", body, target=Target.SITE, protect=True)
