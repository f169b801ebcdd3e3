"""A cluster that ran before Foresite: what keeps its name, and where its objects are kept."""

from typing import Annotated

from pydantic import Field

from schemas.model.primitives import DnsLabel, LabelKey, LabelValue, Model, RelativePath


class Adopted(Model):
    """A running cluster that came under Foresite. Objects in the file stay as they are there; what
    leaves the file is made by Foresite from then on, under the same name."""

    objects: RelativePath
    """File below sites/ with the objects that stay as they are (``foresite adopt plan``)."""
    namespace: DnsLabel
    """Namespace of the cluster's objects on the management cluster; Foresite does not make it."""
    cluster: DnsLabel
    """Name of the Cluster."""
    control_plane: DnsLabel
    """Name of the KubeadmControlPlane."""


class AdoptedPool(Model):
    """The parts of a pool's MachineDeployment that never change: another name or selector is
    another pool, and all machines of the first are deleted."""

    deployment: DnsLabel
    """Name of the MachineDeployment."""
    selector: Annotated[dict[LabelKey, LabelValue], Field(min_length=1, max_length=20)]
    """Labels by which it finds its machines."""
