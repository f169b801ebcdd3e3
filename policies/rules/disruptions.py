"""How much of a site may be out at once, and what may never be moved."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from policies.embedded import bodies
from policies.messages import say
from policies.nodes import Nodes, count_nodes, nodes, places
from policies.pods import Pod, pods
from policies.rule import Found, Json, Object, text
from schemas.facts.rollout import DEFAULTS, Limits, failure_tolerance, takes_all, waves
from schemas.kubernetes.bodies import mapping
from schemas.kubernetes.quantities import digits, percent, scale, whole
from schemas.kubernetes.selectors import has_labels

ROLLED = frozenset({"DaemonSet", "Deployment", "StatefulSet", "MachineDeployment"})
"""Kinds whose pods or machines are replaced some at a time."""
BUDGETS = {"NodeDisruptionBudget": ("selector",), "SriovNetworkPoolConfig": ("nodeSelector",)}
"""Kinds that say how many nodes a controller may take out at once, with their selector."""
CHECKS = frozenset({"MachineHealthCheck", "NodeHealthCheck"})
_NO_SCALE = "needs a scale subresource, which a DaemonSet lacks: nothing is ever evicted"


class Rolled(NamedTuple):
    """The place where an object says how it is replaced, and what it says there."""

    path: str
    strategy: Json

    @property
    def numbers(self) -> Json:
        """The numbers maxUnavailable and maxSurge."""
        return mapping(self.strategy, "rollingUpdate")

    def limits(self, kind: str) -> Limits:
        """The limits that are set or meant, of a hundred; what is no number may be any."""
        given = (self.numbers.get(field) for field in ("maxUnavailable", "maxSurge"))
        found = (
            meant if value is None else scale(value, 100)
            for value, meant in zip(given, DEFAULTS[kind], strict=True)
        )
        return Limits(*(1 if number is None else number for number in found))


def _rollout_strategy(body: Json) -> Rolled:
    """How an object is replaced: MachineDeployments of v1beta2 have it below ``rollout``."""
    spec = mapping(body, "spec")
    if "rollout" in spec:
        return Rolled("spec.rollout.strategy", mapping(spec, "rollout", "strategy"))
    field = "updateStrategy" if "updateStrategy" in spec else "strategy"
    return Rolled(f"spec.{field}", mapping(spec, field))


def _rollout_at_once(objects: Sequence[Object]) -> Iterator[tuple[Object, Found]]:
    groups = nodes(objects)
    for each in objects:
        for path, value, of in (*_rollout_limits(each, groups), *_drain_limits(each, groups)):
            # One of one cannot be done otherwise.
            if of == 1 or not _all(value, of):
                continue
            number = f"{of} " if of else ""
            yield each, Found(path, f"{value} lets all {number}of them be out at once")


def _all(value: Any, of: int | None) -> bool:
    share = percent(value)
    if share is not None:
        return share >= 100
    number = whole(value)
    return value == "Recreate" or bool(of and number is not None and takes_all(number, of))


def _rollout_limits(each: Object, groups: Sequence[Nodes]) -> Iterator[tuple[str, Any, int | None]]:
    for place, body in bodies(each, ROLLED):
        path, strategy = rolled = _rollout_strategy(body)
        of = whole(mapping(body, "spec").get("replicas"))
        if body["kind"] == "DaemonSet":
            pod = Pod("", {}, mapping(body, "spec", "template", "spec"), body)
            of = places(pod, groups)
        elif of is None:
            of = 1  # what Kubernetes and Cluster API make of none
        if strategy.get("type") == "Recreate":
            yield f"{place}{path}.type", "Recreate", of
        elif strategy.get("type") != "OnDelete":
            value = rolled.numbers.get("maxUnavailable")
            yield f"{place}{path}.rollingUpdate.maxUnavailable", value, of


def _drain_limits(each: Object, groups: Sequence[Nodes]) -> Iterator[tuple[str, Any, int | None]]:
    selector = BUDGETS.get(each.kind)
    if selector:
        spec = mapping(each.body, "spec")
        chosen = mapping(spec, *selector)
        chosen = mapping(chosen, "matchLabels") if "matchLabels" in chosen else chosen
        yield "spec.maxUnavailable", spec.get("maxUnavailable"), count_nodes(chosen, groups)


def _rollout_moves(each: Object) -> Iterator[Found]:
    for place, body in bodies(each, ROLLED):
        rolled = _rollout_strategy(body)
        if body["kind"] == "StatefulSet" or rolled.strategy.get("type") in ("OnDelete", "Recreate"):
            continue
        limits = rolled.limits(body["kind"])
        # Objects do not tell how many hosts are free: a surge is taken to have them.
        if waves(100, *limits, spares=limits.surge).stuck:
            yield say("cannot-be-rolled", f"{place}{rolled.path}.rollingUpdate")
    for place, body in bodies(each, ("KubeadmControlPlane",)):
        rolled, replicas = _rollout_strategy(body), whole(mapping(body, "spec").get("replicas"))
        surge = rolled.limits(body["kind"]).surge
        if not surge and failure_tolerance(replicas or 1) < 1:
            at = f"{place}{rolled.path}.rollingUpdate.maxSurge"
            yield say("control-plane-of-few", at, replicas or 1)


def _eviction_possible(objects: Sequence[Object]) -> Iterator[tuple[Object, Found]]:
    groups = nodes(objects)
    for each in objects:
        if each.kind != "PodDisruptionBudget":
            continue
        spec = mapping(each.body, "spec")
        for field in ("maxUnavailable", "minAvailable"):
            value = spec.get(field)
            if value is None:
                continue
            share = percent(value) or 0
            none = scale(value, 100) == 0 if field == "maxUnavailable" else share >= 100
            never = "never lets a pod be evicted" if none else ""
            reason = never or _too_many(field, value, each, (objects, groups))
            if reason:
                yield each, Found(f"spec.{field}", f"{field}: {value} {reason}")


def _too_many(
    field: str, value: Any, budget: Object, site: tuple[Sequence[Object], Sequence[Nodes]]
) -> str:
    """The reason why a budget allows no eviction of the pods that it selects. Empty where it does,
    or where the objects do not tell how many there are."""
    objects, groups = site
    counts: list[int | None] = []
    for maker in objects:
        if (maker.cluster, maker.namespace) != (budget.cluster, budget.namespace):
            continue
        for pod in pods(maker):
            if not _selects(budget, pod):
                continue
            if pod.maker.get("kind") == "DaemonSet":
                if field == "maxUnavailable" or percent(value) is not None:
                    return _NO_SCALE
                counts.append(places(pod, groups))
            else:
                counts.append(whole(mapping(pod.maker, "spec").get("replicas")))
    known = [count for count in counts if count is not None]
    if field == "maxUnavailable" or not known or len(known) < len(counts):
        return ""
    needed = scale(value, sum(known))
    enough = needed is None or needed < sum(known)
    return "" if enough else f"is all of the {sum(known)} pods that there are"


def _selects(budget: Object, pod: Pod) -> bool:
    """True if a budget is for a pod: of none without a selector, of all with an empty one. An
    expression's choice is not judged."""
    selector = mapping(budget.body, "spec").get("selector")
    if not isinstance(selector, dict) or selector.get("matchExpressions"):
        return False
    return has_labels(mapping(pod.metadata, "labels"), mapping(selector, "matchLabels"))


