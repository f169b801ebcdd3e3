"""``python -m tests.real.live.metal3 OUT ROOT SITE``: a site's hosts get addresses and network data
from the real controllers of Metal3; what they made as JSON in OUT.

Real are CAPM3, IPAM, the managers of Cluster API, all with their webhooks, and the Bare Metal
Operator in its test mode, which asks no Ironic: its hosts have neither BMC nor disk, and are all
one. Played are the kubelets alone: a host whose image is written becomes a Node (nodes.py), some
seconds too early, as CAPM3 looks for it every 30 s only. Runs in a namespace of its own only
(namespace.py): ``observe`` of run.py starts it there.
"""

import contextlib
import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from components.making.manifest import Manifest as Made
from components.site import site_objects
from controlplane import Client, Manifest
from controlplane.daemon import Daemon
from schemas.load import load_site
from tests.real.live import nodes, world
from tests.real.live.namespace import raise_loopback
from tests.real.live.patch import merge
from tests.real.live.settled import said
from tests.real.live.watch import Mirror, condition
from tools.toolchain import Tool, locate

GROUPS = ("controlplane", "cluster-api", "metal3")
OPERATOR = "baremetal-operator"
KINDS = {
    "BareMetalHost": "metal3.io/v1alpha1",
    "IPAddress": "ipam.metal3.io/v1alpha1",
    "IPClaim": "ipam.metal3.io/v1alpha1",
    "IPPool": "ipam.metal3.io/v1alpha1",
    "Machine": world.CLUSTER,
    "Metal3Cluster": "infrastructure.cluster.x-k8s.io/v1beta2",
    "Metal3Data": "infrastructure.cluster.x-k8s.io/v1beta2",
    "Metal3DataTemplate": "infrastructure.cluster.x-k8s.io/v1beta2",
    "Metal3Machine": "infrastructure.cluster.x-k8s.io/v1beta2",
    "Node": "v1",
    "Secret": "v1",
}
"""The kinds that a run reports, with their API versions."""
_SETS = ("KubeadmControlPlane", "MachineDeployment")
_FREE_PORTS = (9450, 9451)
_LIMIT_SECONDS, _TICK_SECONDS = 400.0, 0.2


def main(arguments: list[str]) -> int:
    """Bring the site up, and write ``result.json``."""
    raise_loopback()
    out, root, name = Path(arguments[0]), Path(arguments[1]), arguments[2]
    clock = time.monotonic()
    loaded = load_site(root, name)
    if loaded.site is None:
        raise AssertionError(f"check refuses it: {[str(each) for each in loaded.problems]}")
    made = site_objects(loaded.site)["machines"]
    tools = locate(GROUPS)
    hosts = [one for one in made if one.kind == "BareMetalHost"]
    with world.managed(tools, out) as (plane, client, mirror):
        started = time.monotonic() - clock
        client.apply(made[0].body)
        world.prepare(client, name, out)
        with _operator(tools[OPERATOR], out, plane.kubeconfig(), name):
            _apply(client, hosts)
            _wait(mirror, lambda: set(_states(mirror)) == {"available"})
            _apply(client, [one for one in made if one not in hosts])
            _bring_up(client, mirror, made)
            ready = time.monotonic() - clock
            found: dict[str, Any] = {kind: client.items(api, kind) for kind, api in KINDS.items()}
            found["said"] = _ask_for_one_more(client, mirror)
    found["seconds"] = {"started": started, "site": ready, "all": time.monotonic() - clock}
    (out / "result.json").write_text(json.dumps(found, indent=1), encoding="utf-8")
    return 0


def _apply(client: Client, made: list[Made]) -> None:
    """Apply a site's objects, and the Secrets that its hosts name for their BMCs."""
    for one in made:
        body = world.adapted(one)
        client.apply(body)
        if one.kind == "BareMetalHost":
            nodes.create(client, _credentials(body))


def _credentials(host: Manifest) -> Manifest:
    name, namespace = host["spec"]["bmc"]["credentialsName"], host["metadata"]["namespace"]
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": namespace},
        "stringData": {"username": "nobody", "password": "none"},
    }


@contextlib.contextmanager
def _operator(tool: Tool, directory: Path, kubeconfig: Path, site: str) -> Iterator[None]:
    """The Bare Metal Operator in its test mode, ended when the block is left."""
    health, metrics = (f"127.0.0.1:{port}" for port in _FREE_PORTS)
    mark = f"-kubeconfig={kubeconfig}"
    daemon = Daemon(tool.name, directory, mark)
    addresses = ["-health-addr", health, "-metrics-addr", metrics, "-webhook-port", "0"]
    daemon.start([tool.path, mark, "-test-mode", "-namespace", site, *addresses])
    try:
        yield
        if daemon.pid() is None:
            raise RuntimeError(f"{tool.name} has ended:\n{daemon.tail()}")
    finally:
        daemon.stop()


def _bring_up(client: Client, mirror: Mirror, made: list[Made]) -> None:
    """Play the kubelets until all machines are available."""
    wanted = sum(one.body["spec"]["replicas"] for one in made if one.kind in _SETS)
    booted: set[str] = set()

    def settled() -> bool:
        for host in mirror.all("BareMetalHost"):
            machine = _machine_of(mirror, host)
            if machine is not None and host["metadata"]["uid"] not in booted:
                nodes.join(client, machine, "", host)
                booted.add(host["metadata"]["uid"])
        machines = mirror.all("Machine")
        available = [condition(each, "Available").get("status") == "True" for each in machines]
        return len(machines) == wanted and all(available)

    _wait(mirror, settled)


def _ask_for_one_more(client: Client, mirror: Mirror) -> list[str]:
    """Have a pool want more machines than it has hosts; what its objects say of that."""
    pools = mirror.all("MachineDeployment")
    if not pools:
        return []
    merge(client, pools[0], {"spec": {"replicas": pools[0]["spec"]["replicas"] + 1}})
    names = (pools[0]["metadata"]["name"],)
    _wait(mirror, lambda: any("host found" in each for each in said(mirror, names)))
    return list(said(mirror, names))


def _wait(mirror: Mirror, done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _LIMIT_SECONDS
    while not done():
        if time.monotonic() > deadline:
            raise TimeoutError("\n".join(_said(mirror)))
        time.sleep(_TICK_SECONDS)


def _machine_of(mirror: Mirror, host: Manifest) -> Manifest | None:
    """The Machine whose image a host has or gets, or None.

    The operator's test mode writes an image in no time once it has written one.
    """
    if not host.get("status", {}).get("provisioning", {}).get("state", "").startswith("provision"):
        return None
    name, namespace = host["spec"]["consumerRef"]["name"], host["metadata"]["namespace"]
    consumer = mirror.get("Metal3Machine", name, namespace)
    owners = consumer["metadata"]["ownerReferences"] if consumer else []
    names = [each["name"] for each in owners if each["kind"] == "Machine"]
    return mirror.get("Machine", names[0], namespace) if names else None


def _states(mirror: Mirror) -> Iterator[str]:
    """The state of each host, as the operator tells it."""
    for host in mirror.all("BareMetalHost"):
        yield host.get("status", {}).get("provisioning", {}).get("state", "")


def _said(mirror: Mirror) -> Iterator[str]:
    for kind in ("BareMetalHost", "Metal3Machine", "Machine", "KubeadmControlPlane"):
        for body in mirror.all(kind):
            yield f"{kind} {body['metadata']['name']}: {json.dumps(body.get('status'))}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
