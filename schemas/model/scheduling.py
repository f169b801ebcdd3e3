"""Scheduling: which scheduler serves which pools, PriorityClasses, and what each team may use."""

from typing import Annotated

from pydantic import Field

from schemas.kubernetes.forms import SUBDOMAIN
from schemas.model.access import Identities
from schemas.model.primitives import DnsLabel, ImageReference, Model, PoolName, text_form
from schemas.model.sizes import ScratchSpace
from schemas.model.vocabulary import BackendKind, TopologyLevel

Count = Annotated[int, Field(ge=0, le=1_000_000)]
"""Accelerators of one model."""
Day = Annotated[str, text_form("20[0-9]{2}-[01][0-9]-[0-3][0-9]", "2026-12-01")]
"""A date."""
Clock = Annotated[str, text_form("([01][0-9]|2[0-3]):[0-5][0-9]", "22:00")]
"""A time of day."""
ZoneOfTime = Annotated[str, text_form("[A-Za-z][A-Za-z0-9_+/-]{1,39}", "Asia/Tokyo")]
"""A time zone."""


class Gang(Model):
    """The gang plugin: all pods of a job start together, or none."""

    annotation_prefix: Annotated[
        str,
        text_form(
            f"{SUBDOMAIN}/[A-Za-z0-9]([A-Za-z0-9_.-]{{0,28}}[A-Za-z0-9])?",
            "gang-scheduling.example.com/gang",
            longest=153,
        ),
    ]
    """Prefix of a pod's gang annotations; -name, -size and so on are added."""
    timeout_seconds: Annotated[int, Field(ge=1, le=900)] = 30
    """Seconds that a gang holds its places while it waits for more; its pods may say otherwise."""
    timeout_limit_seconds: Annotated[int, Field(ge=1, le=900)] = 100
    """Longest timeout that pods may set."""
    jitter_seconds: Annotated[int, Field(ge=1, le=300)] = 30
    """Random seconds added to the timeout, so that no two gangs block each other for ever."""


class KubeScheduler(Model):
    """A second kube-scheduler, with plugins that the default one lacks."""

    image: ImageReference
    """Its image, built by the site: the gang plugin's project publishes none."""
    command: Annotated[list[Annotated[str, Field(max_length=256)]], Field(max_length=8)] = []
    """Command in the image before the flags of a kube-scheduler; default: its entry point."""
    gang: Gang | None = None
    """Settings of the gang plugin; leave out where the image lacks it."""
    throttler: DnsLabel | None = None
    """Name of the image's kube-throttler plugin, which throttles refer to; default: it has none."""
    replicas: Annotated[int, Field(ge=1, le=5)] = 2
    """Replicas of the scheduler; one of them is the leader."""


BackendName = Annotated[str, text_form("[a-z]([-a-z0-9]{0,38}[a-z0-9])?", "gang-scheduler")]
"""A DNS label of 40 characters at most, a letter first: a Service and a CronJob are named so."""


class Backend(Model):
    """A scheduler, and the pools that it serves."""

    name: BackendName
    """Its name; for kube-scheduler and volcano also what pods write as schedulerName."""
    kind: BackendKind = Field(strict=False)
    """Kind of the backend."""
    pools: Annotated[list[PoolName], Field(min_length=1, max_length=100)]
    """Pools that it serves. Each pool has one backend."""
    topology: Annotated[
        list[Annotated[TopologyLevel, Field(strict=False)]],
        Field(max_length=3, examples=[["zone", "rack", "host"]]),
    ] = []
    """Levels within which jobs are kept together, the widest first: job templates prefer one rack.
    Kueue gets a Topology of these levels. Default: jobs are placed anywhere in the pools."""
    scheduler: KubeScheduler | None = None
    """The scheduler that Foresite runs (kind kube-scheduler)."""


DEFAULT_SCHEDULER = "default-scheduler"
"""The scheduler of pods that name none."""


def scheduler_name(backend: Backend | None) -> str:
    """The schedulerName of pods in a backend's pools; Kueue only says when they start."""
    if backend is None or backend.kind is BackendKind.KUEUE:
        return DEFAULT_SCHEDULER
    return backend.name


class Priority(Model):
    """A PriorityClass of the site."""

    name: Annotated[str, text_form(SUBDOMAIN, "normal", longest=63)]
    """Name that pods write as priorityClassName."""
    value: Annotated[int, Field(ge=-1_000_000_000, le=1_000_000_000)]
    """Priority value: pods with a higher value are scheduled first."""
    preempts: bool = True
    """True if its pods may preempt pods with a lower value."""
    default: bool = False
    """True if pods that name no PriorityClass get this one."""


