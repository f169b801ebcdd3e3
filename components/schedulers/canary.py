"""The canary: tiny pods that pass through a gang scheduler all the time, as nothing else wakes a
parked gang.
"""

from components.making.manifest import Json, Manifest, labels, site_object
from components.making.pod_security import POD_SECURITY, SECURITY
from components.making.taints import tolerations
from components.making.told import Told
from components.schedulers import names
from schemas.facts.site import Site
from schemas.model.scheduling import Backend

IMAGE = "busybox"
"""Its name among the release's images."""
PRIORITY_CLASS = "gang-canary"
PRIORITY = -2_000_000_000
"""Below every PriorityClass that a site file can write: a canary gives way to all."""
TOLD = Told(__file__)


def priority_class(site: Site) -> Manifest:
    """The PriorityClass of canaries: they are taken first, and take nobody's place."""
    (found,) = TOLD.rows("priority_class")
    logical, api = f"PriorityClass/{PRIORITY_CLASS}", "scheduling.k8s.io/v1"
    return site_object(logical, api, names.metadata(site, PRIORITY_CLASS), value=PRIORITY, **found)


def canary(site: Site, backend: Backend) -> Manifest:
    """The CronJob of a backend's canary."""
    mine = {"labels": _labels(site, backend)}
    (spec,) = TOLD.rows("cron_job")
    (job,) = TOLD.rows("job")
    job["template"] = {"metadata": mine, "spec": _pod(site, backend)}
    spec["jobTemplate"] = {"metadata": mine, "spec": job}
    head = {"name": f"{backend.name}-canary", "namespace": site.scheduling.namespace, **mine}
    return site_object(f"CronJob/{backend.name}", "batch/v1", head, spec=spec)


def _labels(site: Site, backend: Backend) -> dict[str, str]:
    """Of its pods: no scheduler's Service or NetworkPolicy may select one."""
    mine = {names.NAME_LABEL: PRIORITY_CLASS, names.INSTANCE_LABEL: backend.name}
    return {**labels(site.name, names.COMPONENT), **mine}


def _pod(site: Site, backend: Backend) -> Json:
    """A pod that fits every node with room for one more: it asks for nothing."""
    (pod,) = TOLD.rows("pod", scheduler=backend.name, priority_class=PRIORITY_CLASS)
    (container,) = TOLD.rows("container", image=site.images[IMAGE])
    return {
        **pod,
        # Its scheduler would place it there anyhow; so whoever reads it sees where it runs.
        "affinity": names.on_pools(site, backend),
        "tolerations": tolerations(names.pools_of(site, backend)),
        "securityContext": POD_SECURITY,
        "containers": [{**container, "securityContext": SECURITY}],
    }
