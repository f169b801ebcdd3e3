"""Settings of the kubelet, of a site or of one of its pools."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from schemas.kubernetes.quantities import in_bytes
from schemas.model.primitives import Model, Percent
from schemas.model.sizes import Cores, LogSize, Memory, ScratchSpace


class CpuManagerPolicy(StrEnum):
    """The way in which containers get processors: ``cpuManagerPolicy``."""

    NONE = "none"
    """All share all processors."""
    STATIC = "static"
    """Containers of the class Guaranteed with whole cores get processors of their own."""


class CpuManagerOption(StrEnum):
    """A choice of the static CPU manager without a feature gate: ``cpuManagerPolicyOptions``."""

    FULL_CORES = "full-pcpus-only"
    """Containers get whole cores, so that none shares one with another by hyper-threading."""
    ACROSS_NUMA = "distribute-cpus-across-numa"
    """Those that need several NUMA nodes get equally many processors of each."""
    STRICT = "strict-cpu-reservation"
    """Pods never run on the reserved processors."""
    CACHE = "prefer-align-cpus-by-uncorecache"
    """Processors that share a cache are preferred, as on AMD EPYC."""


class TopologyManagerPolicy(StrEnum):
    """The rule by which devices, processors and memory are on one NUMA node:
    ``topologyManagerPolicy``."""

    NONE = "none"
    """None."""
    BEST_EFFORT = "best-effort"
    """They are, where it can be had."""
    RESTRICTED = "restricted"
    """They are on as few NUMA nodes as can hold the request; else the pod is refused."""
    SINGLE = "single-numa-node"
    """They are on one; a pod that needs more than one NUMA node has is refused for good."""


class TopologyManagerScope(StrEnum):
    """The unit that is kept together: ``topologyManagerScope``."""

    CONTAINER = "container"
    """Each container."""
    POD = "pod"
    """All containers of a pod."""


class MemoryManagerPolicy(StrEnum):
    """The way in which containers get memory: ``memoryManagerPolicy``."""

    NONE = "None"
    """From any NUMA node."""
    STATIC = "Static"
    """Containers of the class Guaranteed get it from the NUMA nodes of their processors."""


class EvictionHard(Model):
    """Below which free share or size the kubelet evicts pods."""

    memory: Memory = "500Mi"
    """Free memory."""
    nodefs_percent: Percent = 10
    """Free share of the disk that holds pods' data and logs."""
    imagefs_percent: Percent = 15
    """Free share of the disk that holds images."""


class EvictionSoft(Model):
    """Below which free share or size the kubelet evicts pods after some time."""

    memory: Memory | None = None
    """Free memory."""
    nodefs_percent: Percent | None = None
    """Free share of the disk that holds pods' data and logs."""
    imagefs_percent: Percent | None = None
    """Free share of the disk that holds images."""
    grace_seconds: Annotated[int, Field(ge=10, le=86_400)] = 120
    """Seconds that the shortage lasts before pods are evicted."""
    max_pod_grace_seconds: Annotated[int, Field(ge=0, le=86_400)] = 60
    """Seconds that a pod gets to end at most."""


