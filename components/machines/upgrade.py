"""The order of a Kubernetes upgrade, held by the management cluster whoever applies.

A worker version ahead of the control plane makes Cluster API delete machines first and then create
none (its preflight checks block the new ones). So a MachineDeployment is refused a minor version
that the control plane does not run yet, by pull request, Pulumi, Argo CD or kubectl alike.
"""

from components.machines.names import CLUSTER_API, COMPONENT, CONTROL_PLANE_API, group
from components.making.admission import in_force
from components.making.manifest import Json, Manifest, Target, labels
from components.making.told import Told
from schemas.facts.adopted import management_names
from schemas.facts.site import Site

TOLD = Told(__file__)


def worker_version_guard(site: Site) -> list[Manifest]:
    """A ValidatingAdmissionPolicy for the site's MachineDeployments, and its binding. Its parameter
    is the site's KubeadmControlPlane, whose ``status.version`` is the lowest of its machines;
    before the first machine there is none, and nothing to hold back."""
    name = f"foresite-{site.name}-worker-version"
    metadata: Json = {"name": name, "labels": labels(site.name, COMPONENT)}
    there = management_names(site)
    values = {"control_plane": CONTROL_PLANE_API, "group": group(CLUSTER_API)}
    values |= {"name": there.control_plane, "namespace": there.namespace}
    policy, binding = (TOLD.rows(each, **values)[0] for each in ("policy", "binding"))
    return in_force("worker-version", metadata, policy, binding, target=Target.MANAGEMENT)
