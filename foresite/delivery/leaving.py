"""The Machines of hosts that go out or become spares: Cluster API chooses which Machines of a pool
go, and knows nothing of host lists.

They are marked before ``up`` lowers a pool, so that Cluster API takes these (Cluster API v1.13.6,
machineset_deletion_order.go, and controlplane/kubeadm/internal/controllers/scale.go for the control
plane). Those of hosts that are out are deleted after it: where a spare steps in, the pool keeps its
number, and none goes by itself. A Machine that is being deleted still counts
(machineset_controller.go, syncReplicas), so the two do not add up.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from components.machines.effects.scale import DELETE_MACHINE
from components.machines.names import CLUSTER_API, CONTROL_PLANE_LABEL, INFRASTRUCTURE_API
from foresite.command import UsageError, few, say
from foresite.delivery.servers.apiserver import ApiServer, NoAnswerError, RefusedError
from foresite.delivery.servers.probe import kubectl_of
from foresite.delivery.stack.engine import Engine
from schemas.facts.adopted import managed
from schemas.facts.site import Site
from schemas.reading.host_list import OUT, SPARE

_HOST = "metal3.io/BareMetalHost"
"""On a Metal3Machine, the name of its host (CAPM3 v1.13.2, metal3machine_manager.go)."""
_MARK = "foresite"
"""The value of our mark: a person's own stays."""


class _Held(NamedTuple):
    """A Machine, its host, and whether it is of the control plane."""

    machine: str
    host: str
    member: bool


def mark(engine: Engine, site: Site) -> None:
    """Have Cluster API take the Machines of hosts that are out or spare first, and of no others:
    a mark of before, of a host that is in service again, goes.

    Raises UsageError.
    """
    states = {OUT, SPARE}

    def commands(server: ApiServer, held: list[_Held]) -> Iterator[tuple[str, list[str], str]]:
        chosen = [each for each in held if each.host in _hosts(site, states)]
        kept = {each.machine for each in chosen}
        stale = sorted(_marked(server, managed(site).namespace) - kept)
        if stale:
            yield "annotate", [*stale, f"{DELETE_MACHINE}-"], f"no mark any more: {few(stale, 8)}"
        if chosen:
            names = sorted(each.host for each in chosen)
            more = [f"{DELETE_MACHINE}={_MARK}", "--overwrite"]
            yield "annotate", [*sorted(kept), *more], f"marked: the Machines of {few(names, 8)}"

    _each(engine, site, states, commands)


def delete(engine: Engine, site: Site) -> None:
    """Delete the Machines that are left on hosts that are out, but for the control plane's: whether
    one more of its members may go, a person looks up. Raises UsageError."""

    def commands(server: ApiServer, held: list[_Held]) -> Iterator[tuple[str, list[str], str]]:
        out = [each for each in held if each.host in _hosts(site, {OUT})]
        for each in out:
            if each.member:
                where = f"--context {server.context} -n {managed(site).namespace}"
                say(f"{each.host} runs the control plane's Machine {each.machine}: where it is")
                say("  still there once all other members are well,")
                say(f"  kubectl {where} delete machine {each.machine}")
        if workers := {each.machine: each.host for each in out if not each.member}:
            told = f"deleted: the Machines of {few(sorted(workers.values()), 8)}"
            yield "delete", [*workers, "--wait=false"], told

    _each(engine, site, {OUT}, commands)


_Commands = Callable[[ApiServer, list[_Held]], Iterator[tuple[str, list[str], str]]]
"""What kubectl does: its verb, names and options, and what is told of it."""


def _hosts(site: Site, states: set[str]) -> set[str]:
    return {host.name for host in site.hosts if host.state in states}


def _each(engine: Engine, site: Site, states: set[str], commands: _Commands) -> None:
    """Run the kubectl commands for the Machines, where a host is in one of some states."""
    if not _hosts(site, states) or site.file.decommission is not None:
        return
    context, namespace = site.file.management, managed(site).namespace
    kubectl, why, verb = kubectl_of(engine), "there is no kubectl", "the choice"
    try:
        if kubectl is not None:
            with ApiServer(kubectl, context) as server:
                found = list(commands(server, list(_machines(server, namespace))))
            for verb, arguments, told in found:
                named = (verb, "machines.cluster.x-k8s.io", *arguments)
                done = kubectl.run("--context", context, "--namespace", namespace, *named)
                if done.returncode and "NotFound" not in done.stderr:  # else: gone meanwhile
                    why = done.stderr.strip()
                    break
                say(told)
            else:
                return
    except (NoAnswerError, RefusedError) as error:
        why = str(error)
    raise UsageError(
        f"{site.name}: {verb} of the Machines of hosts that are {' or '.join(sorted(states))}: "
        f"{why}; then run the same command again"
    )


def _marked(server: ApiServer, namespace: str) -> set[str]:
    """The Machines that have a mark of ours."""
    path = f"/apis/{CLUSTER_API}/namespaces/{namespace}/machines"
    bodies = [each["metadata"] for each in (server.get(path) or {}).get("items") or ()]
    marks = ((each["name"], each.get("annotations") or {}) for each in bodies)
    return {name for name, notes in marks if notes.get(DELETE_MACHINE) == _MARK}


def _machines(server: ApiServer, namespace: str) -> Iterator[_Held]:
    """The Machines that have a host."""
    path = f"/apis/{INFRASTRUCTURE_API}/namespaces/{namespace}/metal3machines"
    for each in (server.get(path) or {}).get("items") or ():
        metadata = each["metadata"]
        host = (metadata.get("annotations") or {}).get(_HOST, "").rpartition("/")[2]
        owners = metadata.get("ownerReferences") or ()
        name = next((owner["name"] for owner in owners if owner["kind"] == "Machine"), "")
        if host and name:
            yield _Held(name, host, CONTROL_PLANE_LABEL in (metadata.get("labels") or {}))
