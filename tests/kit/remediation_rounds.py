"""Rounds of the program that gives nodes their repair slots, as its tests run them."""

import io
import json
import logging
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from node_repair.cluster import Cluster
from node_repair.slots import Slots

from components.remediation.names import HELD_LABEL
from tests.kit.remediation_server import SECONDS, SPACE, Server

MISSING, HANGS = "accelerator-missing", "kernel-deadlock"
BAD = {"AcceleratorMissing": "True"}
GOOD = {"AcceleratorMissing": "False"}
UNKNOWN = {"AcceleratorMissing": "Unknown"}
VERDICT, ATTEMPTS = 1000, 2


def lines(pools: dict[str, int], percent: int = 100) -> str:
    """The site's settings for pools with a remediator each, of which as many nodes may be out."""
    faults = ((MISSING, "AcceleratorMissing", "all"), (HANGS, "KernelDeadlock", "all"))
    named = {pool: {"limits": {"all": limit}, "repairs": faults} for pool, limit in pools.items()}
    bounds = {"attempts": ATTEMPTS, "window": 3600, "verdict": VERDICT, "percent": percent}
    return json.dumps({**bounds, "pools": named})


class Hooked(Cluster):
    """The API server, with ``before`` called before each request."""

    def __init__(self, kubeconfig: str | Path, before: Callable[[str, str], None]) -> None:
        super().__init__(str(kubeconfig))
        self._before = before

    def request(self, method: str, path: str, *more: Any, **query: Any) -> dict[str, Any]:
        self._before(method, path)
        return super().request(method, path, *more, **query)


def one_round(
    server: Server, text: str, well: bool = True, cluster: Cluster | None = None, space: str = SPACE
) -> str:
    """A round with these settings of the site; what it logged."""
    path = server.folder / "settings.json"
    path.write_text(text)
    logged, heard = io.StringIO(), logging.getLogger("node_repair")
    handler = logging.StreamHandler(logged)
    heard.addHandler(handler)
    heard.setLevel(logging.INFO)
    try:
        reached = cluster or Cluster(str(server.plane.kubeconfig()))
        assert Slots(reached, space, path).round() == well, logged.getvalue()
    finally:
        heard.removeHandler(handler)
    return logged.getvalue()


@contextmanager
def started(server: Server, text: str, **more: str) -> Iterator[subprocess.Popen[bytes]]:
    """The program with these settings of the site; it ends well when it is told to."""
    path = server.folder / "settings.json"
    path.write_text(text)
    told = {"KUBECONFIG": str(server.plane.kubeconfig()), "NAMESPACE": SPACE, "NAME": "turns"}
    with open(server.folder / "log", "wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "node_repair", "slots"],
            env={**os.environ, **told, "SETTINGS": str(path), "INTERVAL": "1", **more},
            stdout=log,
            stderr=log,
        )
    try:
        yield process
    finally:
        process.terminate()
        assert process.wait(SECONDS) == 0


def held(server: Server, space: str = SPACE) -> dict[str, str]:
    """The pools that are held, with what is told of it."""
    path = f"/api/v1/namespaces/{space}/configmaps?labelSelector={HELD_LABEL}"
    found = server.client.request("GET", path)["items"]
    return {each["metadata"]["name"]: each["data"]["reason"] for each in found}


def ago(seconds: int) -> int:
    return int(time.time()) - seconds
