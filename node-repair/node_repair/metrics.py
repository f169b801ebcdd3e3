"""The metrics of the programs, and their probes."""

import time
from collections.abc import Callable, Iterable
from http import HTTPStatus
from http.server import ThreadingHTTPServer
from threading import Thread

from prometheus_client import REGISTRY, Counter, Gauge, MetricsHandler

from node_repair import history
from node_repair.decide import Decision
from node_repair.names import HISTORY
from node_repair.settings import Settings
from node_repair.state import Node, text

SILENT_SECONDS = 300
"""Without a new request for so long the program hangs: each gives up after 30 seconds."""
ROUNDS = Counter("node_repair_rounds", "Rounds by their end.", ["result"])
CHANGES = Counter("node_repair_changes", "Changes made, by method.", ["method"])
LEADS = Gauge("node_repair_leader", "1 while this replica leads.")
_SLOTS = Gauge("node_repair_slots", "Nodes with a repair slot.", ["pool", "remediator"])
_LIMIT = Gauge("node_repair_slots_limit", "Slots at a time.", ["pool", "remediator"])
_ROLLING = Gauge(
    "node_repair_control_plane_changes", "1 while no repair begins, as the control plane changes."
)
IN_USE = Gauge("node_repair_bad_devices_in_use", "Bad devices that stay in use.", ["host"])
_REPAIRS = Gauge(
    "node_repair_history",
    "Repairs of a host in 90 days, and of its devices, where there were several.",
    ["host", "serial", "device"],
)


def show_history(nodes: Iterable[Node], now: int) -> None:
    """Report the hosts and devices that were repaired more than once."""
    _REPAIRS.clear()
    for node in nodes:
        serial, repairs = history.read(text(node.notes, HISTORY), now)
        for device, number in history.counts(repairs).items():
            if number > 1:
                _REPAIRS.labels(node.name, serial, device).set(number)


def show(settings: Settings, decision: Decision) -> None:
    """Report a decision."""
    _ROLLING.set(bool(decision.rolling))
    _SLOTS.clear()
    _LIMIT.clear()
    for name, pool in settings.pools.items():
        for remediator, limit in pool.limits.items():
            _SLOTS.labels(name, remediator).set(decision.slots.get((name, remediator), 0))
            _LIMIT.labels(name, remediator).set(limit)


def serve(port: int, alive: Callable[[], float], good: Callable[[], float]) -> None:
    """Answer /metrics, /healthz (``alive``: when the last request was begun) and /readyz (``good``:
    when the last good round ended), both in seconds since 1970."""

    class Handler(MetricsHandler):
        registry = REGISTRY

        def do_GET(self) -> None:
            probes = {"/healthz": alive, "/readyz": good}
            if self.path not in probes:
                super().do_GET()
                return
            fresh = time.time() - probes[self.path]() < SILENT_SECONDS
            self.send_response(HTTPStatus.OK if fresh else HTTPStatus.SERVICE_UNAVAILABLE)
            self.end_headers()

    # Kubelets and Prometheus ask from other hosts.
    server = ThreadingHTTPServer(("", port), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
