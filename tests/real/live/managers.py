"""The managers of Cluster API and Metal3 as they are released, run beside the API server."""

import contextlib
import http.client
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import yaml

from components.machines.in_place import FLAG, GATE
from controlplane import Client, Manifest
from controlplane.daemon import Daemon
from tools.toolchain import Tool, Tools

SYNCED = r"^example\.com/mode$"
"""Labels that the experiments keep on nodes in place."""
NAMES = ("capi-core", "capi-kubeadm-control-plane", "capi-kubeadm-bootstrap")
METAL3 = ("capm3", "metal3-ipam")
OPERATOR = "baremetal-operator"
FIRST_PORT = 9400
"""Free in a network namespace of our own; one for each manager of each kind follow."""
_START_SECONDS = 120.0
_BURST = ("--kube-api-qps=1000", "--kube-api-burst=2000")
_CLUSTERS = ("--clustercache-client-qps=500", "--clustercache-client-burst=1000")
_COMPRESSED = "--feature-gates=ReconcilerRateLimiting=false"
"""On (the default) an object is reconciled once a second at most. Off, the same happens in the same
order, in an eighth of the time."""
_OWN = {
    **dict.fromkeys(NAMES, (*_CLUSTERS, _COMPRESSED)),
    # docs/prerequisites.md asks for it.
    "capm3": (*_CLUSTERS, "--enable-bmh-name-based-preallocation=true"),
    "metal3-ipam": (),
}
"""The flags that not all of them know."""
_IN_PLACE = {name: [f"--feature-gates={GATE}=true"] for name in NAMES}
_IN_PLACE["capi-core"].append(f"{FLAG}={SYNCED}")
"""What labels and taints in place need; the other experiments show what holds without it."""


class Manager:
    """One manager: its process, its ports and its webhooks. ``kept`` is where its files lie."""

    def __init__(self, tool: Tool, number: int, kept: Path) -> None:
        self.tool, self.kept = tool, kept
        self.manifests = tool.path.parent / "manifests.yaml"
        self.webhooks, self.health, self._metrics = (
            FIRST_PORT + 10 * kind + number for kind in range(3)
        )
        self._mark = f"--webhook-cert-dir={kept}"
        self.daemon = Daemon(tool.name, kept, self._mark)

    def start(self, kubeconfig: Path, further: Iterable[str] = ()) -> None:
        """Start it; ``tls.crt`` and ``tls.key`` must be in ``kept``."""
        self.daemon.start(
            [
                self.tool.path,
                self._mark,
                f"--kubeconfig={kubeconfig}",
                "--leader-elect=false",
                f"--webhook-port={self.webhooks}",
                f"--health-addr=127.0.0.1:{self.health}",
                f"--diagnostics-address=127.0.0.1:{self._metrics}",
                "--insecure-diagnostics",
                *_BURST,
                *_OWN[self.tool.name],
                *further,
            ]
        )

    def wait(self) -> None:
        """Wait until its webhooks answer. Raises RuntimeError where it ends or takes too long."""
        deadline = time.monotonic() + _START_SECONDS
        while not self._ready():
            if self.daemon.pid() is None or time.monotonic() > deadline:
                raise RuntimeError(f"{self.tool.name} does not start:\n{self.daemon.tail()}")
            time.sleep(0.05)

    def _ready(self) -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", self.health, timeout=5)
        try:
            connection.request("GET", "/readyz")
            return connection.getresponse().status == 200
        except OSError:
            return False
        finally:
            connection.close()

    def webhook_configurations(self, authority: str) -> list[Manifest]:
        """Its webhooks as they are released, called at an address in place of a Service."""
        text = self.manifests.read_text(encoding="utf-8")
        found = [body for body in yaml.safe_load_all(text) if body]
        for body in found:
            # All releases use one name.
            body["metadata"] = {"name": f"{self.tool.name}-{body['metadata']['name']}"}
            for webhook in body["webhooks"]:
                path = webhook["clientConfig"]["service"]["path"]
                url = f"https://127.0.0.1:{self.webhooks}{path}"
                webhook["clientConfig"] = {"url": url, "caBundle": authority}
        return found


class Operator(Manager):
    """The Bare Metal Operator v0.13.2 in its test mode, which asks no Ironic, with its webhook."""

    def __init__(self, tool: Tool, number: int, kept: Path) -> None:
        super().__init__(tool, number, kept)
        self.manifests = Path(__file__).with_name("baremetal-operator.yaml")
        self._mark = f"-health-addr=127.0.0.1:{self.health}"
        self.daemon = Daemon(tool.name, kept, self._mark)

    def start(self, kubeconfig: Path, further: Iterable[str] = ()) -> None:
        """Start it; it has no flag for the folder of the certificate, which is below TMPDIR."""
        folder = self.kept / "k8s-webhook-server" / "serving-certs"
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("tls.crt", "tls.key"):
            (folder / name).write_text((self.kept / name).read_text())
        ports = (f"-webhook-port={self.webhooks}", f"-metrics-addr=127.0.0.1:{self._metrics}")
        own = ("-test-mode", f"-kubeconfig={kubeconfig}", self._mark, *ports, "-namespace=")
        limits = ("-kube-api-qps=1000", "-kube-api-burst=2000")
        self.daemon.start(["env", f"TMPDIR={self.kept}", self.tool.path, *own, *limits, *further])


@contextlib.contextmanager
def running(
    tools: Tools,
    directory: Path,
    kubeconfig: Path,
    serving: tuple[str, str],
    *,
    in_place: bool,
    limited: bool = False,
) -> Iterator[list[Manager]]:
    """The managers among ``tools``, up and answering, ended when the block is left.

    ``serving`` are the certificate and the key that their webhooks show. ``limited``: an object is
    reconciled once a second at most, as by default.
    """
    names = [name for name in (*NAMES, *METAL3, OPERATOR) if name in tools]
    managers = [
        (Operator if name == OPERATOR else Manager)(tools[name], number, directory / name)
        for number, name in enumerate(names)
    ]
    try:
        for manager in managers:
            manager.kept.mkdir(parents=True, exist_ok=True)
            for name, text in zip(("tls.crt", "tls.key"), serving, strict=True):
                (manager.kept / name).write_text(text, encoding="utf-8")
            more = _IN_PLACE.get(manager.tool.name, []) if in_place else []
            if limited and manager.tool.name in NAMES:
                more = [*more, _COMPRESSED.replace("=false", "=true")]
            manager.start(kubeconfig, more)
        for manager in managers:
            manager.wait()
        yield managers
    finally:
        for manager in managers:
            manager.daemon.stop()


def more_crds(tools: Tools) -> list[Manifest]:
    """CRDs that the managers watch and Foresite makes no object of."""
    found = []
    folders = {tool.path.parent for name, tool in tools.items() if name in _OWN}
    for path in sorted(path for each in folders for path in each.glob("*.x-k8s.io_*.yaml")):
        crd: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
        # Other versions would need the conversion webhook.
        crd["spec"]["versions"] = [each for each in crd["spec"]["versions"] if each["storage"]]
        found.append(crd)
    return found


def install_webhooks(client: Client, managers: list[Manager], authority: str) -> None:
    """Have the API server ask the managers, as ``clusterctl`` would."""
    for manager in managers:
        for body in manager.webhook_configurations(authority):
            client.apply(body)
