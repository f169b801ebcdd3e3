"""Pods and gangs of them, as tests and benchmarks need them."""

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict, Unpack

from components.making.gang import annotations
from controlplane import Manifest
from schemas.model.scheduling import Gang
from tests.kit.twin.cluster import EXIT_CODE, RUN_FOR
from tests.kit.twin.schedulers import SETTINGS

IMAGE = "registry.example/job:1"
"""No node pulls it."""


class Shape(TypedDict, total=False):
    """The shape of a pod; all fields may be left out.

    ``requests`` are its limits too, as extended resources must be. ``run_for`` (such as ``15s``)
    and ``exit_code`` are how it ends by itself.
    """

    scheduler: str
    requests: Mapping[str, str]
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    priority: str
    node_selector: Mapping[str, str]
    affinity: Mapping[str, Any]
    tolerations: Sequence[Mapping[str, str]]
    run_for: str
    exit_code: int


def pod(name: str, namespace: str, **shape: Unpack[Shape]) -> Manifest:
    """A pod."""
    size = dict(shape.get("requests", {}))
    container = {"name": "main", "image": IMAGE, "resources": {"requests": size, "limits": size}}
    spec: dict[str, Any] = {
        "schedulerName": shape.get("scheduler", "default-scheduler"),
        "restartPolicy": "Never",
        "containers": [container],
        "priorityClassName": shape.get("priority"),
        "nodeSelector": shape.get("node_selector"),
        "affinity": shape.get("affinity"),
        "tolerations": list(shape.get("tolerations", ())),
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": dict(shape.get("labels", {})),
            "annotations": {**shape.get("annotations", {}), **_ending(shape)},
        },
        "spec": {key: value for key, value in spec.items() if value is not None},
    }


def gang(
    name: str,
    namespace: str,
    size: int,
    settings: Gang = SETTINGS,
    count: int | None = None,
    **shape: Unpack[Shape],
) -> list[Manifest]:
    """The pods of a gang, ``<name>-0`` and so on; the first ``count``, where not all are made."""
    shared = {**shape.get("annotations", {}), **annotations(settings, name, size)}
    whole: Shape = {**shape, "annotations": shared}
    return [
        pod(f"{name}-{number}", namespace, **whole)
        for number in range(size if count is None else count)
    ]


def on(*hosts: str) -> dict[str, Any]:
    """An affinity for these nodes alone."""
    fields = [{"key": "metadata.name", "operator": "In", "values": [host]} for host in hosts]
    terms = [{"matchFields": [field]} for field in fields]
    required = {"nodeSelectorTerms": terms}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}


def _ending(shape: Shape) -> dict[str, str]:
    found = {}
    if "run_for" in shape:
        found[RUN_FOR] = shape["run_for"]
    if "exit_code" in shape:
        found[EXIT_CODE] = str(shape["exit_code"])
    return found
