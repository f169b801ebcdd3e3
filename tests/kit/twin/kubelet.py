"""A stand-in for kubelets: it runs the scripts of some pods as processes of this machine.

KWOK says that a pod runs; this gives it something that really does. A pod's one container is
started as its command says, with the environment, the files and the rights that its spec gives it.
There is no image: the programs of this environment and of this machine are used, and kubectl of
the toolchain. Paths below a mount are those of a folder here, wherever the spec has them.
"""

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

from controlplane import ApiError, Client, Manifest
from controlplane.access import write_kubeconfig
from controlplane.child_process import tie_to_parent
from tests.kit.twin.cluster import Twin
from tests.kit.twin.cluster.programs import account_token
from tests.kit.twin.volumes import filled
from tests.real.live.watch import Mirror

_RESTART_SECONDS = 0.5
"""A kubelet's back-off begins with 10 s; here a container that has failed is started sooner."""
_END_SECONDS = 5.0
"""Seconds that a program has to end; in a cluster it is 30 s."""
_MERGE = "application/strategic-merge-patch+json"
_FIELD = re.compile(r"metadata\.(annotations|labels)\['(.+)'\]")


@dataclass
class _Container:
    """The container of one pod: what runs of it now, and whether it has been told to end."""

    pod: Manifest
    process: subprocess.Popen[bytes] | None = None
    ended: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)


