"""Worlds of metrics that cases of alerts begin with: nodes, pods, the cache."""

from tests.kit.monitoring_promtool import Value, World

KSM = "kube-state-metrics"
NODES = [f"tokyo-1-a-{number:03}" for number in (40, 41, 42, 43, 44)]
"""Of the pool v100, eight cards each."""
NODE = NODES[0]
LAB = [f"lab-1-lab-{number:03}" for number in (1, 2, 3)]
V100 = "accelerators_example_com_gpu_v100_32gb"


def s(metric: str, **labels: object) -> str:
    """A series as text."""
    text = ",".join(f'{name}="{value}"' for name, value in labels.items())
    return f"{metric}{{{text}}}"


def k(metric: str, **labels: object) -> str:
    """A series of kube-state-metrics."""
    return s(metric, job=KSM, instance="10.64.0.9:8080", **labels)


def condition(node: str, name: str, now: str) -> World:
    """A condition of a node."""
    return {
        k("kube_node_status_condition", node=node, condition=name, status=each): float(each == now)
        for each in ("true", "false", "unknown")
    }


def taint(node: str, key: str, value: str = "") -> str:
    """A taint of a node."""
    return k("kube_node_spec_taint", node=node, key=key, value=value, effect="NoSchedule")


def nodes(names: list[str]) -> World:
    """Nodes that are well, as kube-state-metrics shows them."""
    found: dict[str, Value] = {s("up", job=KSM, instance="10.64.0.9:8080"): 1}
    for index, name in enumerate(names):
        found[k("kube_node_info", node=name, internal_ip=f"10.16.9.{index + 1}")] = 1
        found[k("kube_node_spec_unschedulable", node=name)] = 0
        found[k("kube_node_created", node=name)] = -10_000_000
        found |= condition(name, "Ready", "true")
        found[k("kube_node_status_allocatable", node=name, resource="nvidia_com_gpu")] = (
            8 if name.startswith("tokyo") else 1
        )
    return found


TOKYO = nodes(NODES)
LABS = nodes(LAB)


def pod(name: str, namespace: str, node: str = "", phase: str = "Running", **more: object) -> World:
    """A pod: ``scheduler`` and ``accelerators`` are what it asks for."""
    own = {"namespace": namespace, "pod": name, "uid": f"uid-{name}"}
    found: dict[str, Value] = {
        k("kube_pod_info", node=node, **own): 1,
        k("kube_pod_status_phase", phase=phase, **own): 1,
        k("kube_pod_created", **own): 0,
        k("kube_pod_scheduler", name=more.get("scheduler", "gang-scheduler"), **own): 1,
    }
    if "accelerators" in more:
        asked = {"container": "main", "node": node, "resource": V100, "unit": "integer"}
        series = k("kube_pod_container_resource_requests", **asked, **own)
        found[series] = float(str(more["accelerators"]))
    return found


def without(world: World, *parts: str) -> World:
    """The series of a world with all ``parts`` in their text, as gone."""
    return {name: None for name in world if all(part in name for part in parts)}
