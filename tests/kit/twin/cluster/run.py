"""Starts a twin, and is how it is worked with while it runs."""

import contextlib
import itertools
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypedDict, Unpack

from controlplane.access import read_kubeconfig
from controlplane.client import Client, Manifest
from controlplane.crds import install_crds
from controlplane.errors import ControlPlaneError
from controlplane.flags import Options
from controlplane.server import Binaries, ControlPlane
from controlplane.server import running as plane_running
from tests.kit.twin.cluster.controllers import Controller
from tests.kit.twin.cluster.manager import NAME as MANAGER
from tests.kit.twin.cluster.programs import Programs
from tests.kit.twin.cluster.schedulers import DEFAULT_NAME, PLAIN_CONFIG, Scheduler
from tools.toolchain import Tools, locate

GROUPS = ("controlplane", "scheduling")
_THREADS = 16
_NAMESPACE_SECONDS = 30.0
_PAUSE_SECONDS = 0.02


class Parts(TypedDict, total=False):
    """The parts of a twin, each of which may be left out.

    ``default`` is the KubeSchedulerConfiguration of the default scheduler, ``schedulers`` are those
    beside it, ``controllers`` what else acts on objects. ``gates`` are feature gates of the API
    server, the controller manager and gated schedulers, ``runtime`` further APIs
    (``group/version=true``). ``crds`` and then ``objects`` are applied in their order before
    anything acts on objects. ``tools`` are looked for where they are not named.
    """

    default: str | Manifest
    schedulers: Sequence[Scheduler]
    controllers: Sequence[Controller]
    gates: Mapping[str, bool]
    runtime: Sequence[str]
    crds: Iterable[Manifest]
    objects: Iterable[Manifest]
    tools: Tools


class Twin:
    """A cluster that runs. ``client`` has all rights, and threads may share it."""

    def __init__(self, plane: ControlPlane, client: Client, programs: Programs) -> None:
        self._plane, self._programs = plane, programs
        self._processes = programs.processes
        self._numbers = itertools.count(1)
        self.client = client
        self.directory = plane.directory
        self.kubeconfig = plane.kubeconfig()
        self.access = read_kubeconfig(self.kubeconfig)

    def start(self, part: Scheduler | Controller) -> None:
        """Start one more program, and wait until it works; it ends with the twin."""
        self._programs.add(part)

    def stop(self, name: str) -> None:
        """End a program other than the API server, and forget it."""
        self._programs.end(name)

    def create(self, bodies: Iterable[Manifest], threads: int = _THREADS) -> list[Manifest]:
        """Create objects in parallel; as the server has them, in the order given.

        Raises ApiError of the first that is refused; others may have been created by then.
        """
        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(self.client.create, bodies))

    def delete(self, bodies: Iterable[Manifest], threads: int = _THREADS) -> None:
        """Delete objects in parallel; those that are gone already do not matter."""

        def one(body: Manifest) -> None:
            metadata = body["metadata"]
            place = metadata["name"], metadata.get("namespace")
            self.client.delete(body["apiVersion"], body["kind"], *place)

        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(one, bodies))

    def namespace(self, prefix: str = "test") -> str:
        """A new namespace in which pods can be created at once."""
        name = f"{prefix}-{next(self._numbers)}"
        body: Manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        self.client.create(body)
        deadline = time.monotonic() + _NAMESPACE_SECONDS
        # Until a controller has made it, admission refuses every pod.
        while self.client.get("v1", "ServiceAccount", "default", name) is None:
            if time.monotonic() > deadline:
                self.check()
                fix = f"look at {self.log(MANAGER)}"
                raise ControlPlaneError(f"namespace {name} got no service account", fix)
            time.sleep(_PAUSE_SECONDS)
        return name

    def metrics(self, name: str) -> str:
        """The metrics of a program, such as a scheduler, in Prometheus' text format."""
        return self._processes[name].metrics()

    def answer(self, name: str, path: str) -> int:
        """The HTTP status that a program answers with on its own port; 0 where nobody answers."""
        return self._processes[name].answer(path)

    def log(self, name: str) -> Path:
        """The file with the output of a program, etcd's and the API server's too."""
        return self.directory / f"{name}.log"

    def pids(self) -> dict[str, int | None]:
        """The process id of each program; None where it has ended."""
        return self._plane.status().pids | {
            name: process.pid for name, process in self._processes.items()
        }

    def kill(self, name: str) -> None:
        """Kill a program, with SIGKILL; :meth:`revive` starts it again."""
        self._processes[name].kill()

    def revive(self, name: str) -> None:
        """Start a program again where it has ended; call it from the main thread."""
        if name in self._processes:
            self._processes[name].revive()

    def check(self) -> None:
        """Raise ControlPlaneError, with the end of its log, where a program has ended."""
        for process in self._processes.values():
            process.check()


@contextlib.contextmanager
def twin(directory: Path, **parts: Unpack[Parts]) -> Iterator[Twin]:
    """A cluster without machines in ``directory``, taken down when the block is left.

    Enter it from the main thread: its processes end with the thread that starts them. Raises
    ControlPlaneError where a program does not start, and ToolchainError where one is not there.
    """
    tools = parts.get("tools") or locate(GROUPS)
    gates = parts.get("gates", {})
    binaries = Binaries(tools["etcd"].path, tools["kube-apiserver"].path)
    options = Options(
        gates, tuple(parts.get("runtime", ())), service_accounts=True, tied_to_parent=True
    )
    config = parts.get("default", PLAIN_CONFIG)
    default = Scheduler(DEFAULT_NAME, tools[DEFAULT_NAME].path, config, gated=True)
    with (
        plane_running(directory, binaries, options) as plane,
        plane.client() as client,
        contextlib.ExitStack() as stack,
    ):
        install_crds(client, parts.get("crds", ()))
        for body in parts.get("objects", ()):
            client.apply(body)
        programs = Programs(plane, client, gates)
        stack.callback(programs.stop)
        schedulers = [default, *parts.get("schedulers", ())]
        programs.start(tools, schedulers, parts.get("controllers", ()))
        yield Twin(plane, client, programs)
