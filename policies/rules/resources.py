"""The guaranteed resources of a pod, its limits, and the conditions of eviction and restart."""

from collections.abc import Iterator
from typing import Any

from policies.messages import say
from policies.pods import Container, Pod, items
from policies.rule import Found, Json
from schemas.kubernetes.bodies import mapping

STORAGE = "ephemeral-storage"


def resource_amount(container: Container, part: str, resource: str) -> Any:
    """A request or a limit of a container; a limit is the request where none is written (Kubernetes
    1.34, pkg/apis/core/v1/defaults.go)."""
    found = mapping(container.body, "resources", part).get(resource)
    if found is None and part == "requests":
        return mapping(container.body, "resources", "limits").get(resource)
    return found


def _resource_requests(pod: Pod, each: Container) -> Iterator[Found]:
    if pod.partial or each.list == "ephemeralContainers":
        return  # a debugger's container may name none
    wanted = ("cpu", "memory")
    missing = [name for name in wanted if resource_amount(each, "requests", name) is None]
    if missing:
        lacking = " and no ".join(missing)
        yield say("resource-requests", f"{each.path}.resources.requests", each.name, lacking)


def _memory_limit(pod: Pod, each: Container) -> Iterator[Found]:
    if pod.partial or each.list == "ephemeralContainers":
        return
    if resource_amount(each, "limits", "memory") is None:
        yield say("memory-limit", f"{each.path}.resources.limits.memory", each.name)


def _scratch_space(pod: Pod) -> Iterator[Found]:
    for path, volume in pod.volumes:
        directory = volume.get("emptyDir")
        on_disk = isinstance(directory, dict) and directory.get("medium") in (None, "")
        if on_disk and "sizeLimit" not in mapping(volume, "emptyDir"):
            free = [each for each in pod.containers if _writes_freely(each, volume)]
            if free:
                name = volume.get("name")
                yield say("scratch-space", f"{path}.emptyDir.sizeLimit", free[0].name, name)


def _writes_freely(each: Container, volume: Json) -> bool:
    mounts = (mount for _, mount in items(each.body, "volumeMounts") if not mount.get("readOnly"))
    mounted = any(mount.get("name") == volume.get("name") for mount in mounts)
    return mounted and resource_amount(each, "limits", STORAGE) is None


def _priority_class(pod: Pod) -> Iterator[Found]:
    if not pod.ends and not pod.static and not pod.spec.get("priorityClassName"):
        yield say("priority-class", f"{pod.path}.priorityClassName")


def _probes(pod: Pod) -> Iterator[Found]:
    if pod.ends:
        return
    for each in pod.lasting:
        if not any(each.body.get(f"{kind}Probe") for kind in ("liveness", "readiness", "startup")):
            yield say("probes", each.path, each.name)
