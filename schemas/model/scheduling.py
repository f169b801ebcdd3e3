"""Scheduling: which scheduler serves which pools, PriorityClasses, and what each team may use."""

from typing import Annotated

from pydantic import Field

from schemas.model.primitives import DnsLabel, ImageReference, Model, PoolName, Quantity
from schemas.model.vocabulary import BackendKind

Count = Annotated[int, Field(ge=0, le=1_000_000)]
"""Accelerators of one model."""

Day = Annotated[str, Field(pattern=r"^20[0-9]{2}-[01][0-9]-[0-3][0-9]$", examples=["2026-12-01"])]
"""A date."""

Clock = Annotated[str, Field(pattern=r"^([01][0-9]|2[0-3]):[0-5][0-9]$", examples=["22:00"])]
"""A time of day."""


class Gang(Model):
    """The gang plugin: all pods of a job start together, or none."""

    annotation_prefix: Annotated[
        str,
        Field(
            pattern=r"^[a-z0-9]([-a-z0-9.]{0,120}[a-z0-9])?/[A-Za-z0-9]([A-Za-z0-9_.-]{0,28}[A-Za-z0-9])?$",
            examples=["gang-scheduling.example.com/gang"],
        ),
    ]
    """What a pod's gang annotations start with; -name, -size and so on are added."""
    timeout_seconds: Annotated[int, Field(ge=1, le=900)] = 30
    """How long a gang holds what it has found, unless its pods say otherwise."""
    timeout_limit_seconds: Annotated[int, Field(ge=1, le=900)] = 100
    """The longest that pods may say."""
    jitter_seconds: Annotated[int, Field(ge=1, le=300)] = 30
    """Random time added to it, so that two gangs in each other's way do not stay so."""


class KubeScheduler(Model):
    """A second kube-scheduler, with plugins that the default one lacks."""

    image: ImageReference
    """Its image, built by the site: the gang plugin's project publishes none."""
    command: Annotated[list[Annotated[str, Field(max_length=256)]], Field(max_length=8)] = []
    """Command in the image before the flags of a kube-scheduler; default: its entry point."""
    gang: Gang | None = None
    """Settings of the gang plugin; leave out where the image lacks it."""
    throttler: DnsLabel | None = None
    """Name of the kube-throttler in it, which throttles refer to; leave out where it lacks it."""
    replicas: Annotated[int, Field(ge=1, le=5)] = 2
    """Schedulers of which one leads."""


BackendName = Annotated[
    str, Field(pattern=r"^[a-z]([-a-z0-9]{0,38}[a-z0-9])?$", examples=["gang-scheduler"])
]
"""A DNS label of at most 40 characters that starts with a letter: a Service and a CronJob are
named after it."""


class Backend(Model):
    """The scheduler that decides which pods of which pools start."""

    name: BackendName
    """Its name; for kube-scheduler and volcano also what pods write as schedulerName."""
    kind: BackendKind = Field(strict=False)
    """What it is."""
    pools: Annotated[list[PoolName], Field(min_length=1, max_length=100)]
    """Pools that it serves, alone."""
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
    """A PriorityClass."""

    name: Annotated[
        str, Field(pattern=r"^[a-z0-9]([-a-z0-9.]{0,61}[a-z0-9])?$", examples=["normal"])
    ]
    """What pods write as priorityClassName."""
    value: Annotated[int, Field(ge=-1_000_000_000, le=1_000_000_000)]
    """Higher goes first."""
    preempts: bool = True
    """Whether its pods may take the place of lower ones."""
    default: bool = False
    """Whether it is that of pods that name none."""


class EphemeralStorage(Model):
    """Space on a node's disk: container layers, logs and emptyDir volumes."""

    request: Quantity = "10Gi"
    """What a container asks for that says nothing."""
    limit: Quantity = "50Gi"
    """What a container may use that says nothing; beyond it its pod is evicted."""
    max: Quantity = "200Gi"
    """The most that a container may ask for."""


class Team(Model):
    """A team or a project that shares the site."""

    name: DnsLabel
    """Name of the team."""
    namespaces: Annotated[list[DnsLabel], Field(min_length=1, max_length=50)]
    """Namespaces of the team, made and labelled by Foresite."""
    accelerators: dict[DnsLabel, Count] = {}
    """What the team is promised and may not exceed, by model; of any other model none."""
    off_peak: dict[DnsLabel, Count] = {}
    """What it may use off-peak instead, by model; models left out stay as they are."""
    priorities: Annotated[list[str], Field(max_length=50)] = []
    """Tiers that it may use, besides the default one."""
    ephemeral_storage: EphemeralStorage | None = None
    """Space on disk for its containers; default: the site's."""


class OffPeak(Model):
    """The hours with other limits. The days are written out, so that the same file always means the
    same: after the last day the usual limits hold."""

    time_zone: Annotated[
        str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_+/-]{1,39}$", examples=["Asia/Tokyo"])
    ]
    """Time zone of the hours, as in the tz database."""
    start: Clock = "22:00"
    """When it starts, on each day."""
    end: Clock = "08:00"
    """When it ends, on the next day if that is earlier than the start."""
    weekends: bool = True
    """Whether Saturdays and Sundays are off-peak altogether."""
    first_day: Day
    """First day that it starts on."""
    last_day: Day
    """Last day that it starts on."""


class Scheduling(Model):
    """How pods of the site are scheduled, and who may use what."""

    namespace: DnsLabel = "scheduling"
    """Namespace of the schedulers that Foresite runs."""
    backends: Annotated[list[Backend], Field(max_length=20)] = []
    """Who serves which pools; the default scheduler serves the others."""
    priorities: Annotated[list[Priority], Field(max_length=50)] = []
    """Tiers of priority."""
    teams: Annotated[list[Team], Field(max_length=500)] = []
    """Who shares the site."""
    off_peak: OffPeak | None = None
    """When other limits hold."""
    overcommit_percent: dict[DnsLabel, Annotated[int, Field(ge=101, le=1000)]] = {}
    """How far promises may exceed the declared accelerators of a model, where that is meant."""
    ephemeral_storage: EphemeralStorage = EphemeralStorage()
    """Space on disk for containers of the teams."""
