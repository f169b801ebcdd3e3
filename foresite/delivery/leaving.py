"""The Machines of hosts that go out or become spares: Cluster API chooses which Machines of a pool
go, and knows nothing of host lists.

They are marked before ``up`` lowers a pool, so that Cluster API takes these (Cluster API v1.13.6,
machineset_deletion_order.go, and controlplane/kubeadm/internal/controllers/scale.go for the control
plane). Those of hosts that are out are deleted after it: where a spare steps in, the pool keeps its
number, and none goes by itself. A Machine that is being deleted still counts
(machineset_controller.go, syncReplicas), so the two do not add up.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from components.machines.effects.scale import DELETE_MACHINE
from components.machines.names import CLUSTER_API, CONTROL_PLANE_LABEL, INFRASTRUCTURE_API
from components.making.manifest import Json
from foresite.command import UsageError, few, say
from foresite.delivery.servers.apiserver import ApiServer, NoAnswerError, RefusedError
from foresite.delivery.servers.probe import kubectl_of
from foresite.delivery.stack.engine import Engine
from schemas.facts.adopted import management_names
from schemas.facts.site import Site
from schemas.reading.host_list import OUT, SPARE

_HOST = "metal3.io/BareMetalHost"
"""On a Metal3Machine, the name of its host (CAPM3 v1.13.2, metal3machine_manager.go)."""
_METAL3_MACHINES, _MACHINES = f"{INFRASTRUCTURE_API}/metal3machines", f"{CLUSTER_API}/machines"
_MARK = "foresite"
"""The value of our mark: a person's own stays."""


class _Held(NamedTuple):
    """A Machine, its host, and whether it is of the control plane."""

    machine: str
    host: str
    member: bool


def mark(engine: Engine, site: Site) -> None:
    """Have Cluster API take the Machines of hosts that are out or spare first, and of no others:
    the mark of a host that is in service again goes. Raises UsageError."""
    if not (hosts := _hosts(site, {OUT, SPARE})):
        return
    held, machines = _lists(engine, site, _METAL3_MACHINES, _MACHINES)
    chosen = {each.machine: each.host for each in _held(held) if each.host in hosts}
    notes = {each["name"]: each.get("annotations") or {} for each in machines}
    marked = {name for name, its in notes.items() if its.get(DELETE_MACHINE) == _MARK}
    stale = {name: name for name in sorted(marked - chosen.keys())}
    _kubectl(engine, site, "no longer marked", stale, "annotate", f"{DELETE_MACHINE}-")
    more = (f"{DELETE_MACHINE}={_MARK}", "--overwrite")
    _kubectl(engine, site, "marked", chosen, "annotate", *more)


def delete(engine: Engine, site: Site) -> None:
    """Delete the Machines that are left on hosts that are out, but for the control plane's: whether
    one more of its members may go, a person looks up. Raises UsageError."""
    if not (hosts := _hosts(site, {OUT})):
        return
    (held,) = _lists(engine, site, _METAL3_MACHINES)
    out = [each for each in _held(held) if each.host in hosts]
    where = f"--context {site.file.management} -n {management_names(site).namespace}"
    for each in out:
        if each.member:
            say(f"{each.host} runs the control plane's Machine {each.machine}: where it is")
            say("  still there once all other members are well,")
            say(f"  kubectl {where} delete machine {each.machine}")
    workers = {each.machine: each.host for each in out if not each.member}
    _kubectl(engine, site, "deleted", workers, "delete", "--wait=false")


def _hosts(site: Site, states: set[str]) -> set[str]:
    """The hosts in some states; none of a site that ends, whose Machines all go."""
    if site.file.decommission is not None:
        return set()
    return {host.name for host in site.hosts if host.state in states}


def _held(bodies: list[Json]) -> Iterator[_Held]:
    """The Machines that have a host, by the metadata of Metal3Machines."""
    for each in bodies:
        host = (each.get("annotations") or {}).get(_HOST, "").rpartition("/")[2]
        owners = each.get("ownerReferences") or ()
        name = next((owner["name"] for owner in owners if owner["kind"] == "Machine"), "")
        if host and name:
            yield _Held(name, host, CONTROL_PLANE_LABEL in (each.get("labels") or {}))


def _lists(engine: Engine, site: Site, *plurals: str) -> list[list[Json]]:
    """The metadata of a site's objects, a list for each ``API/plural``. Raises UsageError."""
    why, namespace = "there is no kubectl", management_names(site).namespace
    try:
        if (kubectl := kubectl_of(engine)) is not None:
            with ApiServer(kubectl, site.file.management) as server:
                paths = (each.rpartition("/") for each in plurals)
                asked = (f"/apis/{api}/namespaces/{namespace}/{name}" for api, _, name in paths)
                answers = [server.get(path) or {} for path in asked]
            return [[each["metadata"] for each in a.get("items") or ()] for a in answers]
    except (NoAnswerError, RefusedError) as error:
        why = str(error)
    raise _failed(site, "the choice", why)


def _kubectl(
    engine: Engine, site: Site, told: str, machines: Mapping[str, str], verb: str, *more: str
) -> None:
    """Run a kubectl command for Machines, each with its host. Raises UsageError."""
    kubectl, namespace = kubectl_of(engine), management_names(site).namespace
    if not machines or kubectl is None:
        return
    named = ("machines.cluster.x-k8s.io", *machines, *more)
    where = ("--context", site.file.management, "--namespace", namespace)
    done = kubectl.run(*where, verb, *named)
    if done.returncode and "NotFound" not in done.stderr:  # else: gone meanwhile
        raise _failed(site, verb, done.stderr.strip())
    say(f"{told}: the Machines of {few(sorted(machines.values()), 8)}")


def _failed(site: Site, verb: str, why: str) -> UsageError:
    return UsageError(
        f"{site.name}: {verb} of the Machines of hosts that are out or spare: {why}; "
        "then run the same command again"
    )
