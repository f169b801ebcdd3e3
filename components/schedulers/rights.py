"""The rights of a scheduler: those of the default one, its own lease, and the needs of its plugins.

Kubernetes' own roles are bound, not copied: the API server keeps them right for its version and
feature gates (Kubernetes 1.34, plugin/pkg/auth/authorizer/rbac/bootstrappolicy/policy.go).
"""

from components.making.manifest import Json, Manifest, by_kind
from components.making.rights import API, READ, account, bind, role_and_binding, rule, subject
from components.schedulers.names import metadata, own, selector_labels, shared_name
from schemas.facts.site import Site
from schemas.model.scheduling import Backend, KubeScheduler

SYSTEM_ROLES = {"scheduling": "system:kube-scheduler", "volumes": "system:volume-scheduler"}
READERS_ROLE = "extension-apiserver-authentication-reader"
"""Of kube-system: whoever serves metrics reads there whose certificates to trust."""
THROTTLES = "schedule.k8s.everpeace.github.com"


def rights(site: Site, backend: Backend, scheduler: KubeScheduler) -> list[Manifest]:
    """The ServiceAccount of a scheduler, with all that it may do."""
    found = by_kind([account(own(site, backend))], backend.name)
    for part, system in SYSTEM_ROLES.items():
        found += _cluster_binding(site, backend, part, system)
    plugins = plugin_rules(scheduler)
    if plugins:
        name = shared_name(backend, "plugins")
        names = metadata(site, name, **selector_labels(backend))
        role = {"apiVersion": API, "kind": "ClusterRole", "rules": plugins, "metadata": names}
        found += by_kind([role], f"{backend.name}/plugins")
        found += _cluster_binding(site, backend, "plugins", name)
    return [*found, *_lease(site, backend), *_readers_binding(site, backend)]


def plugin_rules(scheduler: KubeScheduler) -> list[Json]:
    """The rights of the plugins beyond a scheduler's."""
    found: list[Json] = []
    if scheduler.gang is not None:
        # Writes a pod's position into an annotation, by server-side apply (gangs_worker.go).
        found.append(rule("", ["pods"], ["patch"]))
    if scheduler.throttler is not None:
        kinds = ["clusterthrottles", "throttles"]
        found.append(rule(THROTTLES, kinds, READ))
        found.append(rule(THROTTLES, [f"{kind}/status" for kind in kinds], ["update"]))
    return found


def _account(site: Site, backend: Backend) -> Json:
    return subject(backend.name, site.scheduling.namespace)


def _cluster_binding(site: Site, backend: Backend, part: str, role: str) -> list[Manifest]:
    names = metadata(site, shared_name(backend, part), **selector_labels(backend))
    made = bind("ClusterRole", role, names, _account(site, backend))
    return by_kind([made], f"{backend.name}/{part}")


def _lease(site: Site, backend: Backend) -> list[Manifest]:
    """Its own lease alone, in its own namespace; any scheduler may create one anywhere."""
    own_lease = rule("coordination.k8s.io", ["leases"], ["get", "update"], backend.name)
    names = own(site, backend, "-lease")
    bodies = role_and_binding("Role", names, [own_lease], _account(site, backend))
    return by_kind(bodies, f"{backend.name}/lease")


def _readers_binding(site: Site, backend: Backend) -> list[Manifest]:
    names = metadata(
        site, shared_name(backend, "readers"), "kube-system", **selector_labels(backend)
    )
    body = bind("Role", READERS_ROLE, names, _account(site, backend))
    return by_kind([body], f"{backend.name}/readers")