class KubeletAsIs(Model):
    """Settings that the kubelet gets under its own names; one that is not written keeps the
    kubelet's default."""

    cpu_manager_policy: CpuManagerPolicy | None = Field(default=None, strict=False)
    """How containers get processors."""
    topology_manager_policy: TopologyManagerPolicy | None = Field(default=None, strict=False)
    """How devices, processors and memory are kept on one NUMA node."""
    topology_manager_scope: TopologyManagerScope | None = Field(default=None, strict=False)
    """What is kept together."""
    memory_manager_policy: MemoryManagerPolicy | None = Field(default=None, strict=False)
    """How containers get memory."""
    reserved_system_cpus: (
        Annotated[
            str,
            Field(pattern=r"^[0-9]{1,4}(-[0-9]{1,4})?(,[0-9]{1,4}(-[0-9]{1,4})?){0,63}$",
                  examples=["0-1,64-65"]),
        ]
        | None
    ) = None  # fmt: skip
    """Numbers of the processors for the system and the kubelet, in place of reserved_cpu."""
    seccomp_default: bool | None = None
    """True if containers that name no seccomp profile get the runtime's."""
    serialize_image_pulls: bool | None = None
    """True if a host pulls one image at a time."""
    max_parallel_image_pulls: Annotated[int, Field(ge=1, le=100)] | None = None
    """Images that a host pulls at a time."""
    registry_pull_qps: Annotated[int, Field(ge=0, le=1000)] | None = None
    """Pulls that a host begins in a second; 0 for any number."""
    registry_burst: Annotated[int, Field(ge=0, le=1000)] | None = None
    """Pulls that may begin at once."""
    container_log_max_files: Annotated[int, Field(ge=2, le=100)] | None = None
    """Files of a container's log that are kept."""
    protect_kernel_defaults: bool | None = None
    """True if the kubelet stops at a kernel setting that it would change."""
    allowed_unsafe_sysctls: (
        Annotated[
            list[
                Annotated[
                    str,
                    Field(pattern=r"^(kernel\.(sem|(shm|msg)[a-z_]*\*?)|(fs\.mqueue|net)\."
                          r"([a-z0-9_./-]*\*|[a-z0-9_./-]+))$", examples=["net.core.somaxconn"]),
                ]
            ],
            Field(max_length=50),
        ]
        | None
    ) = None  # fmt: skip
    """Sysctls of its own network, and of its own shared memory, that a pod may set."""


class Kubelet(KubeletAsIs):
    """Settings of the kubelet on a pool's nodes."""

    max_pods: Annotated[int, Field(ge=10, le=250)] = 110
    """Pods on one node; a node's /24 has room for 250."""
    max_pids: Annotated[int, Field(ge=1024, le=4_194_304, examples=[65536])] | None = None
    """Processes and threads of one pod at most; default: as many as the host has."""
    eviction_hard: EvictionHard = EvictionHard()
    """When pods are evicted."""
    eviction_soft: EvictionSoft | None = None
    """When pods are evicted after some time; without it never."""
    image_gc_high_percent: Percent = 80
    """Used share of the image disk at which unused images are deleted."""
    image_gc_low_percent: Percent = 70
    """Used share of the image disk at which deleting stops."""
    image_minimum_gc_age_minutes: Annotated[int, Field(ge=1, le=525_600)] | None = None
    """Minutes that an unused image is kept at least; the kubelet's default is 2."""
    image_maximum_gc_age_minutes: Annotated[int, Field(ge=1, le=525_600)] | None = None
    """Minutes after which an unused image is deleted, however much room there is."""
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
        Annotated[
            list[Annotated[str, Field(pattern=r"^(0|[0-9]{1,9}([kMGT]|[KMGT]i))$")]],
            Field(min_length=1, max_length=64, examples=[["1274Mi", "1274Mi"]]),
        ]
        | None
    ) = None
    """Reserved memory of NUMA node 0, 1 and so on, for memory_manager_policy: Static. They are
    reserved_memory and eviction_hard.memory in all; default: all of it on NUMA node 0."""
    cpu_manager_policy_options: Annotated[
        list[Annotated[CpuManagerOption, Field(strict=False)]], Field(max_length=4)
    ] = []
    """Choices of cpu_manager_policy: static."""
    prefer_closest_numa_nodes: bool = False
    """True if of several NUMA nodes those near to each other are taken."""
    max_allowable_numa_nodes: Annotated[int, Field(ge=8, le=256)] | None = None
    """NUMA nodes that a host may have for the topology manager; the kubelet's default is 8."""
    shutdown_grace_period_seconds: Annotated[int, Field(ge=1, le=3600)] | None = None
    """Seconds that a shutdown of the host waits for its pods to end."""
    shutdown_grace_period_critical_pods_seconds: Annotated[int, Field(ge=1, le=3600)] | None = None
    """Seconds of these that are left for critical pods."""

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
