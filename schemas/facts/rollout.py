"""Arithmetic of a rollout: how maxUnavailable, maxSurge and free hosts combine.

Facts about Cluster API 1.13 (internal/controllers/machinedeployment:
machinedeployment_rollout_rollingupdate.go and its planner;
controlplane/kubeadm/internal/controllers/update.go) and Kubernetes 1.34. Never fewer than
replicas - maxUnavailable machines are available, and never more than replicas + maxSurge exist. A
surge needs free hosts, which Cluster API does not know of: without one the new Machine waits.

Rules, plans and policies ask here, and each decides for itself. Needs the standard library only.
"""

from math import ceil
from typing import NamedTuple


class Limits(NamedTuple):
    """How many may be missing, and how many may exist beyond the replicas."""

    unavailable: int
    surge: int


DEFAULTS = {
    "MachineDeployment": Limits(0, 1),
    "KubeadmControlPlane": Limits(0, 1),
    "DaemonSet": Limits(1, 0),
    "Deployment": Limits(25, 25),
}
"""Limits of an object that does not set them; those of a Deployment are percentages."""


class Waves(NamedTuple):
    """A rollout in numbers: ``at_once`` machines install at a time, ``out`` of them are missing
    from the pool, in ``groups`` one after the other; ``stuck`` says why nothing moves."""

    at_once: int
    out: int
    groups: int
    stuck: str = ""


def waves(machines: int, max_unavailable: int, max_surge: int, spares: int) -> Waves:
    """The rollout of ``machines`` on as many hosts and ``spares`` free ones. A surge beyond these
    waits without harm while old machines may go: each freed host serves the next new one."""
    out = min(max_unavailable, machines)
    at_once = min(out + min(max_surge, spares), machines)
    if machines and not at_once:
        why = "no machine may be missing (maxUnavailable 0) and " + (
            f"a surge of {max_surge} has no free host: the new Machine waits forever"
            if max_surge
            else "none may be made before one goes (maxSurge 0)"
        )
        return Waves(0, 0, 0, why)
    return Waves(at_once, out, ceil(machines / at_once) if machines else 0)


def missing(before: int, after: int, unavailable: int) -> int:
    """Machines missing at the worst moment of a rollout from ``before`` to ``after``: the planner
    deletes down to ``after`` less ``unavailable`` at once, also where none can be made again."""
    return before - min(before, max(0, after - unavailable))


def takes_all(limit: int, members: int) -> bool:
    """True if a limit lets all members be out at once; not of a single one, which has to be."""
    return 1 < members <= limit


def control_plane_limits(max_surge: int) -> Limits:
    """Limits of a control plane: one machine at a time, gone before the next without a surge."""
    return Limits(0, 1) if max_surge else Limits(1, 0)


def failure_tolerance(members: int) -> int:
    """The number of etcd members that may be out: etcd needs a majority."""
    return (members - 1) // 2
