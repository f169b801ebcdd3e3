"""The controller manager: which controllers a cluster without machines has use for."""

from collections.abc import Mapping
from pathlib import Path

from controlplane.flags import TABLE, gate_list, given
from tests.kit.twin.cluster.process import OPEN_PATHS, Program, serving

NAME = "kube-controller-manager"

CONTROLLERS = tuple(TABLE["controllers"])
GRACE_SECONDS = 300
"""Seconds without a heartbeat after which a node counts as unreachable (flags.toml)."""


def controller_manager(
    binary: Path, directory: Path, kubeconfig: Path, gates: Mapping[str, bool]
) -> Program:
    """The controller manager of the control plane in ``directory``."""
    key = f"--service-account-private-key-file={directory / 'service-accounts.key'}"

    def command(port: int) -> list[str | Path]:
        values = {"kubeconfig": kubeconfig, "controllers": ",".join(CONTROLLERS), "port": port}
        return [
            binary,
            key,
            *given("manager", grace=GRACE_SECONDS, **values),
            OPEN_PATHS,
            *serving(directory),
            *([f"--feature-gates={','.join(gate_list(gates))}"] if gates else []),
        ]

    return Program(NAME, key, command, health="/healthz")
