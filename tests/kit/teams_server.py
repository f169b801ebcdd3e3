"""A real API server with a site's teams in it, and what it says of new pods and jobs."""

import contextlib
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

from components.making.manifest import Json
from components.teams.objects import objects
from controlplane import ApiError, Client
from controlplane.crds import install_crds
from controlplane.server import Binaries, running
from schemas.kubernetes.node_labels import TEAM_LABEL
from schemas.kubernetes.objects import load_crds
from tests.kit.scheduling_site import ACCELERATORS
from tests.kit.teams_site import KUEUE, LANGUAGE, VISION, A, site, with_rdma
from tests.kit.waiting import until
from tools.toolchain import locate

GROUPS = ("kueue.x-k8s.io", "scheduling.volcano.sh", "schedule.k8s.everpeace.github.com")
VOLCANO: Json = {"name": "volcano", "kind": "volcano", "pools": ["h100"]}
TEAMS = [
    {**VISION, "off_peak": {}},
    {**LANGUAGE, "accelerators": {A: 600}},
    {"name": "robots", "namespaces": ["robots"]},
]
# vision can use v100, on InfiniBand; language a100, on Ethernet; robots neither.
SITE = with_rdma(
    with_rdma(
        site(
            KUEUE,
            VOLCANO,
            teams=TEAMS,
            off_peak=None,
            accelerators={**ACCELERATORS, "model_by": "dra"},
        ),
        "v100",
    ),
    "a100",
    link="ethernet",
)
BASELINE = "plain"
"""A namespace of no team that Pod Security itself keeps to its baseline."""
ALONE = "alone"
"""A namespace of a team without RDMA in which Pod Security itself lets all pass."""
WORKLOADS: Json = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "workloads.kueue.x-k8s.io"},
    "spec": {
        "group": "kueue.x-k8s.io",
        "scope": "Namespaced",
        "names": {"kind": "Workload", "plural": "workloads"},
        "versions": [
            {
                "name": "v1beta2",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "x-kubernetes-preserve-unknown-fields": True,
                    }
                },
            }
        ],
    },
}
"""A stand-in for Kueue's Workload, which Foresite makes none of and so has no schema of."""


@contextlib.contextmanager
def serving(directory: Path) -> Iterator[Client]:
    """A server with the teams, whose policies judge already. It is of their own: they judge every
    namespace of a team."""
    tools = locate(["controlplane"])
    binaries = Binaries(tools["etcd"].path, tools["kube-apiserver"].path)
    with running(directory, binaries) as plane, plane.client() as found:
        crds = [crd for crd in load_crds() if crd["spec"]["group"] in GROUPS]
        install_crds(found, [*crds, WORKLOADS])
        enforced = {"pod-security.kubernetes.io/enforce": "baseline"}
        for name, labels in ((BASELINE, enforced), (ALONE, {TEAM_LABEL: ALONE})):
            metadata = {"name": name, "labels": labels}
            found.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
        for made in objects(SITE):
            # Without a controller manager a quota refuses every pod, as nobody counts.
            if made.kind not in ("ResourceQuota", "LimitRange"):
                found.apply(made.body)
        _until_they_judge(found)
        yield found


def _until_they_judge(client: Client) -> None:
    """Policies come into force a little after they are made, each by itself."""
    faults = [pod("vision", hostPID=True), workload("project", "language"), pod_group("vision")]
    until(lambda: all(refused(client, each) for each in faults), 30)


def refused(client: Client, body: Json) -> str:
    """The server's message where it refuses a new object; empty where it takes it."""
    metadata = body["metadata"]
    group = "apis" if "/" in body["apiVersion"] else "api"
    where = f"/{group}/{body['apiVersion']}/namespaces/{metadata['namespace']}"
    path = f"{where}/{body['kind'].lower()}s?dryRun=All"
    try:
        client.request("POST", path, deepcopy(body))
    except ApiError as error:
        if error.status != 403 and "denied" not in error.message:
            raise  # no policy, but the schema
        return error.message
    return ""


def pod(namespace: str, annotations: dict[str, str] | None = None, **spec: Any) -> Json:
    """A pod; ``container`` are fields of its container."""
    container = {"name": "main", "image": "a", **spec.pop("container", {})}
    metadata = {"name": "a", "namespace": namespace, "annotations": annotations or {}}
    whole = {"containers": [container], **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": whole}


def workload(tier: str | None, namespace: str) -> Json:
    """A job as Kueue sees it."""
    metadata = {"name": "a", "namespace": namespace}
    spec = {"priorityClassRef": {"name": tier}, "priority": 1} if tier else {}
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload", "metadata": metadata,
        "spec": spec,
    }  # fmt: skip


def pod_group(queue: str | None, namespace: str = "robots") -> Json:
    """A job as Volcano sees it."""
    metadata = {"name": "a", "namespace": namespace}
    spec = {"minMember": 1, **({"queue": queue} if queue else {})}
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup", "metadata": metadata,
        "spec": spec,
    }  # fmt: skip