class EphemeralStorage(Model):
    """Space on a node's disk: container layers, logs and emptyDir volumes."""

    request: ScratchSpace = "10Gi"
    """Default request of a container."""
    limit: ScratchSpace = "50Gi"
    """Default limit of a container; beyond it the kubelet evicts its pod."""
    max: ScratchSpace = "200Gi"
    """Largest request and limit that a container may set."""


CountedResource = Annotated[
    str,
    text_form(
        "(pods|services|persistentvolumeclaims|secrets|count/[a-z0-9.-]{1,100})", "count/jobs.batch"
    ),
]
"""A kind of objects as a ResourceQuota names it."""


class TeamQuota(Model):
    """What a team's namespaces may hold, beside accelerators."""

    objects: dict[CountedResource, Count] = {}
    """Objects in each namespace at most, by resource; those left out have a default, which no
    team's work should reach."""
    share_percent: Annotated[int, Field(ge=1, le=100)] | None = None
    """Percent of the processor cores and memory of the pools that the team can use; each of its
    namespaces may request an equal part of that. Default: no limit."""


class Team(Model):
    """A team or a project that shares the site."""

    name: DnsLabel
    """Name of the team."""
    namespaces: Annotated[list[DnsLabel], Field(min_length=1, max_length=50)]
    """Namespaces of the team, made and labelled by Foresite."""
    groups: Identities = []
    """Groups whose members may work in these namespaces, as the API server names them."""
    users: Identities = []
    """Users who may work there too, as the API server names them."""
    accelerators: dict[DnsLabel, Count] = {}
    """Accelerators by model that it is guaranteed and may not exceed; none of other models."""
    off_peak: dict[DnsLabel, Count] = {}
    """Limits that apply off-peak instead, by model; models left out keep their usual limit."""
    priorities: Annotated[list[str], Field(max_length=50)] = []
    """PriorityClasses that it may use, besides the default one."""
    ephemeral_storage: EphemeralStorage | None = None
    """Space on disk for its containers; default: the site's."""
    quota: TeamQuota | None = None
    """Objects, cores and memory of its namespaces; default: the site's."""


class OffPeak(Model):
    """When the off-peak limits apply instead of the usual ones. The days are written out, so that
    the same file always means the same: after the last day the usual limits hold."""

    time_zone: ZoneOfTime
    """Time zone of the hours, as in the tz database."""
    start: Clock = "22:00"
    """Time at which it starts, on each day."""
    end: Clock = "08:00"
    """Time at which it ends; on the next day if that is earlier than the start."""
    weekends: bool = True
    """True if all hours of Saturday and Sunday are off-peak."""
    first_day: Day
    """First day that it starts on."""
    last_day: Day
    """Last day that it starts on."""


class Scheduling(Model):
    """How pods of the site are scheduled, and who may use what."""

    namespace: DnsLabel = "scheduling"
    """Namespace of the schedulers that Foresite runs."""
    backends: Annotated[list[Backend], Field(max_length=20)] = []
    """Schedulers, and the pools that each serves. The default scheduler serves all other pools."""
    priorities: Annotated[list[Priority], Field(max_length=50)] = []
    """PriorityClasses of the site."""
    teams: Annotated[list[Team], Field(max_length=500)] = []
    """Teams that share the site."""
    off_peak: OffPeak | None = None
    """When the off-peak limits apply instead of the usual ones."""
    overcommit_percent: dict[DnsLabel, Annotated[int, Field(ge=101, le=1000)]] = {}
    """Percent of a model's declared accelerators that may be guaranteed, if over 100 is meant."""
    ephemeral_storage: EphemeralStorage = EphemeralStorage()
    """Space on disk for containers of the teams."""
    quota: TeamQuota = TeamQuota()
    """Objects, cores and memory of each team's namespaces."""
    network_policy: bool | None = None
    """True if pods of a team accept connections only from their team and from namespaces of no
    team. Default: true where the pod network is one that is known to enforce NetworkPolicies."""
    disruption_recorder: ImageReference | None = None
    """Image with Python 3.11 or newer, in which a program records on Jobs why their pods were
    preempted, drained or evicted; without it Kubernetes forgets that with the pod."""
