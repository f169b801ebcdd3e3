"""The first installation of a new site: when each pool begins, and how long it takes.

Sources: KubeadmControlPlane adds a machine at a time (Cluster API v1.13.6,
controlplane/kubeadm/internal/controllers/scale.go); workers wait for the first of them, as their
bootstrap data does (bootstrap/kubeadm/internal/controllers/kubeadmconfig_controller.go); the Bare
Metal Operator works on 20 hosts at a time (BMO v0.13.2, pkg/provisioner/ironic/ironic.go,
PROVISIONING_LIMIT).
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

from components.effects import SiteChange


class Installation(NamedTuple):
    """The first installation of a pool (in a zone, where these are kept apart): it ``begins`` so
    many hours after the change is applied and takes ``hours``. ``accelerators`` are all of its
    machines', of one ``model``, empty for none."""

    pool: str
    zone: str
    machines: int
    begins: float
    hours: float
    model: str
    accelerators: int
    control_plane: bool
    limit: int = 20


def installations(site: SiteChange) -> Iterator[Installation]:
    """The installation of each pool of a new site, the control plane first. Workers take turns by
    pool where the operator takes fewer at a time. Inspection comes before, and is not counted."""
    if site.before is not None:
        return
    groups = sorted(site.side.fleet.groups, key=lambda group: not group.control_plane)
    begins, limit = 0.0, site.side.fleet.at_once
    for group in groups:
        each = group.pace.install_minutes / 60
        turns = group.replicas if group.control_plane else math.ceil(group.replicas / limit)
        model, number = group.accelerators
        yield Installation(
            group.pool, group.zone, group.replicas, begins, turns * each, model,
            group.replicas * number, group.control_plane, limit,
        )  # fmt: skip
        begins += each if group.control_plane else turns * each
