"""The room of a host for pods: how many workers fit, and the default share of each."""

from typing import NamedTuple

from schemas.facts.site import Site
from schemas.kubernetes.quantities import thousandths
from schemas.model.site_file import Pool

DEFAULT_SHARE = 80
"""Share of a host in per cent that workers on all of its accelerators get by default: the rest is
for DaemonSets, and for parameter servers beside them."""
SERVER_CPU, SERVER_MEMORY = "4", "16Gi"
"""Requests of a parameter server."""
LAUNCHER_CPU, LAUNCHER_MEMORY = "2", "4Gi"
"""Requests of mpirun's pod: it starts processes and waits for them."""


class Room(NamedTuple):
    """The room for pods on a host, in thousandths of a core and of a byte."""

    cpu: int
    memory: int
    accelerators: int


def room(site: Site, pool: Pool) -> Room:
    """The room for pods on a pool's host (Kubernetes 1.34, GetNodeAllocatableReservation)."""
    profile, kubelet = site.profile(pool), site.kubelet(pool)
    kept = 1000 * kubelet.kept_bytes
    return Room(
        max(0, profile.cpu_cores * 1000 - thousandths(kubelet.kept_cpu)),
        max(0, profile.memory_gib * thousandths("1Gi") - kept),
        site.devices(pool),
    )


def default_cpu(here: Room, per_worker: int) -> str:
    """A worker's share of a host's cores, in whole ones."""
    share = here.cpu * DEFAULT_SHARE * per_worker // (100 * here.accelerators)
    return str(max(1, share // 1000))


def default_memory(here: Room, per_worker: int) -> str:
    """A worker's share of a host's memory, in whole GiB."""
    share = here.memory * DEFAULT_SHARE * per_worker // (100 * here.accelerators)
    return f"{max(1, share // thousandths('1Gi'))}Gi"


def workers_on(here: Room, per_worker: int, cpu: str, memory: str) -> int:
    """How many workers fit on a host that has nothing else to do."""
    return min(
        here.accelerators // per_worker,
        here.cpu // max(1, thousandths(cpu)),
        here.memory // max(1, thousandths(memory)),
    )
