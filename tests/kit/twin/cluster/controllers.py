"""Controllers beside the schedulers: a binary, its flags, and whose rights it has."""

from dataclasses import dataclass
from pathlib import Path

from controlplane.ports import free_port
from tests.kit.twin.cluster.process import Program


@dataclass(frozen=True, slots=True)
class Controller:
    """One program that acts on objects, such as one made with controller-runtime.

    ``name`` is that of its process and log, unique in a twin. In ``arguments`` ``{kubeconfig}``,
    ``{metrics}`` and ``{address}`` (of the loopback, with a free port each) are filled in; on the
    port of ``{metrics}`` it serves /metrics without TLS, and it counts as started when it does.
    ``account`` is the namespace and the name of the service account whose token it gets, so that
    its rights are those of a cluster; None gives it all.
    """

    name: str
    binary: Path
    arguments: tuple[str, ...]
    account: tuple[str, str] | None = None


def controller_program(controller: Controller, kubeconfig: Path) -> Program:
    """How ``controller`` is run with a kubeconfig of its own."""

    def fill(argument: str, port: int) -> str:
        metrics, address = f"127.0.0.1:{port}", f"127.0.0.1:{free_port()}"
        return argument.format(kubeconfig=kubeconfig, metrics=metrics, address=address)

    def command(port: int) -> list[str | Path]:
        return [controller.binary, *(fill(each, port) for each in controller.arguments)]

    mark = f"--kubeconfig={kubeconfig}"
    return Program(controller.name, mark, command, health="/metrics", plain=True)
