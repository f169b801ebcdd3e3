"""The canary: tiny pods that pass through a gang scheduler, as nothing else wakes a parked gang."""

from components.making.manifest import Manifest, by_kind, documents, fill, labels
from components.making.pod_security import POD_SECURITY, SECURITY
from components.making.taints import tolerations
from components.schedulers import names
from schemas.facts.site import Site
from schemas.model.scheduling import Backend

IMAGE = "busybox"
"""Its name among the release's images."""
PRIORITY_CLASS = "gang-canary"
PRIORITY = -2_000_000_000
"""Below every PriorityClass that a site file can write: a canary gives way to all."""
_CLASS, _CANARY = documents(__file__)


def priority_class(site: Site) -> Manifest:
    """The PriorityClass of canaries."""
    values = {"class": names.metadata(site, PRIORITY_CLASS), "priority": PRIORITY}
    return by_kind([fill(_CLASS, values)], PRIORITY_CLASS)[0]


def canary(site: Site, backend: Backend) -> Manifest:
    """The CronJob of a backend's canary."""
    # No scheduler's Service or NetworkPolicy may select one of its pods.
    mine = {names.NAME_LABEL: PRIORITY_CLASS, names.INSTANCE_LABEL: backend.name}
    values = {
        "name": f"{backend.name}-canary",
        "namespace": site.scheduling.namespace,
        "labels": {**labels(site.name, names.COMPONENT), **mine},
        "scheduler": backend.name,
        "affinity": names.on_pools(site, backend),
        "tolerations": tolerations(names.pools_of(site, backend)),
        "pod_security": POD_SECURITY,
        "image": site.images[IMAGE],
        "security": SECURITY,
    }
    return by_kind([fill(_CANARY, values)], backend.name)[0]
