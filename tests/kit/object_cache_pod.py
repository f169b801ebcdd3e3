"""A pod's Envoy with nothing changed but the folder of its files: its ports, arguments, hook.

Run in a network namespace of its own (tests/real/live/namespace.py), in which all of 127.0.0.0/8 is
the loopback: there 127.0.0.5 is the pod's address, and 127.0.1.x are those of hosts.

    python -m tests.kit.object_cache_pod FOLDER

FOLDER has ``etc`` (what the pod mounts) and ``plan.json`` (arguments, hook, what to ask); the
answers go to standard output as JSON.
"""

import contextlib
import http.client
import json
import subprocess
import sys
import threading
import time
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.kit.envoy.program import ENVOY
from tests.kit.object_cache_dns import serve
from tests.kit.web import Handler
from tests.real.live.namespace import raise_loopback

POD = "127.0.0.5"
Asked = tuple[str, int, str, str]
"""Address, port, method and path."""


def main(folder: Path) -> list[Any]:
    """Start servers and the Envoy, and ask what the plan asks before and after the hook."""
    raise_loopback()
    plan = json.loads((folder / "plan.json").read_text())
    for address, port in plan["servers"]:
        server = ThreadingHTTPServer((address, port), _Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
    if plan["name"]:
        _named(folder, plan["name"], [address for address, _ in plan["servers"]])
    with open(folder / "envoy.log", "wb") as log:
        envoy = subprocess.Popen([str(ENVOY), *plan["arguments"]], stdout=log, stderr=log)
    try:
        end = time.monotonic() + 60
        while answer((POD, *plan["ready"]))[0] != 200:
            if time.monotonic() > end or envoy.poll() is not None:
                raise RuntimeError((folder / "envoy.log").read_text()[-2000:])
            time.sleep(0.1)
        before = [answer(tuple(each)) for each in plan["asked"]]
        return [before, _drained(plan)]
    finally:
        envoy.kill()
        envoy.wait()


def _named(folder: Path, name: str, hosts: list[str]) -> None:
    """Let this namespace's DNS say where the servers are."""
    serve("127.0.0.53", name, hosts)
    resolver = folder / "resolv.conf"
    resolver.write_text("nameserver 127.0.0.53\n")
    subprocess.run(["mount", "--bind", str(resolver), "/etc/resolv.conf"], check=True)


def _drained(plan: dict[str, Any]) -> list[Any]:
    """The answer to the first question once the hook has done its work; it waits on after it."""
    with subprocess.Popen(plan["hook"], stdout=subprocess.PIPE, text=True) as hook:
        if hook.stdout is None:
            raise RuntimeError("a pipe was asked for")
        said = hook.stdout.readline().strip()
        found = [said, *answer(tuple(plan["asked"][0]))]
        hook.kill()
    return found


def answer(asked: Asked) -> tuple[int | None, str | None, str]:
    """Status, the field Connection and the body; no status where nobody listens."""
    address, port, method, path = asked
    link = http.client.HTTPConnection(address, port, timeout=10)
    with contextlib.closing(link):
        try:
            link.request(method, path)
            said = link.getresponse()
        except ConnectionRefusedError:
            return None, None, ""
        return said.status, said.headers["connection"], said.read(100).decode("latin-1")


class _Handler(Handler):
    """A server that says its address."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        body = str(self.connection.getsockname()[0]).encode()
        self.answer(200, body, {"content-length": str(len(body))})


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]))))