class Kubelet:
    """Runs the pods that ``chosen`` picks; each one's output is in ``directory/<pod>.log``.

    ``extra`` is put over their environment, with ``{home}`` for a folder of each pod's own: how a
    test makes a program's pauses shorter, and what stands for a pod's /tmp.
    """

    def __init__(
        self,
        t: Twin,
        directory: Path,
        kubectl: Path,
        chosen: Callable[[Manifest], bool],
        extra: Mapping[str, str],
    ) -> None:
        self._t, self._directory, self._kubectl, self._chosen = t, directory, kubectl, chosen
        self._extra = dict(extra)
        self._client = Client(t.access)
        self._mirror = Mirror(t.access)
        self._containers: dict[str, _Container] = {}
        self._threads: list[threading.Thread] = []
        self.errors: list[str] = []
        """Errors in here; no test should see one."""

    def __enter__(self) -> Self:
        return self

    def start(self) -> None:
        """Run the pods that there are, and those to come."""
        self._mirror.listen(self._note)
        self._mirror.follow("v1", "Pod")

    def __exit__(self, *_: object) -> None:
        self._mirror.close()
        for container in list(self._containers.values()):
            _end(container, patience=0.0)
        for thread in self._threads:
            thread.join(_END_SECONDS)
        self._client.close()

    def log(self, pod: str) -> str:
        """The output of a pod so far, through all of its restarts."""
        path = self._directory / f"{pod}.log"
        return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""

    def kill(self, pod: str) -> None:
        """Kill what runs of a pod, by its name; it is started again as its policy says."""
        for container in list(self._containers.values()):
            if container.pod["metadata"]["name"] == pod and container.process:
                _kill(container.process)

    def _note(self, _kind: str, old: Manifest | None, new: Manifest | None) -> None:
        """Start or end what a change of a pod asks for; the mirror calls it in turn."""
        body = new or old
        if body is None or not self._chosen(body):
            return
        uid = body["metadata"]["uid"]
        if new is None:
            if container := self._containers.pop(uid, None):
                threading.Thread(target=_end, args=(container,), daemon=True).start()
        elif uid not in self._containers and new.get("status", {}).get("phase") == "Running":
            container = self._containers[uid] = _Container(new)
            thread = threading.Thread(target=self._live, args=(container,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _live(self, container: _Container) -> None:
        """Run a container until its policy or the pod's end says that it is over."""
        metadata = container.pod["metadata"]
        try:
            command, environment = self._prepared(container.pod)
            code = self._repeated(container, command, environment)
            if not container.ended.is_set():
                self._tell(container.pod, code)
        except (ApiError, OSError, KeyError) as error:
            # A pod may go while something is done for it, before that is seen here.
            if not container.ended.wait(_END_SECONDS):
                self.errors.append(f"{metadata['name']}: {error!r}")

    def _repeated(
        self, container: _Container, command: list[str], environment: Mapping[str, str]
    ) -> int:
        policy = container.pod["spec"].get("restartPolicy", "Always")
        while True:
            code = self._once(container, command, environment)
            if container.ended.is_set() or policy == "Never" or (policy != "Always" and not code):
                return code
            container.ended.wait(_RESTART_SECONDS)

    def _once(
        self, container: _Container, command: list[str], environment: Mapping[str, str]
    ) -> int:
        log = self._directory / f"{container.pod['metadata']['name']}.log"
        with log.open("ab") as sink:
            with container.lock:
                if container.ended.is_set():
                    return 0
                container.process = subprocess.Popen(
                    tie_to_parent(command),
                    env=dict(environment),
                    stdin=subprocess.DEVNULL,
                    stdout=sink,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
            code = container.process.wait()
            # What a script has started goes with its container.
            _kill(container.process)
            return code

    def _prepared(self, pod: Manifest) -> tuple[list[str], dict[str, str]]:
        """The command line and the environment of a pod's container, its files written."""
        metadata, spec = pod["metadata"], pod["spec"]
        (container,) = spec["containers"]
        home = self._directory / metadata["uid"]
        home.mkdir(parents=True)
        mounts = filled(self._client, pod, container, home)

        def here(text: str) -> str:
            for path, folder in sorted(mounts.items(), key=lambda each: -len(each[0])):
                text = re.sub(rf"(?<![\w/.-]){re.escape(path)}(?=/|$|\s|\")", str(folder), text)
            return text

        environment = self._environment(pod, home)
        environment |= {each["name"]: here(_value(pod, each)) for each in container.get("env", ())}
        words = [*container.get("command", ()), *container.get("args", ())]
        environment |= {key: value.format(home=home) for key, value in self._extra.items()}
        return [here(_expanded(word, environment)) for word in words], environment

    def _environment(self, pod: Manifest, home: Path) -> dict[str, str]:
        """The environment that every pod has: a PATH, a home, and the rights of its service
        account."""
        found = {
            "PATH": f"{Path(sys.executable).parent}:{self._kubectl.parent}:/usr/bin:/bin",
            "HOME": str(home),
            "HOSTNAME": pod["metadata"]["name"],
        }
        spec = pod["spec"]
        if spec.get("automountServiceAccountToken", True):
            account = spec.get("serviceAccountName", "default")
            token = account_token(self._client, pod["metadata"]["namespace"], account)
            path = home / "kubeconfig"
            write_kubeconfig(path, replace(self._t.access, token=token), ["pod"])
            found["KUBECONFIG"] = str(path)
        return found

    def _tell(self, pod: Manifest, code: int) -> None:
        """Say in the pod's status how its container ended."""
        metadata = pod["metadata"]
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        reason = "Error" if code else "Completed"
        status = {
            "phase": "Failed" if code else "Succeeded",
            "conditions": [
                {"type": kind, "status": "False", "reason": "PodCompleted"}
                for kind in ("Ready", "ContainersReady")
            ],
            "containerStatuses": [
                {
                    "name": pod["spec"]["containers"][0]["name"],
                    "ready": False,
                    "started": False,
                    "state": {"running": None, "terminated": {
                        "exitCode": code, "reason": reason, "startedAt": now, "finishedAt": now
                    }},
                }
            ],
        }  # fmt: skip
        path = f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}/status"
        self._client.request("PATCH", path, {"status": status}, _MERGE)


def _value(pod: Manifest, variable: Mapping[str, Any]) -> str:
    """The value of an environment variable: as it is, or a field of its pod."""
    if "valueFrom" not in variable:
        return str(variable.get("value", ""))
    path = variable["valueFrom"]["fieldRef"]["fieldPath"]
    if match := _FIELD.fullmatch(path):
        return str(pod["metadata"].get(match[1], {}).get(match[2], ""))
    part, _, key = path.partition(".")
    return str(pod[part][key])


def _expanded(word: str, environment: Mapping[str, str]) -> str:
    """A word of a command with ``$(NAME)`` filled in, as Kubernetes does."""
    return re.sub(r"\$\(([A-Za-z_][A-Za-z0-9_]*)\)", lambda m: environment.get(m[1], m[0]), word)


def _end(container: _Container, patience: float = _END_SECONDS) -> None:
    """Tell a container to end, and end it where it does not."""
    with container.lock:
        container.ended.set()
        process = container.process
    if process:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(patience)
        _kill(process)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and what it has started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
