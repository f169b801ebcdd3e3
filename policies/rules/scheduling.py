"""The nodes where pods may go, their order, and their separation."""

from collections.abc import Iterable, Iterator, Sequence

from policies.embedded import bodies, embedded_objects
from policies.messages import say
from policies.nodes import cluster_of, nodes, selector
from policies.pods import Pod, items, pods
from policies.rule import Found, Object, text
from schemas.kubernetes.bodies import mapping
from schemas.kubernetes.node_labels import ACCELERATOR_LABEL, POOL_LABEL

DEFAULT_SCHEDULER = "default-scheduler"
VOLCANO = "scheduling.volcano.sh/"
"""API of Volcano: its scheduler has any name, and no object of ours says which."""
SYSTEM = "system-"
SYSTEM_NAMESPACES = ("kube-system",)
REPLICATED = frozenset({"Deployment", "StatefulSet", "ReplicaSet"})


def _tolerates_everything(pod: Pod) -> Iterator[Found]:
    for index, toleration in items(pod.spec, "tolerations"):
        if not toleration.get("key") and toleration.get("operator") == "Exists":
            effect = toleration.get("effect")
            message = f"it tolerates every taint{f' of effect {effect}' if effect else ''}"
            yield Found(f"{pod.path}.tolerations[{index}]", message)


def _system_priority(each: Object) -> Iterator[Found]:
    for pod in pods(each):
        name = text(pod.spec.get("priorityClassName"))
        own = text(mapping(pod.maker, "metadata").get("namespace"))
        namespace = each.namespace if pod.maker is each.body else own
        # A node's or a job's template says its namespace beside its pods' (NodeOperationTemplate).
        if name.startswith(SYSTEM) and namespace not in SYSTEM_NAMESPACES:
            yield say("system-priority", f"{pod.path}.priorityClassName", name)


def _replicas_apart(each: Object) -> Iterator[Found]:
    for place, body in bodies(each, REPLICATED):
        replicas = mapping(body, "spec").get("replicas")
        pod = mapping(body, "spec", "template", "spec")
        spread = items(pod, "topologySpreadConstraints")
        apart = mapping(pod, "affinity", "podAntiAffinity") or spread
        if isinstance(replicas, int | float) and replicas > 1 and not apart:
            yield say("replicas-apart", f"{place}spec.template.spec", replicas)


def _scheduler_exists(objects: Sequence[Object]) -> Iterator[tuple[Object, Found]]:
    known = _schedulers(objects)
    if known is None:
        return
    for each in objects:
        for pod in pods(each):
            name = text(pod.spec.get("schedulerName")) or DEFAULT_SCHEDULER
            if name not in known:
                yield each, say("no-such-scheduler", f"{pod.path}.schedulerName", name, known)


def _schedulers(objects: Iterable[Object]) -> set[str] | None:
    """The names of a site's schedulers; None where it has one whose name the objects do not say."""
    names = {DEFAULT_SCHEDULER}
    for each in objects:
        if text(each.body.get("apiVersion")).startswith(VOLCANO):
            return None
        for _, body in embedded_objects(each.body):
            if text(body.get("apiVersion")).startswith(VOLCANO):
                return None
            if body.get("kind") == "KubeSchedulerConfiguration":
                profiles = (profile for _, profile in items(body, "profiles"))
                names |= {text(profile.get("schedulerName")) for profile in profiles}
    return names - {""}


def _nodes_exist(objects: Sequence[Object]) -> Iterator[tuple[Object, Found]]:
    groups = nodes(objects)
    if not groups:
        return
    keys = (POOL_LABEL, ACCELERATOR_LABEL)
    there = {key: {text(each.labels.get(key)) for each in groups} for key in keys}
    for each in objects:
        for pod in pods(each):
            if cluster_of(each, pod.maker) != "site":
                continue
            for key, values in there.items():
                asked = text(selector(pod).get(key))
                if asked and asked not in values:
                    at, others = f'{pod.path}.nodeSelector["{key}"]', values - {""} or {"none"}
                    yield each, say("no-such-node", at, key, asked, others)


def _one_default_priority(objects: Sequence[Object]) -> Iterator[tuple[Object, Found]]:
    for cluster in ("management", "site"):
        classes = (e for e in objects if e.kind == "PriorityClass" and e.cluster == cluster)
        named = [each for each in classes if each.body.get("globalDefault") is True]
        names = sorted(each.name for each in named)
        for each in named if named[1:] else ():
            yield each, say("default-priorities", "globalDefault", (*names,))
