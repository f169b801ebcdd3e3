"""A round of repair slots: what is read, and how what was decided is done."""

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from http import HTTPStatus
from itertools import chain
from pathlib import Path

from node_repair import metrics
from node_repair.cluster import Cluster, ClusterError, Json
from node_repair.decide import Decision, decide
from node_repair.names import HELD
from node_repair.settings import Settings
from node_repair.state import Node, State, Work, operations, part, text, work

NODEOPS = "/apis/nodeops.k8s.preferred.jp/v1alpha1"
SINGLE_LISTS = 10
"""So many lists of single nodes' pods cost less than one of all pods."""
LOG = logging.getLogger(__name__)


@dataclass
class Slots:
    """The program; ``fence`` raises ClusterError where another replica leads."""

    cluster: Cluster
    namespace: str
    settings: Path
    fence: Callable[[], None] = lambda: None

    def round(self) -> bool:
        """One round: True if all was done. Raises ClusterError where the cluster was not read, and
        ValueError where the settings were not."""
        settings = Settings.model_validate_json(self.settings.read_text("utf-8"))
        state, now, done = self._look(), int(time.time()), True
        decision = decide(settings, state, now)
        if decision.contenders:
            try:
                state = replace(state, work=self._work(decision.contenders))
                decision = decide(settings, state, now)
            except ClusterError as error:
                LOG.warning("pods were not read, and no choice is made: %s", error)
                done = False
        metrics.show(settings, decision)
        metrics.show_history(state.nodes, now)
        if decision.rolling:
            LOG.info("no repair begins: %s", decision.rolling)
        return self._act(decision) and done

    def _look(self) -> State:
        """Nodes come last: a change of one after that refuses its patch."""
        remediations = {
            each["metadata"]["name"]: text(part(each, "spec"), "nodeName")
            for each in self.cluster.items(f"{NODEOPS}/noderemediations")
        }
        found = tuple(operations(self.cluster.items(f"{NODEOPS}/nodeoperations"), remediations))
        told = self.cluster.items(self._configmaps, labelSelector=HELD)
        held = frozenset(each["metadata"]["name"] for each in told)
        nodes = tuple(map(Node.of, self.cluster.items("/api/v1/nodes")))
        return State(nodes=nodes, remediations=remediations, operations=found, held=held)

    @property
    def _configmaps(self) -> str:
        return f"/api/v1/namespaces/{self.namespace}/configmaps"

    def _work(self, nodes: Sequence[str]) -> dict[str, Work]:
        chosen = [{"fieldSelector": f"spec.nodeName={node}"} for node in nodes]
        asked = chosen if len(nodes) <= SINGLE_LISTS else [{}]
        lists = (self.cluster.items("/api/v1/pods", **each) for each in asked)
        return work(chain.from_iterable(lists))

    def _act(self, decision: Decision) -> bool:
        done = True
        for node, body, why in decision.changes:
            done &= self._do(node, why, "PATCH", f"/api/v1/nodes/{node}", body)
        for name, why in decision.hold.items():
            metadata = {"name": name, "namespace": self.namespace, "labels": {HELD: "true"}}
            body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
            body["data"] = {"reason": why}
            done &= self._do(name, why, "POST", self._configmaps, body)
        for name in decision.release:
            done &= self._do(name, "repairs go on", "DELETE", f"{self._configmaps}/{name}")
        return done

    def _do(self, name: str, why: str, method: str, path: str, body: Json | None = None) -> bool:
        self.fence()
        try:
            self.cluster.request(method, path, body)
        except ClusterError as error:
            gone = method == "DELETE" and error.status == HTTPStatus.NOT_FOUND
            if not gone:
                # As when somebody else changed the node meanwhile: the next round looks again.
                LOG.warning("%s: not done: %s (%s)", name, why, error)
            return gone
        LOG.info("%s: %s", name, why)
        metrics.CHANGES.labels(method.lower()).inc()
        return True
