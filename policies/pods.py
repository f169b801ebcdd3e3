"""The pods that an object makes, whatever its kind, and their containers.

A template of a pod is wherever a ``spec`` has a list of containers: in the workloads of Kubernetes,
and in any custom resource that has one, such as a JobSet or a NodeOperationTemplate. Manifests that
are text in an object count as well (policies/embedded.py).

The nodes that a site's machines become, as its objects tell: labels and how many. Cluster API gives
a Node those labels of its Machine that start with ``node-role.kubernetes.io/``, or whose domain is
or ends in ``node.cluster.x-k8s.io`` or ``node-restriction.kubernetes.io`` (cluster-api 1.13,
api/core/v1beta2/machine_types.go, ManagedNodeLabelDomain).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from policies.embedded import embedded_objects, format_path
from policies.memo import may_have, memoize
from policies.rule import Found, Json, Object
from schemas.kubernetes.node_labels import ACCELERATOR_LABEL, POOL_LABEL
from schemas.kubernetes.quantities import whole
from schemas.kubernetes.selectors import has_labels

CONTAINER_LISTS = ("initContainers", "containers", "ephemeralContainers")
"""Fields of a pod's spec, in the order in which their containers start."""
ENDING = ("CronJob", "Job", "JobSet", "NodeOperationTemplate", "TrainJob")
"""Kinds whose pods end by themselves; what has "Runtime" in its name is a template of such."""
Path = tuple[str | int, ...]


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
    """A pod that an object makes.

    ``path`` is the place of its spec in the object; ``metadata`` and ``spec`` are the template's,
    and ``maker`` is the object that has the template: the one that is judged, or one that is
    written in it.
    """

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
        return tuple(
            Container(f"{self.path}.{name}[{index}]", body, name)
            for name in CONTAINER_LISTS
            for index, body in items(self.spec, name)
        )

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
        return tuple(
            (f"{self.path}.volumes[{index}]", body) for index, body in items(self.spec, "volumes")
        )

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


PodCheck = Callable[[Pod], Iterable[Found]]
ContainerCheck = Callable[[Pod, Container], Iterable[Found]]


def of_settings(field: str, refused: Callable[[Any], bool], what: str) -> ContainerCheck:
    """A rule's check that refuses some values of a field of each container's securityContext;
    ``what`` says of such a container what it may do."""

    def check_setting(_: Pod, each: Container) -> Iterator[Found]:
        if refused(each.security.get(field)):
            yield Found(f"{each.path}.securityContext.{field}", f"container {each.name} {what}")

    return check_setting


def mapping(value: Json, *keys: str) -> Json:
    """The map below some keys; empty where there is none."""
    for key in keys:
        found = value.get(key)
        value = found if isinstance(found, dict) else {}
    return value


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


CONTROL_PLANE = "node-role.kubernetes.io/control-plane"
CONTROL_PLANE_MACHINE = "cluster.x-k8s.io/control-plane"
"""On Machines alone, and so what a MachineHealthCheck selects by."""
GIVEN = frozenset({POOL_LABEL, ACCELERATOR_LABEL, CONTROL_PLANE, CONTROL_PLANE_MACHINE})
"""Labels that only Cluster API and kubeadm give."""


class Nodes(NamedTuple):
    """Nodes of equal labels, those that only their Machines have included, and their number."""

    labels: Json
    number: int


def nodes(objects: Iterable[Object]) -> list[Nodes]:
    """The nodes of a site, by what makes their machines; empty where nothing does."""
    found = []
    for each in objects:
        if each.kind not in ("MachineDeployment", "KubeadmControlPlane"):
            continue
        spec = mapping(each.body, "spec")
        first = each.kind == "KubeadmControlPlane"
        template = "machineTemplate" if first else "template"
        labels = mapping(spec, template, "metadata", "labels")
        role = {CONTROL_PLANE: "", CONTROL_PLANE_MACHINE: ""} if first else {}
        found.append(Nodes({**labels, **role}, whole(spec.get("replicas")) or 0))
    return found


def cluster_of(each: Object, body: Json) -> str:
    """The cluster that an object is for, or one that is text in it: what is text in an object of
    the management cluster is for the site's own, as a file of a host or what a ClusterResourceSet
    applies."""
    return each.cluster if body is each.body else "site"


def selector(pod: Pod) -> Json:
    """The labels that a pod selects its node by, without the additions of its affinity."""
    return mapping(pod.spec, "nodeSelector")


def fits(chosen: Json, group: Nodes) -> bool:
    """True if nodes may have the labels of a selector: those that Cluster API does not give are
    taken as there."""
    return has_labels(group.labels, {key: chosen[key] for key in chosen if key in GIVEN})


def count_nodes(chosen: Json, groups: Sequence[Nodes]) -> int | None:
    """The number of nodes with the labels of a selector; None where the objects do not tell."""
    if not groups or not GIVEN.issuperset(chosen):
        return None
    return sum(group.number for group in groups if fits(chosen, group))


def places(pod: Pod, groups: Sequence[Nodes]) -> int | None:
    """How many nodes a pod may run on; None where the objects do not tell."""
    affinity = mapping(pod.spec, "affinity", "nodeAffinity")
    return None if affinity else count_nodes(selector(pod), groups)
