"""The users of a host's devices, and the way in which devices are counted."""

import re
from collections.abc import Iterator

from policies.messages import say
from policies.nodes import selector
from policies.pods import Container, Pod, items
from policies.rule import Found, Json, text
from schemas.kubernetes.bodies import mapping
from schemas.kubernetes.node_labels import ACCELERATOR_LABEL, POOL_LABEL
from schemas.kubernetes.tables import read_table

PLUGINS = "/var/lib/kubelet/device-plugins"
"""Where a device plugin meets the kubelet (Kubernetes documentation, Device Plugins)."""
DEVICE_PATHS: list[str] = read_table(__file__)["paths"]
VISIBLE = "NVIDIA_VISIBLE_DEVICES"
NO_DEVICES = ("", "none", "void")
NVIDIA = "nvidia.com/"
FEATURES = "feature.node.kubernetes.io/"
"""Labels of Node Feature Discovery."""
_WHOLE = re.compile(r"(?:0|[1-9][0-9]*)(?:k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?")


def is_extended(resource: str) -> bool:
    """True if a plugin or a site counts a resource (Kubernetes 1.34, IsExtendedResourceName)."""
    native = "/" not in resource or "kubernetes.io/" in resource
    return not native and not resource.startswith("requests.")


def _devices_whole(pod: Pod) -> Iterator[Found]:
    yield from _whole(f"{pod.path}.resources", mapping(pod.spec, "resources"))
    for each in pod.containers:
        yield from _whole(f"{each.path}.resources", mapping(each.body, "resources"))


def _whole(path: str, resources: Json) -> Iterator[Found]:
    limits, requests = mapping(resources, "limits"), mapping(resources, "requests")
    for name in dict.fromkeys((*limits, *requests)):
        if not is_extended(text(name)):
            continue
        limit, request = limits.get(name), requests.get(name, limits.get(name))
        # Pulumi makes whole numbers floats.
        number = int(limit) if isinstance(limit, float) and limit.is_integer() else limit
        row = "devices-unlike" if str(limit) != str(request) else "devices-by-half"
        if str(limit) != str(request) or not _WHOLE.fullmatch(str(number)):
            yield say(row, f'{path}.limits["{name}"]', name, limit, request)


def _device_paths(pod: Pod) -> Iterator[Found]:
    for path, volume in pod.volumes:
        mounted = text(mapping(volume, "hostPath").get("path"))
        reached = _reached_devices(mounted) if mounted else ()
        if reached:
            yield Found(f"{path}.hostPath.path", f"{mounted} has {', '.join(reached)} of the host")


def _reached_devices(mounted: str) -> tuple[str, ...]:
    """The paths of devices that a mounted path is within, or that are within it."""
    place = _steps(mounted)
    every = ((each, _steps(each)) for each in DEVICE_PATHS)
    return tuple(
        each for each, steps in every if all(a == b for a, b in zip(steps, place, strict=False))
    )


def _steps(path: str) -> list[str]:
    steps: list[str] = []
    for step in path.split("/"):
        if step == "..":
            steps = steps[:-1]
        elif step not in ("", "."):
            steps.append(step)
    return ["var", *steps] if steps[:1] == ["run"] else steps


def _device_plugin_nodes(pod: Pod) -> Iterator[Found]:
    folders = (_steps(text(mapping(volume, "hostPath").get("path"))) for _, volume in pod.volumes)
    if _steps(PLUGINS) in folders and not _chooses(pod):
        yield say("device-plugin-nodes", f"{pod.path}.nodeSelector")


def _chooses(pod: Pod) -> bool:
    """True if a pod selects its nodes by hardware, in each term of an affinity: any is enough."""
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    affinity = mapping(pod.spec, "affinity", "nodeAffinity", required)
    terms = [
        any(_hardware(each.get("key")) for _, each in items(term, "matchExpressions"))
        for _, term in items(affinity, "nodeSelectorTerms")
    ]
    return any(_hardware(key) for key in selector(pod)) or (bool(terms) and all(terms))


def _hardware(label: object) -> bool:
    return label in (POOL_LABEL, ACCELERATOR_LABEL) or text(label).startswith((FEATURES, NVIDIA))


def _devices_asked_for(_: Pod, each: Container) -> Iterator[Found]:
    limits = mapping(each.body, "resources", "limits")
    if any(text(name).startswith(NVIDIA) for name in limits):
        return
    for index, variable in items(each.body, "env"):
        value = text(variable.get("value"))
        if variable.get("name") == VISIBLE and value not in NO_DEVICES:
            yield say("devices-seen", f"{each.path}.env[{index}].value", each.name, value)
