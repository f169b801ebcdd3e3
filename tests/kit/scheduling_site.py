"""tokyo-1 with schedulers of its own, as tests want them."""

import functools
from dataclasses import replace
from typing import Any

import yaml

from components.making.manifest import Json, Manifest
from components.schedulers.objects import objects
from schemas.facts.site import Site
from schemas.model.accelerators import AcceleratorSettings
from schemas.model.scheduling import Scheduling
from tests.kit.repository import all_sites

PREFIX = "gang-scheduling.preferred.jp/gang"
IMAGE = f"registry.example/schedulers/gang:v1.0.0@sha256:{'a' * 64}"
GANG_SCHEDULER, THROTTLED_SCHEDULER = "gang-scheduler", "throttled-scheduler"
GANG: Json = {
    "name": GANG_SCHEDULER,
    "kind": "kube-scheduler",
    "pools": ["v100", "h100"],
    "scheduler": {"image": IMAGE, "gang": {"annotation_prefix": PREFIX}},
}
THROTTLED: Json = {
    "name": THROTTLED_SCHEDULER,
    "kind": "kube-scheduler",
    "pools": ["a100"],
    "scheduler": {
        "image": IMAGE,
        "command": ["/usr/local/bin/kube-throttler", "kube-scheduler"],
        "throttler": "kube-throttler",
    },
}
ACCELERATORS: Json = {
    "prefix": "preferred.jp",
    "names": {"v100-sxm2-32gb": "gpu-v100-32gb", "a100-sxm4-80gb": "gpu-a100-80gb"},
}
V100, A100 = "preferred.jp/gpu-v100-32gb", "preferred.jp/gpu-a100-80gb"
H100 = "preferred.jp/h100-sxm5-80gb"


def site(*backends: Json, accelerators: Json | None = ACCELERATORS, **scheduling: Any) -> Site:
    """tokyo-1 with these backends, and other fields of scheduling as given."""
    base = tokyo()
    settings = accelerators and AcceleratorSettings.model_validate(accelerators)
    update = {
        "accelerators": settings or None,
        "scheduling": Scheduling.model_validate({"backends": list(backends), **scheduling}),
    }
    return replace(base, file=base.file.model_copy(update=update))


@functools.cache
def tokyo() -> Site:
    """tokyo-1, whose own cluster answers."""
    base = all_sites()["tokyo-1"]
    cluster = base.file.cluster.model_copy(update={"context": "tokyo-1"})
    return replace(base, file=base.file.model_copy(update={"cluster": cluster}))


def with_gang(backend: Json = GANG, **settings: Any) -> Json:
    """A backend whose gang plugin has other settings."""
    gang = {**backend["scheduler"].get("gang", {}), **settings}
    return with_scheduler(backend, gang=gang)


def with_scheduler(backend: Json = GANG, **settings: Any) -> Json:
    """A backend whose scheduler has other settings."""
    return {**backend, "scheduler": {**backend["scheduler"], **settings}}


def by_name(made: Site) -> dict[str, Manifest]:
    """The objects of a site's schedulers by their logical names."""
    return {each.name: each for each in objects(made)}


def config(made: Site, backend: str) -> Json:
    """The configuration that a scheduler reads."""
    text = by_name(made)[f"ConfigMap/{backend}"].body["data"]["config.yaml"]
    found: Json = yaml.safe_load(text)
    return found


def arguments(made: Site, backend: str) -> dict[str, Json]:
    (profile,) = config(made, backend)["profiles"]
    return {each["name"]: each["args"] for each in profile["pluginConfig"]}


def template(made: Site, backend: str) -> Json:
    found: Json = by_name(made)[f"Deployment/{backend}"].body["spec"]["template"]
    return found


def container(made: Site, backend: str) -> Json:
    (found,) = template(made, backend)["spec"]["containers"]
    return dict(found)


def canary(made: Site, backend: str = GANG_SCHEDULER) -> Json:
    found: Json = by_name(made)[f"CronJob/{backend}"].body["spec"]["jobTemplate"]["spec"]
    return found
