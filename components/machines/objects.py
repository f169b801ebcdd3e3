"""The machines of a site as Cluster API v1beta2 and Metal3 objects, in a fixed order.

Owns the cluster itself and puts the parts together: the control plane (controlplane.py), worker
pools (workers.py), templates that both are made from (templates.py, bootstrap.py), health checks
(health.py), hosts (hosts.py), addresses (addresses.py). Does not own what runs on the cluster.
"""

from components.machines.addresses import address_pools
from components.machines.adopted import as_kept
from components.machines.controlplane import control_plane
from components.machines.firmware import firmware
from components.machines.health import health_checks
from components.machines.host_agent import host_agent
from components.machines.hosts import hosts
from components.machines.names import COMPONENT, metadata
from components.machines.upgrade import worker_version_guard
from components.machines.workers import workers
from components.making.manifest import Manifest, annotate, filled, metadata_of
from components.making.pod_security import pod_security_labels
from schemas.facts.adopted import kept
from schemas.facts.site import Site


def objects(site: Site) -> list[Manifest]:
    """Every object of a site's machines on its management cluster, and the agent on its own."""
    others = [
        *namespace(site),
        *clusters(site),
        *worker_version_guard(site),
        *address_pools(site),
        *control_plane(site),
        *workers(site),
        *health_checks(site),
        *firmware(site),
    ]
    return [*annotate(others), *hosts(site), *host_agent(site)]


def namespace(site: Site) -> list[Manifest]:
    """The namespace of all that the site has on the management cluster. Protected, as deleting it
    wipes every BareMetalHost in it; no pod runs in it, so Pod Security is as strict as it can be.
    That of an adopted site is somebody else's."""
    if site.file.adopted:
        return []
    found = metadata_of(COMPONENT, site, site.name, **pod_security_labels("restricted"))
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": found}
    return [Manifest("Namespace", body, protect=True)]


def clusters(site: Site) -> list[Manifest]:
    """The Cluster, and the Metal3Cluster with the endpoint and the zones that the control plane may
    spread over; those of an adopted site stay as they are."""
    stay = [as_kept(site, each, each["kind"]) for (kind, _), each in kept(site).items()
            if kind in ("Cluster", "Metal3Cluster")]  # fmt: skip
    if stay:
        return stay
    file, used = site.file.cluster, site.zones_of(site.control_plane)
    bodies = filled(
        __file__,
        metadata=metadata(site, site.name),
        site=site.name,
        endpoint=file.endpoint,
        port=file.port,
        pods=[each for each in (file.pods, file.pods6) if each],
        services=[each for each in (file.services, file.services6) if each],
        zones=[{"name": zone.name, "controlPlane": zone.name in used} for zone in site.file.zones],
    )
    return [Manifest(each["kind"], each, protect=True) for each in bodies]