def _health_check_bounded(objects: Sequence[Object]) -> Iterator[tuple[Object, Found]]:
    groups = nodes(objects)
    for each in objects:
        if each.kind not in CHECKS:
            continue
        path, value = _most_unhealthy(each)
        of = count_nodes(mapping(each.body, "spec", "selector", "matchLabels"), groups)
        if value is None or (of != 1 and _all(value, of)):
            row = "repairs-unbounded" if value is None else "repairs-all"
            yield each, say(row, path, value)


def _most_unhealthy(each: Object) -> tuple[str, Any]:
    """Up to how many unhealthy machines a check repairs, and where it says so."""
    spec = mapping(each.body, "spec")
    if each.kind == "NodeHealthCheck":
        healthy = percent(spec.get("minHealthy", "51%"))  # its default, node-healthcheck-operator
        if "maxUnhealthy" in spec or healthy is None:
            return "spec.maxUnhealthy", spec.get("maxUnhealthy")
        return "spec.minHealthy", f"{100 - healthy}%"
    trigger = mapping(spec, "remediation", "triggerIf")
    between = trigger.get("unhealthyInRange", spec.get("unhealthyRange"))
    if between is not None:
        last = text(between).strip("[]").rpartition("-")[2]
        return "spec.remediation.triggerIf.unhealthyInRange", digits(last)
    if "maxUnhealthy" in spec:
        return "spec.maxUnhealthy", spec["maxUnhealthy"]
    field = "unhealthyLessThanOrEqualTo"
    return f"spec.remediation.triggerIf.{field}", trigger.get(field)
