"""Flux's controllers as they are released, and a Git server for them, on loopback."""

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

from controlplane.daemon import Daemon
from tests.kit.web import Handler, listening
from tools.toolchain import Tools

_PORTS = {"source-controller": 9500, "kustomize-controller": 9510}
_STORAGE = "127.0.0.1:9520"
"""Free in a network namespace of our own; another one follows each of the first two."""


@contextlib.contextmanager
def git_server(root: Path) -> Iterator[str]:
    """Serve the Git repositories below a folder by HTTP; the URL of the folder."""

    class Answers(Handler):
        """Gives each request to Git's own CGI program."""

        def do_GET(self) -> None:
            path, _, query = self.path.partition("?")
            length = int(self.headers.get("Content-Length") or 0)
            given = {
                "PATH": os.environ["PATH"],
                "GIT_PROJECT_ROOT": str(root),
                "GIT_HTTP_EXPORT_ALL": "1",
                "GIT_CONFIG_COUNT": "1",
                "GIT_CONFIG_KEY_0": "safe.directory",
                "GIT_CONFIG_VALUE_0": "*",
                "PATH_INFO": path,
                "QUERY_STRING": query,
                "REQUEST_METHOD": self.command,
                "CONTENT_TYPE": self.headers.get("Content-Type", ""),
                "CONTENT_LENGTH": str(length),
                "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
                "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            }
            command, data = ["git", "http-backend"], self.rfile.read(length)
            done = subprocess.run(command, input=data, env=given, capture_output=True, check=False)
            head, _, body = done.stdout.partition(b"\r\n\r\n")
            fields = dict(line.split(": ", 1) for line in head.decode().splitlines())
            status = int(fields.pop("Status", "200").split()[0])
            self.answer(status, body, {**fields, "Content-Length": str(len(body))})

        do_POST = do_GET

    with listening(Answers) as url:
        yield url


@contextlib.contextmanager
def controllers(tools: Tools, directory: Path, kubeconfig: Path) -> Iterator[None]:
    """Both controllers, running."""
    own = {
        "source-controller": (
            f"--storage-path={directory}/artifacts",
            f"--storage-addr={_STORAGE}",
            f"--storage-adv-addr={_STORAGE}",
        ),
        "kustomize-controller": ("--requeue-dependency=1s", "--concurrent=8"),
    }
    (directory / "artifacts").mkdir()
    with contextlib.ExitStack() as stack:
        for name, port in _PORTS.items():
            folder = directory / name
            folder.mkdir()
            health = f"--health-addr=127.0.0.1:{port}"
            daemon = Daemon(name, folder, health)
            env = (f"KUBECONFIG={kubeconfig}", "RUNTIME_NAMESPACE=flux-system", f"TMPDIR={folder}")
            ports = (health, f"--metrics-addr=127.0.0.1:{port + 1}", *own[name])
            limits = ("--kube-api-qps=500", "--kube-api-burst=1000")
            daemon.start(["env", *env, str(tools[name].path), *ports, *limits])
            stack.callback(daemon.stop)
        yield
