"""A site on which each kind of scheduler serves a model, for tests of jobs.

osaka-1 of tests/accelerator_sites: v100 (three machines of eight, and a spare), h100 (three of
eight, with a taint, the first RDMA), t4 (two of one), mncore (two of eight), cpu (two).
"""

import functools
from typing import Any

from components.making.manifest import Json
from components.training.made import Made, make_job
from components.training.request import JobRequest, Refusal, Template
from components.training.setting import Setting
from schemas.facts.site import Site
from tests.kit.accelerator_sites import FILE
from tests.kit.accelerator_sites import site as accelerators

PREFIX = "gang-scheduling.preferred.jp/gang"
NAME, SIZE = f"{PREFIX}-name", f"{PREFIX}-size"
TIMEOUT = f"{PREFIX}-schedule-timeout-seconds"
SCHEDULER_IMAGE = f"registry.example/schedulers/gang:v1@sha256:{'a' * 64}"
IMAGE = "registry.example/vision/train:1.0"
V100, H100, T4, MNCORE = "v100-sxm2-32gb", "h100-sxm5-80gb", "t4-pcie-16gb", "mncore2"
GANG: Json = {
    "name": "gang-scheduler",
    "kind": "kube-scheduler",
    "pools": ["v100", "h100"],
    "scheduler": {
        "image": SCHEDULER_IMAGE,
        "gang": {"annotation_prefix": PREFIX},
        "throttler": "kube-throttler",
    },
}
THROTTLED: Json = {
    "name": "throttled-scheduler",
    "kind": "kube-scheduler",
    "pools": ["v100", "h100"],
    "scheduler": {"image": SCHEDULER_IMAGE, "throttler": "kube-throttler"},
}
KUEUE: Json = {"name": "kueue", "kind": "kueue", "pools": ["v100", "h100"]}
VOLCANO: Json = {"name": "volcano", "kind": "volcano", "pools": ["mncore"]}
TEAMS: list[Json] = [
    {
        "name": "vision",
        "namespaces": ["vision", "vision-dev"],
        "accelerators": {V100: 16, H100: 24},
        "off_peak": {V100: 24},
        "priorities": ["high"],
    },
    {"name": "robotics", "namespaces": ["robotics"], "accelerators": {V100: 1}},
]
OFF_PEAK: Json = {"time_zone": "Asia/Tokyo", "first_day": "2026-12-01", "last_day": "2027-01-31"}
PRIORITIES: list[Json] = [
    {"name": "high", "value": 1000},
    {"name": "normal", "value": 100, "default": True},
    {"name": "top", "value": 5000},
]
CACHE: Json = {
    "namespace": "caches",
    "pools": ["v100", "h100"],
    "data_path": "/srv/nvme/cache",
    "capacity": "100Gi",
    "audience": "objects",
    "token_seconds": 7200,
    "server": {"image": f"registry.example/cache/server:v1@sha256:{'c' * 64}"},
    "buckets": [
        {"name": "layers", "quota": "1Gi", "namespaces": ["vision"], "public": True},
        {"name": "everybody", "quota": "1Gi", "namespaces": ["robotics", "vision"], "public": True},
        {"name": "pictures", "quota": "1Gi", "namespaces": ["vision"]},
        {"name": "robots", "quota": "1Gi", "namespaces": ["robotics"]},
        {"name": "given", "quota": "1Gi", "public": True, "namespaces": ["robotics"]},
        {"name": "open", "quota": "1Gi", "public": True},
    ],
    "address": "10.96.0.80",
    "image_layers": {"bucket": "layers", "registries": ["docker.io"]},
}
RDMA: Json = {"rdma": [{"name": "hca", "interfaces": ["ib0"]}]}
ROCE: Json = {"rdma": [{"name": "roce", "interfaces": ["eth1"], "link": "ethernet"}]}


def pools(**devices: Json) -> list[Json]:
    """The site's pools, some with network devices, by name."""
    return [
        {**pool, **({"network_devices": devices[pool["name"]]} if pool["name"] in devices else {})}
        for pool in FILE["pools"]
    ]


@functools.cache
def gangs() -> Site:
    """The site with gangs, throttles, two teams and a cache; h100 has RDMA."""
    return accelerators(pools=pools(h100=RDMA), scheduling=scheduling(), cache=CACHE)


def scheduling(*backends: Json, **changed: Any) -> Json:
    """The section on scheduling; without backends that of ``gangs``."""
    said = {
        "backends": list(backends) or [GANG],
        "priorities": PRIORITIES,
        "teams": TEAMS,
        "off_peak": OFF_PEAK,
        "overcommit_percent": {V100: 150, H100: 150},
    }
    return {key: value for key, value in {**said, **changed}.items() if value is not None}


def request(template: Template = Template.ALL_REDUCE, **changed: Any) -> JobRequest:
    """A job that is right on ``gangs``."""
    said: dict[str, Any] = {"model": V100, "workers": 2, "image": IMAGE, "team": "vision"}
    return JobRequest(template, **{**said, "command": ("python", "train.py"), **changed})


def make(site: Site, wanted: JobRequest) -> Made | list[Refusal]:
    """The job, or everything that is wrong with the request."""
    return make_job(Setting(site, wanted))


def made(site: Site, wanted: JobRequest) -> list[Json]:
    """The objects of a job that is right; why it is not fails whoever asks."""
    found = make(site, wanted)
    assert isinstance(found, Made), [str(each) for each in found]
    return found.objects


def refused(site: Site, wanted: JobRequest) -> list[Refusal]:
    """The refusals of a job."""
    found = make(site, wanted)
    assert not isinstance(found, Made)
    return found


def _without_hours(team: Json) -> Json:
    return {key: value for key, value in team.items() if key != "off_peak"}


@functools.cache
def sites() -> dict[str, Site]:
    """A site for each kind of scheduler; Volcano serves boards, whose hosts share their network.

    All but the one with the default scheduler alone have a cache.
    """
    plain = [_without_hours(each) for each in TEAMS]
    boards = [
        {
            "name": "vision",
            "namespaces": ["vision"],
            "priorities": ["high"],
            "accelerators": {MNCORE: 16},
        }
    ]
    network = pools(h100=RDMA, mncore=ROCE)
    queued = scheduling(KUEUE, off_peak=None, teams=plain)
    more = {MNCORE: 200}
    alone = [each for each in CACHE["buckets"] if "robotics" not in each.get("namespaces", ())]
    grouped = scheduling(VOLCANO, off_peak=None, teams=boards, overcommit_percent=more)
    return {
        "gang": gangs(),
        "throttled": accelerators(pools=network, scheduling=scheduling(THROTTLED), cache=CACHE),
        "kueue": accelerators(pools=network, scheduling=queued, cache=CACHE),
        "volcano": accelerators(
            pools=network, scheduling=grouped, cache={**CACHE, "buckets": alone}
        ),
        "default": accelerators(pools=network),
    }


def fitting(kind: str, template: Template, **changed: Any) -> JobRequest:
    """A job that is right on one of ``sites``, on hosts with RDMA; Volcano's has hosts alone."""
    where: Json = {"namespace": "vision", "team": None} if kind == "default" else {}
    model, each = (MNCORE, 8) if kind == "volcano" else (H100, 4)
    return request(template, **{"model": model, "per_worker": each, **where, **changed})
