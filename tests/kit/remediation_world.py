"""A site with its fault remediation on the twin: the real Node Operation Controller with the
objects and programs that the site makes, simulated nodes, and hosts that are rebooted by a fake."""

import base64
import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from components.making.faults import CONDITIONS
from components.making.manifest import Manifest as Made
from components.making.manifest import Target
from components.remediation.objects import objects
from controlplane import Manifest
from controlplane.access import write_kubeconfig
from schemas.facts.site import Site
from schemas.kubernetes.node_labels import POOL_LABEL
from schemas.kubernetes.objects import load_crds
from schemas.model.remediation import Remediator
from schemas.model.vocabulary import Eviction, Fault
from tests.kit.go_programs import given
from tests.kit.remediation_history import NODEOPS, History
from tests.kit.repository import all_sites
from tests.kit.twin.cluster import Controller, Parts
from tests.kit.twin.cluster.programs import account_token
from tests.kit.twin.hosts import FakeHosts, bare_metal_hosts
from tests.kit.twin.kubelet import Kubelet
from tests.kit.twin.world import World
from tests.kit.twin.world import world as running
from tools.toolchain import locate

T = TypeVar("T")
SITE = "tokyo-1"
NOC = "node-operation-controller"
PATIENCE_SECONDS = 120.0
MANY, ONE, WIDE = 4, 1, 8
"""Hosts that the remediator of v100, of a100 and of h100 takes out at a time."""
_KINDS = ("NodeRemediationTemplate", "NodeDisruptionBudget")
_CRDS = [f"{NODEOPS}/{kind}" for kind in (*_KINDS, "NodeOperationTemplate", "NodeRemediation")]
_BMH = "metal3.io/v1alpha1/BareMetalHost"
_ORDER = ("Namespace", "ServiceAccount", "ConfigMap")
_LEFT_OUT = ("DaemonSet", "ServiceMonitor", "PodMonitor")
"""Detectors are played by the tests, and nobody scrapes here."""
_OWN_FLAGS = ("--metrics-bind-address", "--health-probe-bind-address", "--leader-elect")
"""Flags of the controller that the twin sets. It elects no leader outside of a pod: its namespace
is read from a pod's files (controller-runtime 0.19.7, pkg/leaderelection/leader_election.go)."""


@dataclass(frozen=True)
class Repairs:
    """The world of repairs for tests and benchmarks."""

    world: World
    site: Site
    hosts: FakeHosts
    kubelet: Kubelet
    history: History

    @property
    def namespace(self) -> str:
        """The namespace of the remediation."""
        settings = self.site.file.remediation
        assert settings is not None
        return settings.namespace

    def pool(self, name: str) -> list[str]:
        """The nodes of a pool by name."""
        named = [each["metadata"] for each in self.history.all("Node")]
        return sorted(each["name"] for each in named if each["labels"][POOL_LABEL] == name)

    def fail(self, fault: Fault, *nodes: str) -> None:
        """Report a fault of nodes, as their detectors would."""
        for node in nodes:
            self.hosts.report(node, CONDITIONS[fault])

    def recover(self, fault: Fault, *nodes: str) -> None:
        """Report that a fault of nodes is gone."""
        for node in nodes:
            self.hosts.report(node, CONDITIONS[fault], "False")

    def reboots(self, node: str) -> int:
        """How often a host was rebooted."""
        return sum(each.host == node for each in self.hosts.reboots)

    def until(
        self, what: str, done: Callable[[], T | None], seconds: float = PATIENCE_SECONDS
    ) -> T:
        """Wait for changes of nodes, operations and jobs until ``done()`` is true.

        Raises TimeoutError that names ``what`` and the nodes that are not as they were.
        """
        return self.history.until(what, done, seconds)

    def check(self) -> None:
        """Fail where a stand-in met an error, or a program has ended."""
        assert not self.hosts.errors and not self.kubelet.errors
        self.world.t.check()


def site(**reboot: int) -> Site:
    """tokyo-1 with a remediator for each pool; ``reboot`` may be shorter than a site's may."""
    whole = all_sites()[SITE]
    settings = whole.file.remediation
    assert settings is not None
    healers = [
        Remediator(name="many", pools=["v100"], max_unavailable=MANY),
        Remediator(name="one", pools=["a100"], max_unavailable=ONE),
        Remediator(name="wide", pools=["h100"], max_unavailable=WIDE),
        Remediator(
            name="cpu", pools=["cpu"], faults=[Fault.KERNEL_DEADLOCK], eviction=Eviction.WAIT
        ),
    ]
    changed = {"healers": healers, "reboot": settings.reboot.model_copy(update=reboot)}
    file = whole.file.model_copy(update={"remediation": settings.model_copy(update=changed)})
    return replace(whole, file=file)


