"""Settings of the kubelet, of a site or of one of its pools."""

from typing import Annotated, Literal

from pydantic import Field

from schemas.kubernetes.quantities import in_bytes
from schemas.model.primitives import Model, Percent, text_form
from schemas.model.sizes import Cores, LogSize, Memory, ScratchSpace

CpuOption = Literal[
    "full-pcpus-only",
    "distribute-cpus-across-numa",
    "strict-cpu-reservation",
    "prefer-align-cpus-by-uncorecache",
]
"""Those without a feature gate (Kubernetes 1.34 to 1.37, cm/cpumanager/policy_options.go)."""
CpuSet = Annotated[
    str, text_form("[0-9]{1,4}(-[0-9]{1,4})?(,[0-9]{1,4}(-[0-9]{1,4})?){0,63}", "0-1,64-65")
]
"""Numbers of processors."""
NumaMemory = Annotated[str, text_form("(0|[0-9]{1,9}([kMGT]|[KMGT]i))", "1274Mi")]
"""Memory of one NUMA node."""
Namespaced = Annotated[
    str,
    text_form(r"(kernel\.(sem|(shm|msg)[a-z_]*\*?)|(fs\.mqueue|net)\.[a-z0-9_./-]*[a-z0-9*])"),
    Field(examples=["net.core.somaxconn"]),
]
"""A sysctl that each pod has for itself."""


class EvictionHard(Model):
    """Below which free share or size the kubelet evicts pods."""

    memory: Memory = "500Mi"
    """Free memory."""
    nodefs_percent: Percent = 10
    """Free share of the disk that holds pods' data and logs."""
    imagefs_percent: Percent = 15
    """Free share of the disk that holds images."""


class KubeletAsIs(Model):
    """Settings that the kubelet gets under its own names; those not written keep its default."""

    cpu_manager_policy: Literal["none", "static"] | None = None
    """With static, containers of the class Guaranteed get whole cores of their own."""
    topology_manager_policy: (
        Literal["none", "best-effort", "restricted", "single-numa-node"] | None
    ) = None
    """How devices, processors and memory are kept on one NUMA node. restricted refuses pods that
    are on more of them than needed, single-numa-node those that need more than one."""
    topology_manager_scope: Literal["container", "pod"] | None = None
    """What is kept together."""
    memory_manager_policy: Literal["None", "Static"] | None = None
    """Static gives containers of the class Guaranteed memory of the NUMA nodes that they are on."""
    reserved_system_cpus: CpuSet | None = None
    """Processors for the system and the kubelet, in place of reserved_cpu."""
    seccomp_default: bool | None = None
    """True if containers that name no seccomp profile get the runtime's."""
    max_parallel_image_pulls: Annotated[int, Field(ge=1, le=100)] | None = None
    """Images that a host pulls at a time; the kubelet's default is 1."""
    protect_kernel_defaults: bool | None = None
    """True if the kubelet stops at a kernel setting that it would change."""
    allowed_unsafe_sysctls: Annotated[list[Namespaced], Field(max_length=50)] | None = None
    """Sysctls that pods may set for themselves, besides the safe ones."""


class Kubelet(KubeletAsIs):
    """Settings of the kubelet on a pool's nodes."""

    max_pods: Annotated[int, Field(ge=10, le=250)] = 110
    """Pods on one node; a node's /24 has room for 250."""
    max_pids: Annotated[int, Field(ge=1024, le=4_194_304, examples=[65536])] | None = None
    """Processes and threads of one pod at most; default: as many as the host has."""
    eviction_hard: EvictionHard = EvictionHard()
    """When pods are evicted."""
    image_gc_high_percent: Percent = 80
    """Used share of the image disk at which unused images are deleted."""
    image_gc_low_percent: Percent = 70
    """Used share of the image disk at which deleting stops."""
    image_maximum_gc_age_hours: Annotated[int, Field(ge=1, le=8760)] | None = None
    """Hours after which an unused image is deleted, however much room there is."""
    container_log_max_size: LogSize = "50Mi"
    """Size at which a container's log is rotated."""
    reserved_memory: Memory = "2Gi"
    """Memory kept for the system and the kubelet."""
    reserved_cpu: Annotated[Cores, Field(examples=["500m"])] = "1"
    """Processor cores kept for the system and the kubelet."""
    reserved_storage: ScratchSpace | None = None
    """Space of the host's disk kept for the system."""
    reserved_pids: Annotated[int, Field(ge=100, le=4_194_304)] | None = None
    """Processes and threads kept for the system."""
    reserved_memory_by_numa_node: (
        Annotated[list[NumaMemory], Field(min_length=1, max_length=64)] | None
    ) = None
    """Memory that no pod gets of NUMA node 0, 1 and so on, with memory_manager_policy: Static:
    reserved_memory and eviction_hard.memory in all; default: all of it on NUMA node 0."""
    cpu_manager_policy_options: Annotated[list[CpuOption], Field(max_length=4)] = []
    """Choices of cpu_manager_policy: static."""
    prefer_closest_numa_nodes: bool = False
    """True if of several NUMA nodes those near to each other are taken."""
    max_allowable_numa_nodes: Annotated[int, Field(ge=8, le=256)] | None = None
    """NUMA nodes that a host may have for the topology manager; the kubelet's default is 8."""

    @property
    def kept_bytes(self) -> int:
        """Memory that no pod gets: the kubelet's Node Allocatable leaves it out."""
        return in_bytes(self.reserved_memory) + in_bytes(self.eviction_hard.memory)

    @property
    def kept_cpu(self) -> str:
        """Processors that no pod gets, as a quantity."""
        return str(len(self.cpus)) if self.cpus else self.reserved_cpu

    @property
    def cpus(self) -> frozenset[int]:
        """The numbers in ``reserved_system_cpus``."""
        parts = (each.split("-") for each in (self.reserved_system_cpus or "").split(",") if each)
        return frozenset(n for part in parts for n in range(int(part[0]), int(part[-1]) + 1))
