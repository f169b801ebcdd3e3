"""All programs beside the API server: each with a kubeconfig of its own, ended together."""

import contextlib
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from controlplane.access import Access, read_kubeconfig, write_kubeconfig
from controlplane.client import Client, Manifest
from controlplane.errors import ApiError, ControlPlaneError
from controlplane.server import ControlPlane
from tests.kit.twin.cluster.controllers import Controller, controller_program
from tests.kit.twin.cluster.held import hold_ports
from tests.kit.twin.cluster.kwok import NAME as KWOK
from tests.kit.twin.cluster.kwok import kwok
from tests.kit.twin.cluster.manager import NAME as MANAGER
from tests.kit.twin.cluster.manager import controller_manager
from tests.kit.twin.cluster.process import Process, Program
from tests.kit.twin.cluster.schedulers import Scheduler, scheduler_program
from tools.toolchain import Tools

_TOKEN_SECONDS = 86_400


class Programs:
    """The programs of one control plane; ``client`` has all rights on it."""

    def __init__(self, plane: ControlPlane, client: Client, gates: Mapping[str, bool]) -> None:
        self._directory, self._client, self._gates = plane.directory, client, gates
        self._owner = read_kubeconfig(plane.kubeconfig())
        self._held = contextlib.ExitStack()
        self._names = {"etcd", "kube-apiserver", MANAGER, KWOK}
        self.processes: dict[str, Process] = {}

    def start(
        self, tools: Tools, schedulers: Iterable[Scheduler], controllers: Iterable[Controller]
    ) -> None:
        """Start the controller manager, KWOK and those given at once; wait until all work."""
        manager = (tools[MANAGER].path, self._directory, self._kubeconfig(MANAGER))
        nodes = (tools[KWOK].path, self._directory, self._kubeconfig(KWOK))
        own = [controller_manager(*manager, self._gates), kwok(*nodes)]
        beside = (*map(self._scheduler, schedulers), *map(self._controller, controllers))
        self._run([*own, *beside])

    def add(self, part: Scheduler | Controller) -> None:
        """Start one more program, and wait until it works; it is forgotten where it does not."""
        program = self._scheduler(part) if isinstance(part, Scheduler) else self._controller(part)
        try:
            self._run([program])
        except ControlPlaneError:
            self.end(program.name)
            raise

    def end(self, name: str) -> None:
        """End one of them, which counts as never started from then on."""
        self.processes.pop(name).stop()
        self._names.discard(name)

    def stop(self) -> None:
        """End all of them."""
        with ThreadPoolExecutor() as pool:
            list(pool.map(Process.stop, self.processes.values()))
        self._held.close()

    def _run(self, programs: Iterable[Program]) -> None:
        started = []
        for program in programs:
            process = self.processes[program.name] = Process(program, self._directory)
            process.start()
            started.append(process)
        for process in started:
            process.wait()

    def _scheduler(self, scheduler: Scheduler) -> Program:
        path = self._take_name(scheduler.name, scheduler.account)
        self._held.enter_context(hold_ports(scheduler.held_ports))
        return scheduler_program(scheduler, self._directory, path, self._gates)

    def _controller(self, controller: Controller) -> Program:
        return controller_program(controller, self._take_name(controller.name, controller.account))

    def _take_name(self, name: str, account: tuple[str, str] | None) -> Path:
        """Take a name, and the kubeconfig of who has it: a service account's, or with all rights.

        Raises ControlPlaneError where another program has the name.
        """
        if name in self._names:
            fix = "give each scheduler and controller another name"
            raise ControlPlaneError(f"two programs are called {name}", fix)
        access = self._owner
        if account:
            access = replace(access, token=account_token(self._client, *account))
        self._names.add(name)
        return self._kubeconfig(name, access)

    def _kubeconfig(self, name: str, access: Access | None = None) -> Path:
        """A program's own kubeconfig, with all rights unless ``access`` has fewer."""
        path = self._directory / f"{name}.kubeconfig"
        write_kubeconfig(path, access or self._owner, [name])
        return path


def account_token(client: Client, namespace: str, account: str) -> str:
    """A token of a service account. Raises ControlPlaneError where there is no such account."""
    request: Manifest = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": {"expirationSeconds": _TOKEN_SECONDS},
    }
    path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token"
    try:
        token: str = client.request("POST", path, request)["status"]["token"]
    except ApiError as error:
        fix = "give the twin the ServiceAccount and its namespace among its objects"
        message = f"no token for the service account {namespace}/{account}: {error}"
        raise ControlPlaneError(message, fix) from error
    return token
