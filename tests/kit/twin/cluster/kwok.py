"""KWOK, which plays all nodes: they get ready, their pods run, and their leases are renewed."""

from pathlib import Path

from tests.kit.twin.cluster.process import Program, serving

NAME = "kwok"
STAGES = Path(__file__).with_name("stages.yaml")

RUN_FOR = "twin.foresite.dev/run-for"
"""Annotation of a pod: after how long it ends by itself, such as ``15s``."""
EXIT_CODE = "twin.foresite.dev/exit-code"
"""Annotation of a pod that ends by itself: the exit code, where it shall not be 0."""
DOWN = "twin.foresite.dev/down"
"""Annotation of a node, any value: its conditions stay as somebody else writes them."""

LEASE_SECONDS = 120
"""Seconds of a node's lease, in which KWOK renews it four times; less than the controller
manager's patience (manager.py). With a third of it, idling takes three times as much work."""


def kwok(binary: Path, directory: Path, kubeconfig: Path) -> Program:
    """KWOK for all nodes of the control plane in ``directory``."""
    address = f"--kubeconfig={kubeconfig}"

    def command(port: int) -> list[str | Path]:
        return [
            binary,
            address,
            f"--config={STAGES}",
            "--manage-all-nodes=true",
            f"--node-lease-duration-seconds={LEASE_SECONDS}",
            f"--server-address=127.0.0.1:{port}",
            *serving(directory),
        ]

    return Program(NAME, address, command)
