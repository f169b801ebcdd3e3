"""The pods that an object makes, whatever its kind, and their containers. A template of a pod is
wherever a ``spec`` has a list of containers: in Kubernetes' workloads, in custom resources such as
a JobSet, and in manifests that are text in an object (policies/embedded.py)."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from policies.embedded import embedded_objects, format_path
from policies.memo import may_have, memoize
from policies.rule import Json, Object
from schemas.kubernetes.bodies import Path, mapping

CONTAINER_LISTS = ("initContainers", "containers", "ephemeralContainers")
"""Fields of a pod's spec, in the order in which their containers start."""
ENDING = ("CronJob", "Job", "JobSet", "NodeOperationTemplate", "TrainJob")
"""Kinds whose pods end by themselves; what has "Runtime" in its name is a template of such."""


class Container(NamedTuple):
    """A container of a pod: its place in the object, its spec, and the list that it is in."""

    path: str
    body: Json
    list: str

    @property
    def name(self) -> str:
        """Its name."""
        return str(self.body.get("name") or "")

    @property
    def security(self) -> Json:
        """Its securityContext; empty where there is none."""
        return mapping(self.body, "securityContext")

    @property
    def sidecar(self) -> bool:
        """True if it is an init container that runs as long as the pod does."""
        return self.list == "initContainers" and self.body.get("restartPolicy") == "Always"


class Pod(NamedTuple):
    """A pod that an object makes: the ``path`` of its spec in it, ``metadata`` and ``spec`` of the
    template, and its ``maker``, the object judged or one that is written in it."""

    path: str
    metadata: Json
    spec: Json
    maker: Json

    @property
    def security(self) -> Json:
        """The securityContext of the pod; empty where there is none."""
        return mapping(self.spec, "securityContext")

    @property
    def containers(self) -> tuple[Container, ...]:
        """Every container, init and ephemeral ones too."""
        every = ((name, *each) for name in CONTAINER_LISTS for each in items(self.spec, name))
        return tuple(Container(f"{self.path}.{name}[{n}]", body, name) for name, n, body in every)

    @property
    def lasting(self) -> tuple[Container, ...]:
        """Those that run as long as the pod does."""
        return tuple(each for each in self.containers if each.list == "containers" or each.sidecar)

    @property
    def contexts(self) -> Iterator[tuple[str, str, Json]]:
        """Every securityContext of the pod, with its place and whose it is."""
        yield f"{self.path}.securityContext", "the pod", self.security
        for each in self.containers:
            yield f"{each.path}.securityContext", f"container {each.name}", each.security

    @property
    def volumes(self) -> tuple[tuple[str, Json], ...]:
        """Its volumes, each with its place."""
        every = items(self.spec, "volumes")
        return tuple((f"{self.path}.volumes[{index}]", body) for index, body in every)

    @property
    def partial(self) -> bool:
        """True if it is merged into another template, which gives the rest (Kubeflow Trainer 2.1,
        TrainJob's runtimePatches). A field that it leaves out proves nothing."""
        return ".runtimePatches[" in self.path

    @property
    def static(self) -> bool:
        """True if a kubelet runs it from a file: it has no account, is never evicted, and the
        scheduler never sees it (Kubernetes 1.34, pkg/kubelet/types/pod_update.go)."""
        return self.maker.get("kind") == "Pod" and "files[" in self.path

    @property
    def ends(self) -> bool:
        """True if it is meant to end by itself."""
        kind = str(self.maker.get("kind"))
        return kind in ENDING or "Runtime" in kind or self.spec.get("restartPolicy") == "Never"


def items(value: Json, key: str) -> list[tuple[int, Json]]:
    """The maps of a list below a key, with their indices; nothing where it is no list."""
    found = value.get(key)
    listed = found if isinstance(found, list) else []
    return [(index, each) for index, each in enumerate(listed) if isinstance(each, dict)]


def pods(each: Object) -> tuple[Pod, ...]:
    """Every pod that an object makes, with those of objects that are text in it."""
    return _pods(each.body)


@memoize
def _pods(body: Json) -> tuple[Pod, ...]:
    own = _of(body, "") if may_have(body, "containers") else ()
    return (*own, *(pod for path, e in embedded_objects(body) for pod in _of(e, path)))


def _of(body: Json, place: str) -> Iterator[Pod]:
    for path, template in _templates(body, ()):
        spec = ".".join(filter(None, (place, format_path((*path, "spec")))))
        yield Pod(spec, mapping(template, "metadata"), mapping(template, "spec"), body)


def _templates(value: Any, path: Path) -> Iterator[tuple[Path, Json]]:
    """Every map below a value whose spec has a list of containers."""
    if isinstance(value, dict):
        spec = value.get("spec")
        if isinstance(spec, dict) and isinstance(spec.get("containers"), list):
            yield path, value
            return
        for key, item in value.items():
            yield from _templates(item, (*path, str(key)))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _templates(item, (*path, index))
