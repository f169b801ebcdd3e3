"""The rights of a scheduler: those of the default one, its own lease, and the needs of its plugins.

Kubernetes' own roles are bound, not copied: the API server keeps them right for its version and
feature gates (Kubernetes 1.34, plugin/pkg/auth/authorizer/rbac/bootstrappolicy/policy.go).
"""

from components.making.manifest import Json, Manifest, Target
from components.schedulers.names import metadata, own, selector_labels, shared_name
from schemas.facts.site import Site
from schemas.model.scheduling import Backend, KubeScheduler

RBAC_GROUP = "rbac.authorization.k8s.io"
RBAC = f"{RBAC_GROUP}/v1"
SYSTEM_ROLES = {"scheduling": "system:kube-scheduler", "volumes": "system:volume-scheduler"}
READERS_ROLE = "extension-apiserver-authentication-reader"
"""Of kube-system: whoever serves metrics reads there whose certificates to trust."""
THROTTLES = "schedule.k8s.everpeace.github.com"
READ = ["get", "list", "watch"]


def rights(site: Site, backend: Backend, scheduler: KubeScheduler) -> list[Manifest]:
    """The ServiceAccount of a scheduler, with all that it may do."""
    account: Json = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": own(site, backend),
        "automountServiceAccountToken": False,
    }
    found = [Manifest(f"ServiceAccount/{backend.name}", account, target=Target.SITE)]
    found += [_cluster_binding(site, backend, part, role) for part, role in SYSTEM_ROLES.items()]
    plugins = plugin_rules(scheduler)
    if plugins:
        name = shared_name(backend, "plugins")
        body = {"rules": plugins, "metadata": metadata(site, name, **selector_labels(backend))}
        found.append(_rbac("ClusterRole", body, backend, "plugins"))
        found.append(_cluster_binding(site, backend, "plugins", name))
    return [*found, *_lease(site, backend), _readers_binding(site, backend)]


def plugin_rules(scheduler: KubeScheduler) -> list[Json]:
    """The rights of the plugins beyond a scheduler's."""
    found: list[Json] = []
    if scheduler.gang is not None:
        # Writes a pod's position into an annotation, by server-side apply (gangs_worker.go).
        found.append({"apiGroups": [""], "resources": ["pods"], "verbs": ["patch"]})
    if scheduler.throttler is not None:
        kinds = ["clusterthrottles", "throttles"]
        found.append({"apiGroups": [THROTTLES], "resources": kinds, "verbs": READ})
        status = [f"{kind}/status" for kind in kinds]
        found.append({"apiGroups": [THROTTLES], "resources": status, "verbs": ["update"]})
    return found


def _rbac(kind: str, body: Json, backend: Backend, part: str) -> Manifest:
    whole = {"apiVersion": RBAC, "kind": kind, **body}
    return Manifest(f"{kind}/{backend.name}/{part}", whole, target=Target.SITE)


def _to_account(site: Site, backend: Backend, kind: str, role: str) -> Json:
    """Whom a binding is for, and which role it gives."""
    account = {
        "kind": "ServiceAccount",
        "name": backend.name,
        "namespace": site.scheduling.namespace,
    }
    reference = {"apiGroup": RBAC_GROUP, "kind": kind, "name": role}
    return {"roleRef": reference, "subjects": [account]}


def _cluster_binding(site: Site, backend: Backend, part: str, role: str) -> Manifest:
    names = metadata(site, shared_name(backend, part), **selector_labels(backend))
    body = {"metadata": names, **_to_account(site, backend, "ClusterRole", role)}
    return _rbac("ClusterRoleBinding", body, backend, part)


def _lease(site: Site, backend: Backend) -> list[Manifest]:
    """Its own lease alone, in its own namespace; any scheduler may create one anywhere."""
    rule = {
        "apiGroups": ["coordination.k8s.io"],
        "resources": ["leases"],
        "resourceNames": [backend.name],
        "verbs": ["get", "update"],
    }
    names = own(site, backend, "-lease")
    bound = {"metadata": names, **_to_account(site, backend, "Role", names["name"])}
    return [
        _rbac("Role", {"metadata": names, "rules": [rule]}, backend, "lease"),
        _rbac("RoleBinding", bound, backend, "lease"),
    ]


def _readers_binding(site: Site, backend: Backend) -> Manifest:
    names = metadata(
        site, shared_name(backend, "readers"), "kube-system", **selector_labels(backend)
    )
    body = {"metadata": names, **_to_account(site, backend, "Role", READERS_ROLE)}
    return _rbac("RoleBinding", body, backend, "readers")