@contextlib.contextmanager
def repairing(
    directory: Path, made: Site, extra: Mapping[str, str] = MappingProxyType({})
) -> Iterator[Repairs]:
    """The remediation of ``made`` at work: both clusters of the site are the one API server.

    The program that gives nodes their turns begins when ``kubelet.start()`` is called; ``extra`` is
    put over its environment and that of the reboots' jobs.
    """
    found = objects(made)
    parts: Parts = {
        "schedulers": [],
        "crds": [*load_crds([*_CRDS, _BMH]), _operations()],
        "objects": [*_ordered(made, found), *bare_metal_hosts(made)],
        "controllers": [_controller(found)],
        "tools": (tools := locate(["controlplane", "scheduling"])),
    }
    with contextlib.ExitStack() as stack:
        world = stack.enter_context(running(directory, made, **parts))
        _grant(world, made, found)
        hosts = stack.enter_context(FakeHosts(world.t.access))
        history = stack.enter_context(History(world.t.access))
        folder = directory / "pods"
        folder.mkdir()
        # All pods are processes of one machine: none has the port for itself.
        more = {"PORT": "0", **extra}
        kubelet = Kubelet(world.t, folder, tools["kubectl"].path, _runs_repairs(made), more)
        stack.enter_context(kubelet)
        yield Repairs(world, made, hosts, kubelet, history)


def _ordered(made: Site, found: Iterable[Made]) -> list[Manifest]:
    """The objects to apply, namespaces and accounts first."""
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": made.name}}
    bodies = [each.body for each in found if each.kind not in _LEFT_OUT]
    rank = {kind: number for number, kind in enumerate(_ORDER)}
    return [namespace, *sorted(bodies, key=lambda body: rank.get(body["kind"], len(rank)))]


def _runs_repairs(made: Site) -> Callable[[Manifest], bool]:
    """True if a pod is one of the remediation's own programs, by its image."""
    settings = made.file.remediation
    assert settings is not None
    image = settings.repair_image
    return lambda pod: bool(pod["spec"]["containers"][0].get("image") == image)


def _controller(found: Iterable[Made]) -> Controller:
    """The controller with the flags and the account that its Deployment gives it."""
    (body,) = (
        each.body
        for each in found
        if each.kind == "Deployment" and NOC in each.body["metadata"]["name"]
    )
    spec = body["spec"]["template"]["spec"]
    flags = spec["containers"][0].get("args", ())
    kept = [each for each in flags if not each.startswith(_OWN_FLAGS)]
    ours = [
        "--kubeconfig={kubeconfig}",
        "--metrics-bind-address={metrics}",
        "--health-probe-bind-address={address}",
    ]
    account = body["metadata"]["namespace"], spec["serviceAccountName"]
    return Controller(NOC, given(NOC), (*kept, *ours), account)


def _grant(world: World, made: Site, found: Iterable[Made]) -> None:
    """The Secret that a site's owner makes: access to the management cluster, for reboots."""
    settings = made.file.remediation
    assert settings is not None
    (account,) = (
        each.body["metadata"]
        for each in found
        if each.kind == "ServiceAccount" and each.target is Target.MANAGEMENT
    )
    token = account_token(world.t.client, account["namespace"], account["name"])
    path = world.t.directory / "management.kubeconfig"
    write_kubeconfig(path, replace(world.t.access, token=token), ["management"])
    metadata = {"name": settings.reboot.credentials, "namespace": settings.namespace}
    data = {"kubeconfig": base64.b64encode(path.read_bytes()).decode()}
    world.t.client.create(
        {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data}
    )


def _operations() -> Manifest:
    """The CRD of NodeOperation: what its template holds, with the name of a node, and a status.

    Source: node-operation-controller v0.2.2, api/v1alpha1/nodeoperation_types.go. Foresite makes no
    object of the kind, so there is no schema of it in the store.
    """
    (crd,) = load_crds([f"{NODEOPS}/NodeOperationTemplate"])
    group = NODEOPS.partition("/")[0]
    crd["metadata"]["name"] = f"nodeoperations.{group}"
    crd["spec"]["names"] = {
        "kind": "NodeOperation",
        "listKind": "NodeOperationList",
        "plural": "nodeoperations",
        "singular": "nodeoperation",
    }
    for version in crd["spec"]["versions"]:
        properties: dict[str, Any] = version["schema"]["openAPIV3Schema"]["properties"]
        spec = properties["spec"]["properties"]["template"]["properties"]["spec"]
        spec["properties"]["nodeName"] = {"type": "string"}
        status = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        properties |= {"spec": spec, "status": status}
    return crd
