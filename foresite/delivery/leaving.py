"""The Machines of hosts that go out or become spares: Cluster API chooses which Machines of a pool
go, and knows nothing of host lists.

They are marked before ``up`` lowers a pool, so that Cluster API takes these (Cluster API v1.13.6,
machineset_deletion_order.go). Those of hosts that are out are deleted after it: where a spare steps
in, the pool keeps its number, and none goes by itself. A Machine that is being deleted still counts
(machineset_controller.go, syncReplicas), so the two do not add up.
"""

from collections.abc import Iterator

from components.machines.effects.scale import DELETE_MACHINE
from components.machines.names import CONTROL_PLANE_LABEL, INFRASTRUCTURE_API
from foresite.command import UsageError, few, say
from foresite.delivery.servers.apiserver import ApiServer, NoAnswerError, RefusedError
from foresite.delivery.servers.probe import kubectl_of
from foresite.delivery.stack.engine import Engine
from schemas.facts.site import Site
from schemas.reading.host_list import OUT, SPARE

_HOST = "metal3.io/BareMetalHost"
"""On a Metal3Machine, the name of its host (CAPM3 v1.13.2, metal3machine_manager.go)."""


def mark(engine: Engine, site: Site) -> None:
    """Have Cluster API take the Machines of hosts that are out or spare first.

    Raises UsageError.
    """
    _each(engine, site, {OUT, SPARE}, "annotate", f"{DELETE_MACHINE}=foresite", "--overwrite")


def delete(engine: Engine, site: Site) -> None:
    """Delete the Machines that are left on hosts that are out. Raises UsageError."""
    _each(engine, site, {OUT}, "delete", "--wait=false")


def _each(engine: Engine, site: Site, states: set[str], verb: str, *more: str) -> None:
    """Run a kubectl command for the Machines of all hosts in some states."""
    hosts = {host.name for host in site.hosts if host.state in states}
    if not hosts or site.file.decommission is not None:
        return
    context, kubectl, why = site.file.management, kubectl_of(engine), "there is no kubectl"
    try:
        if kubectl is not None:
            with ApiServer(kubectl, context) as server:
                if not (found := dict(_machines(server, site.name, hosts))):
                    return
            named = ("machines.cluster.x-k8s.io", *found, *more)
            done = kubectl.run("--context", context, "--namespace", site.name, verb, *named)
            if not done.returncode or "NotFound" in done.stderr:  # gone meanwhile
                say(f"{verb}: the Machines of {few(sorted(found.values()), 8)}")
                return
            why = done.stderr.strip()
    except (NoAnswerError, RefusedError) as error:
        why = str(error)
    raise UsageError(
        f"{site.name}: {verb} of the Machines of hosts that are {' or '.join(sorted(states))}: "
        f"{why}; then run the same command again"
    )


def _machines(server: ApiServer, site: str, hosts: set[str]) -> Iterator[tuple[str, str]]:
    """The Machine of each of some hosts that has one, but for the control plane's: whether one more
    of its members may go, a person looks up."""
    path = f"/apis/{INFRASTRUCTURE_API}/namespaces/{site}/metal3machines"
    for each in (server.get(path) or {}).get("items") or ():
        metadata = each["metadata"]
        host = (metadata.get("annotations") or {}).get(_HOST, "").rpartition("/")[2]
        owners = metadata.get("ownerReferences") or ()
        name = next((owner["name"] for owner in owners if owner["kind"] == "Machine"), "")
        if host in hosts and CONTROL_PLANE_LABEL in (metadata.get("labels") or {}):
            say(f"{host} runs the control plane's Machine {name}: once all other members are well,")
            say(f"  kubectl --context {server.context} -n {site} delete machine {name}")
        elif host in hosts and name:
            yield name, host
