"""A real API server with the policies of one site in force, asked by several people."""

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from components.admission_policies.objects import objects
from components.making.manifest import Json, Manifest
from components.site import site_objects
from controlplane import ApiError, Client
from controlplane.access import read_kubeconfig
from controlplane.crds import install_crds
from controlplane.server import Binaries, ControlPlane, running
from schemas.facts.site import Site
from schemas.kubernetes.objects import load_crds
from tests.kit.repository import with_resets
from tools.toolchain import locate

SITE = "tokyo-1"
GROUPS = (
    "cluster.x-k8s.io",
    "controlplane.cluster.x-k8s.io",
    "infrastructure.cluster.x-k8s.io",
    "ipam.metal3.io",
    "metal3.io",
)
MACHINES = {
    "Cluster", "KubeadmControlPlane", "Metal3Cluster", "IPPool", "MachineDeployment",
    "BareMetalHost",
}  # fmt: skip
RBAC_GROUP = "rbac.authorization.k8s.io"
RBAC = f"{RBAC_GROUP}/v1"
MANY = [{"apiGroups": [group], "resources": ["*"], "verbs": ["*"]}
        for group in ("", "apps", "batch", *GROUPS)]  # fmt: skip


class User(NamedTuple):
    """Somebody whom a request is made for; without a name it is who has all rights."""

    name: str = ""
    groups: tuple[str, ...] = ()


def account(namespace: str, name: str) -> User:
    """A ServiceAccount, as its token says."""
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}")
    return User(f"system:serviceaccount:{namespace}:{name}", groups)


ADMIN = User()
OPERATOR = User("operator")
"""May write nodes, namespaces, pods and all that runs them, and no policy."""
ON_CALL = User("on-call")
"""An operator who may also change the binding of node-marks."""
KUBELET = User("system:node:n", ("system:nodes",))
MANAGER = User("system:kube-controller-manager")
"""The account of all controllers that have none of their own."""
CONTROLLER = account("kube-system", "daemon-set-controller")
NAMESPACES = account("kube-system", "namespace-controller")
REMEDIATOR = account("node-remediation", "turns")
RESETTER = account("node-remediation", "reboots")
NEIGHBOUR = account("node-remediation", "node-operation-controller")
CLUSTER_API = account("capi-system", "capi-manager")
USERS = (
    OPERATOR,
    ON_CALL,
    KUBELET,
    MANAGER,
    CONTROLLER,
    NAMESPACES,
    REMEDIATOR,
    RESETTER,
    NEIGHBOUR,
    CLUSTER_API,
)


class As(Client):
    """The client of the one with all rights, who lets each request be one of somebody else's.

    ``warnings`` are those of the last answer.
    """

    user = ADMIN
    warnings: tuple[str, ...] = ()

    def _exchange(
        self, method: str, path: str, data: bytes | None, headers: Mapping[str, str]
    ) -> tuple[int, bytes]:
        # A header for each group, which a map cannot hold.
        connection = self._connect()
        with contextlib.closing(connection):
            connection.putrequest(method, path)
            sent = [*headers.items()]
            if self.user.name:
                sent.append(("Impersonate-User", self.user.name))
                groups = ("system:authenticated", *self.user.groups)
                sent += [("Impersonate-Group", group) for group in groups]
            for name, value in (*sent, ("Content-Length", str(len(data or b"")))):
                connection.putheader(name, value)
            connection.endheaders(data)
            response = connection.getresponse()
            self.warnings = tuple(response.headers.get_all("Warning") or ())
            return response.status, response.read()

    def said(
        self, user: User, method: str, path: str, body: Json | None = None, *content: str
    ) -> str:
        """The server's message where it refuses the request of ``user``; empty where it accepts it.
        Nothing changes. ``content``: the type of the body, where it is not JSON."""
        self.user = user
        try:
            self.request(method, f"{path}?dryRun=All", body, *content)
        except ApiError as error:
            if "denied request" not in error.message:
                raise  # no policy, but the schema or missing rights
            return error.message
        finally:
            self.user = ADMIN
        return ""


@contextlib.contextmanager
def serving(directory: Path, site: Site | None = None) -> Iterator[tuple[ControlPlane, As]]:
    """A server on which the policies of tokyo-1, or of ``site``, judge already."""
    tools = locate(["controlplane"])
    binaries = Binaries(tools["etcd"].path, tools["kube-apiserver"].path)
    chosen = site or with_resets()
    with running(directory, binaries) as plane, As(read_kubeconfig(plane.kubeconfig())) as client:
        install_crds(client, [crd for crd in load_crds() if crd["spec"]["group"] in GROUPS])
        for body in (*_rights(), *map(_body, _wanted(chosen))):
            client.apply(body)
        yield plane, client


def _body(manifest: Manifest) -> Json:
    return manifest.body


def _wanted(site: Site) -> Iterator[Manifest]:
    """The policies, every namespace, and one object of each kind of machines."""
    made = [each for component in site_objects(site).values() for each in component]
    yield from (each for each in made if each.kind == "Namespace")
    seen: set[str] = set()
    for each in made:
        if each.kind in MACHINES - seen:
            seen.add(each.kind)
            yield each
    yield from objects(site)


def _rights() -> Iterator[Json]:
    yield from _role("operators", MANY, USERS)
    binding = {
        "apiGroups": ["admissionregistration.k8s.io"],
        "resources": ["validatingadmissionpolicybindings"],
        "resourceNames": ["node-marks.foresite.dev"],
        "verbs": ["update"],
    }
    yield from _role("on-call", [binding], (ON_CALL,))


def _role(name: str, rules: list[Json], users: Iterable[User]) -> Iterator[Json]:
    role = {"apiGroup": RBAC_GROUP, "kind": "ClusterRole", "name": name}
    subjects = [{"apiGroup": RBAC_GROUP, "kind": "User", "name": user.name} for user in users]
    shared = {"apiVersion": RBAC, "metadata": {"name": name}}
    yield {**shared, "kind": "ClusterRole", "rules": rules}
    yield {**shared, "kind": "ClusterRoleBinding", "roleRef": role, "subjects": subjects}
