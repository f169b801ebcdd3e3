"""Ways to take a device past every limit, tried on a real API server with the policies of tokyo-1
by somebody who may do everything in the namespaces of vision, and work that must go on."""

import re
from collections.abc import Iterator
from copy import deepcopy
from functools import partial
from typing import Any, NamedTuple

import pytest
import yaml

from components.making.manifest import Json, Manifest
from components.site import site_objects
from components.teams.names import TOLERATIONS_ANNOTATION
from components.training.examples import examples
from controlplane.crds import install_crds
from schemas.kubernetes.node_labels import POOL_LABEL
from tests.kit.admission_server import (
    ADMIN,
    CONTROLLER,
    RBAC,
    RBAC_GROUP,
    As,
    User,
    account,
    serving,
)
from tests.kit.scheduling_site import tokyo
from tests.kit.teams_server import WORKLOADS
from tests.kit.waiting import until

pytestmark = pytest.mark.controlplane

RESEARCHER = User("researcher")
OWN_ACCOUNT = account("vision", "default")
"""The account of a job of the team, which somebody gave the same rights."""
JOBS, COLLECTOR, KUEUE, SCHEDULER = (
    account("kube-system", "job-controller"),
    account("kube-system", "generic-garbage-collector"),
    account("kueue-system", "kueue"),
    account("scheduling", "gang-scheduler"),
)
JOB_SETS = deepcopy(WORKLOADS)
"""A stand-in for JobSet, of which nothing but the template counts here."""
JOB_SETS["metadata"]["name"] = "jobsets.jobset.x-k8s.io"
JOB_SETS["spec"] |= {"group": "jobset.x-k8s.io", "names": {"kind": "JobSet", "plural": "jobsets"}}
JOB_SETS["spec"]["versions"][0]["name"] = "v1alpha2"
V100, GPU = "accelerators.example.com/gpu-v100-32gb", "nvidia.com/gpu"
OURS = ("teams", "accelerators", "schedulers", "admission-policies")
JUDGES = {"Namespace", "RuntimeClass", "PriorityClass"}
FREE = "/api/v1/namespaces/vision/pods/free"
WAITING = "/api/v1/namespaces/vision/pods/waits"
GATE = {"name": "kueue.x-k8s.io/admission"}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[As]:
    site = tokyo()
    with serving(tmp_path_factory.mktemp("isolation"), site) as (_, found):
        install_crds(found, [JOB_SETS])
        objects = site_objects(site)
        ours = [each for part in OURS for each in objects[part]]
        for each in ours:
            if each.kind in JUDGES:
                found.apply(each.body)
        for body in (*rights(), shared_taint(ours)):
            found.apply(body)
        for body in OLD:
            found.create({**body, "metadata": {**body["metadata"], "name": "old"}})
        for each in ours:
            if "AdmissionPolicy" in each.kind:
                found.apply(each.body)
        runtime = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "handler": "nvidia"}
        # As the GPU operator makes it.
        found.apply({**runtime, "metadata": {"name": "nvidia-legacy"}})
        for name, gates in (("waits", [GATE]), ("free", [])):
            made = pod(schedulingGates=gates)
            found.create({**made, "metadata": {**made["metadata"], "name": name}})
        # Every policy judges: each has refused what it alone refuses.
        for way in FIRST_REFUSED:
            until(partial(said_by, found, WAYS[way]))
        yield found


def shared_taint(objects: list[Manifest]) -> Json:
    """The namespace of vision, one of whose pools has a taint of the same key as another team's."""
    (found,) = (deepcopy(e.body) for e in objects if (e.kind, e.body["metadata"]["name"]) == (
        "Namespace", "vision"))  # fmt: skip
    found["metadata"]["annotations"][TOLERATIONS_ANNOTATION] += f",{OWNER}=vision"
    return found


def rights() -> Iterator[Json]:
    """All rights in vision for the researcher, and what controllers may do everywhere."""
    every = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]
    people = [{"apiGroup": RBAC_GROUP, "kind": "User", "name": each.name}
              for each in (RESEARCHER, OWN_ACCOUNT)]  # fmt: skip
    yield {"apiVersion": RBAC, "kind": "ClusterRole", "metadata": {"name": "anything"},
           "rules": every}  # fmt: skip
    role = {"apiGroup": RBAC_GROUP, "kind": "ClusterRole", "name": "anything"}
    metadata = {"name": "anything", "namespace": "vision"}
    yield {"apiVersion": RBAC, "kind": "RoleBinding", "metadata": metadata, "roleRef": role,
           "subjects": people}  # fmt: skip
    for each in (JOBS, COLLECTOR, KUEUE, SCHEDULER, CONTROLLER):
        subject = {"apiGroup": RBAC_GROUP, "kind": "User", "name": each.name}
        name = each.name.replace(":", ".")
        yield {"apiVersion": RBAC, "kind": "ClusterRoleBinding", "metadata": {"name": name},
               "roleRef": role, "subjects": [subject]}  # fmt: skip


OWNER, REPAIR = "example.com/owner", "nodeops.k8s.preferred.jp/operating"
RESERVED = {"key": "example.com/reserved", "operator": "Exists", "effect": "NoSchedule"}
CORDONED = {"key": "node.kubernetes.io/unschedulable", "operator": "Exists", "effect": "NoSchedule"}
LOST = {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute",
        "tolerationSeconds": 300}  # fmt: skip
JOB_OWNER = {"apiVersion": "batch/v1", "kind": "Job", "name": "admitted", "uid": "1",
             "controller": True}  # fmt: skip
TIMER = {**JOB_OWNER, "kind": "CronJob"}
DRIVER = {**JOB_OWNER, "apiVersion": "v1", "kind": "Pod"}


class Write(NamedTuple):
    """A write and, if it is refused, part of the name of the policy that says so. With a path it is
    of what is there: a list of changes (JSON Patch), or the body of a subresource."""

    body: Any
    refused: str = "isolation.teams"
    path: str = ""
    user: User = RESEARCHER


def change(path: str, value: Any, of: str = "", **fields: Any) -> Write:
    """A change of the pod that waits for Kueue."""
    patch = {
        "op": "add" if value else "remove",
        "path": path,
        **({"value": value} if value else {}),
    }
    return Write([patch], path=f"{WAITING}{of}", **fields)


def container(limits: Json | None = None, **fields: Any) -> Json:
    resources = {"resources": {"limits": {k: str(v) for k, v in limits.items()}}} if limits else {}
    return {"name": "main", "image": "registry.example/a:1", **resources, **fields}


def template(limits: Json | None = None, notes: Json | None = None, **spec: Any) -> Json:
    """A pod's template; ``container`` are fields of its container."""
    box = container(limits, **spec.pop("container", {}))
    pool = {"nodeSelector": {POOL_LABEL: "cpu"}} if not limits else {}
    whole = {
        "containers": [box],
        "restartPolicy": "Never",
        **SCHEDULED[bool(limits)],
        **pool,
        **spec,
    }
    return {"metadata": {"annotations": notes or {}}, "spec": whole}


SCHEDULED: dict[bool, Json] = {True: {"schedulerName": "gang-scheduler"}, False: {}}


def pod(owner: Json | None = None, **fields: Any) -> Json:
    made = template(**fields)
    owners = {"ownerReferences": [owner]} if owner else {}
    metadata = {"name": "a", "namespace": "vision", **made["metadata"], **owners}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": made["spec"]}


def of(version: str, kind: str, spec: Json, owner: Json | None = None) -> Json:
    owners = {"ownerReferences": [owner]} if owner else {}
    metadata = {"name": "a", "namespace": "vision", **owners}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}


def job(owner: Json | None = None, **fields: Any) -> Json:
    return of("batch/v1", "Job", {"template": template(**fields)}, owner)


def cron_job(**fields: Any) -> Json:
    spec = {"schedule": "0 0 * * *", "jobTemplate": {"spec": {"template": template(**fields)}}}
    return of("batch/v1", "CronJob", spec)


def apps(kind: str, **fields: Any) -> Json:
    made = template(**fields, restartPolicy="Always")
    made["metadata"]["labels"] = {"app": "a"}
    service = {"serviceName": "a"} if kind == "StatefulSet" else {}
    selector = {"matchLabels": {"app": "a"}}
    return of("apps/v1", kind, {"selector": selector, "template": made, **service})


def job_set(**fields: Any) -> Json:
    jobs = [{"name": "w", "template": {"spec": {"template": template(**fields)}}}]
    return of("jobset.x-k8s.io/v1alpha2", "JobSet", {"replicatedJobs": jobs})


def values(kind: str, **data: str) -> Json:
    metadata = {"name": "a", "namespace": "vision"}
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata, "data": data}


def variable(value: str = "all", name: str = "NVIDIA_VISIBLE_DEVICES") -> Json:
    return {"container": {"env": [{"name": name, "value": value}]}}


def secret(name: str) -> Json:
    key = {"secretKeyRef": {"name": "a", "key": "a"}}
    return {"container": {"env": [{"name": name, "valueFrom": key}]}}


def mount(path: str) -> Json:
    volumes = [{"name": "v", "emptyDir": {}}]
    return {"container": {"volumeMounts": [{"name": "v", "mountPath": path}]}, "volumes": volumes}


OLD = [job(**variable()), apps("Deployment", **variable()),
       values("ConfigMap", NVIDIA_VISIBLE_DEVICES="all"),
       pod(**variable(), schedulingGates=[GATE])]  # fmt: skip
"""What was there before the policies."""
OLD_JOB, OLD_DEPLOYMENT, OLD_VALUES, OLD_POD = (
    f"/{each}/namespaces/vision/{kind}/old"
    for each, kind in (("apis/batch/v1", "jobs"), ("apis/apps/v1", "deployments"),
                       ("api/v1", "configmaps"), ("api/v1", "pods"))
)  # fmt: skip
TOKEN = {
    "apiVersion": "v1",
    "kind": "Secret",
    "type": "kubernetes.io/service-account-token",
    "metadata": {
        "name": "a",
        "namespace": "vision",
        "annotations": {"kubernetes.io/service-account.name": "default"},
    },
}
BINDING = {
    "apiVersion": "v1",
    "kind": "Binding",
    "metadata": {"name": "free", "namespace": "vision"},
    "target": {"kind": "Node", "name": "gpu-1"},
}
ALL = {"env": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}]}
DEBUG = {"name": "debug", "image": "registry.example/a:1", "targetContainerName": "main", **ALL}
FIRST = {"name": "first", "image": "registry.example/a:1", **ALL}
WAYS: dict[str, Write] = {
    "all devices by a variable": Write(pod(**variable())),
    "all devices beside one that is asked for": Write(pod(limits={V100: 1}, **variable())),
    "the variable in an init container": Write(pod(initContainers=[FIRST])),
    "the variable from a Secret": Write(pod(**secret("NVIDIA_VISIBLE_DEVICES"))),
    "the variable of another vendor": Write(pod(**variable("0", "AMD_VISIBLE_DEVICES"))),
    "the fabric's cards by a feature": Write(pod(**variable("enabled", "NVIDIA_MOFED"))),
    "a container more in an old Deployment": Write(
        [{"op": "add", "path": "/spec/template/spec/containers/-",
          "value": {**container(), "name": "more", **ALL}}], path=OLD_DEPLOYMENT),
    "another value in an old ConfigMap": Write(
        [{"op": "replace", "path": "/data/NVIDIA_VISIBLE_DEVICES", "value": "0"}],
        "environment.teams", OLD_VALUES),
    "an account's token": Write(TOKEN, "environment.teams"),
    "the variable put together by a prefix": Write(
        pod(container={"envFrom": [{"prefix": "NVIDIA_", "configMapRef": {"name": "a"}}]})
    ),
    "a key that envFrom reads": Write(
        values("ConfigMap", NVIDIA_VISIBLE_DEVICES="all"), "environment.teams"
    ),
    "a secret key that envFrom reads": Write(
        values("Secret", NVIDIA_VISIBLE_DEVICES="YWxs"), "environment.teams"
    ),
    "a container that is added later": change(
        "/spec/ephemeralContainers", [DEBUG], "/ephemeralcontainers"
    ),
    "a mount that chooses devices": Write(pod(**mount("/var/run/nvidia-container-devices/all"))),
    "the mount by a detour": Write(pod(**mount("/run/../run//nvidia-container-devices/all"))),
    "an annotation for CDI": Write(pod(notes={"cdi.k8s.io/a": "nvidia.com/gpu=all"})),
    "an annotation for NVIDIA's CDI": Write(pod(notes={"nvidia.cdi.k8s.io/container.main": "all"})),
    "an annotation for the runtime's plugins": Write(pod(notes={"devices.nri.io/pod": "a"})),
    "an annotation for the runtime": Write(pod(notes={"io.kubernetes.cri-o.Devices": "a"})),
    "the runtime without a request": Write(pod(runtimeClassName="nvidia")),
    "the runtime's other name": Write(pod(runtimeClassName="nvidia-legacy")),
    "the runtime with a request of none": Write(pod(limits={V100: 0}, runtimeClassName="nvidia")),
    "every taint": Write(pod(tolerations=[{"operator": "Exists"}])),
    "every taint of a Job": Write(job(tolerations=[{"operator": "Exists"}])),
    "a cordoned node": Write(pod(tolerations=[CORDONED])),
    "a node under repair": Write(
        pod(tolerations=[{"key": REPAIR, "operator": "Exists"}])
    ),
    "a node under repair, by a limit of none": Write(
        pod(limits={REPAIR: 0}, tolerations=[{"key": REPAIR, "operator": "Exists"}])
    ),
    "a node under repair, by a limit": Write(
        pod(limits={REPAIR: 1}, tolerations=[{"key": REPAIR, "operator": "Exists"}])
    ),
    "a taint of a resource that is not asked for": Write(
        pod(limits={V100: 0}, tolerations=[{**RESERVED, "key": V100}])
    ),
    "another team's pool": Write(pod(tolerations=[{"key": OWNER, "value": "speech"}])),
    "every team's pools": Write(pod(tolerations=[{"key": OWNER, "operator": "Exists"}])),
    "a lost node for ever": Write(
        pod(tolerations=[{"key": "node.kubernetes.io/not-ready", "operator": "Exists"}])
    ),
    "a taint that is tolerated later": change("/spec/tolerations/-", CORDONED),
    "a node by name": Write(pod(nodeName="gpu-1"), r"isolation\.teams|schedulers"),
    "a node by name in a Deployment": Write(apps("Deployment", nodeName="gpu-1")),
    "a node's binding": Write(BINDING, "bindings.teams", f"{FREE}/binding"),
    "a node's binding in the old way": Write(BINDING, "bindings.teams"),
    "a node's binding by the team's account": Write(
        BINDING, "bindings.teams", f"{FREE}/binding", user=OWN_ACCOUNT
    ),
    "a pod as if an admitted job had made it": Write(pod(owner=JOB_OWNER)),
    "a pod with devices as if a pod had made it": Write(pod(owner=DRIVER, limits={V100: 1})),
    "a Job with devices as if a pod had made it": Write(job(owner=DRIVER, limits={V100: 1})),
    "a pod with a claim as if a pod had made it": Write(
        pod(owner=DRIVER, resourceClaims=[{"name": "a", "resourceClaimName": "a"}])
    ),
    "a pod as if a CronJob had made it": Write(pod(owner=TIMER)),
    "a Job as if an admitted JobSet had made it": Write(job(owner={**JOB_OWNER, "kind": "JobSet"})),
    "an owner that is written later": change("/metadata/ownerReferences", [JOB_OWNER]),
    "a queue's gate that is taken away": change("/spec/schedulingGates", None),
    "the device plugin's resource": Write(pod(limits={GPU: 1}), "accelerators-by-model"),
    "a claim of a driver's class": Write(
        of("resource.k8s.io/v1", "ResourceClaim", {"devices": {"requests": [
            {"name": "a", "exactly": {"deviceClassName": "gpu.nvidia.com"}}]}}),
        "accelerator-claims",
    ),
    "a scheduler that holds nobody to limits": Write(
        pod(limits={V100: 1}, schedulerName="default-scheduler"), "schedulers"
    ),
    "a path of the host": Write(
        pod(volumes=[{"name": "d", "hostPath": {"path": "/dev"}}]), "pods.teams"
    ),
    "all rights on the host": Write(
        pod(container={"securityContext": {"privileged": True}}), "pods.teams"
    ),
}  # fmt: skip
FIRST_REFUSED = (
    "all devices by a variable", "a node's binding", "a key that envFrom reads",
    "the device plugin's resource", "a claim of a driver's class",
    "a scheduler that holds nobody to limits", "a path of the host",
)  # fmt: skip
"""One way for each policy."""
TEMPLATES = {
    "Job": job,
    "CronJob": cron_job,
    "Deployment": lambda **f: apps("Deployment", **f),
    "StatefulSet": lambda **f: apps("StatefulSet", **f),
    "ReplicaSet": lambda **f: apps("ReplicaSet", **f),
    "DaemonSet": lambda **f: apps("DaemonSet", **f),
    "JobSet": job_set,
}
WAYS |= {f"all devices by a {kind}": Write(make(**variable())) for kind, make in TEMPLATES.items()}

DAEMONS = [
    {"key": f"node.kubernetes.io/{each}", "operator": "Exists", "effect": effect}
    for each, effect in (("unschedulable", "NoSchedule"), ("disk-pressure", "NoSchedule"),
                         ("not-ready", "NoExecute"), ("pid-pressure", "NoSchedule"))
]  # fmt: skip
HONEST: dict[str, Write] = {
    "a pod": Write(pod()),
    "a pod of the team's account": Write(pod(), user=OWN_ACCOUNT),
    "one device": Write(pod(limits={V100: 1})),
    "one device, with its runtime": Write(pod(limits={V100: 1}, runtimeClassName="nvidia")),
    "no device, said so": Write(pod(**variable("void"))),
    "what hides devices from a program": Write(pod(**variable("0", "CUDA_VISIBLE_DEVICES"))),
    "variables with a prefix": Write(
        pod(container={"envFrom": [{"prefix": "APP_", "configMapRef": {"name": "a"}}]})
    ),
    "settings": Write(values("ConfigMap", NVIDIA_DRIVER_CAPABILITIES="compute")),
    "a folder": Write(pod(**mount("/var/run/results"))),
    "annotations of others": Write(pod(notes={"prometheus.io/scrape": "true"})),
    "the taint of a pool of the team": Write(job(limits={V100: 1}, tolerations=[RESERVED])),
    "what DefaultTolerationSeconds adds": Write(pod(tolerations=[LOST])),
    "what ExtendedResourceToleration adds": Write(
        pod(limits={V100: 1}, tolerations=[{**RESERVED, "key": V100}])
    ),
    "a DaemonSet's pod": Write(
        pod(owner={**JOB_OWNER, "kind": "DaemonSet"}, tolerations=DAEMONS), user=CONTROLLER
    ),
    "a pool of the team's that shares its key": Write(
        pod(tolerations=[{"key": OWNER, "operator": "Equal", "value": "vision"}])
    ),
    "a CronJob's Job, started by hand": Write(job(owner=TIMER, limits={V100: 1})),
    "an old Job that Kueue suspends": Write(
        [{"op": "add", "path": "/spec/suspend", "value": True}], path=OLD_JOB, user=KUEUE
    ),
    "an old Deployment that is scaled": Write(
        [{"op": "replace", "path": "/spec/replicas", "value": 2}], path=OLD_DEPLOYMENT
    ),
    "an old pod that Kueue lets start": Write(
        [{"op": "remove", "path": "/spec/schedulingGates"}], path=OLD_POD, user=KUEUE
    ),
    "a key more in an old ConfigMap": Write(
        [{"op": "add", "path": "/data/more", "value": "a"}], path=OLD_VALUES
    ),
    "a password": Write(values("Secret", PASSWORD="YWxs")),
    "a Job's pod": Write(pod(owner=JOB_OWNER, limits={V100: 1}), user=JOBS),
    "a pod of a driver in the team's namespace": Write(pod(owner=DRIVER), user=OWN_ACCOUNT),
    "a job that Kueue admits": Write(job(limits={V100: 1}, tolerations=[RESERVED]), user=KUEUE),
    "a gate that Kueue takes away": change("/spec/schedulingGates", None, user=KUEUE),
    "a pod that its controller adopts": change(
        "/metadata/ownerReferences", [JOB_OWNER], user=COLLECTOR
    ),
    "a taint of the team's, tolerated later": change("/spec/tolerations/-", RESERVED),
    "a scheduler's binding": Write(BINDING, path=f"{FREE}/binding", user=SCHEDULER),
    "a debugger": change(
        "/spec/ephemeralContainers", [{k: v for k, v in DEBUG.items() if k != "env"}],
        "/ephemeralcontainers",
    ),
}  # fmt: skip
HONEST |= {f"a {kind}": Write(make()) for kind, make in TEMPLATES.items()}


def attempt(client: As, write: Write) -> str:
    """The refusal of a write; empty where it passes."""
    body: Any = deepcopy(write.body)
    if not isinstance(body, dict):
        return client.said(write.user, "PATCH", write.path, body, "application/json-patch+json")
    group = "api" if body["apiVersion"] == "v1" else "apis"
    where = f"/{group}/{body['apiVersion']}/namespaces/vision/{body['kind'].lower()}s"
    return client.said(write.user, "POST", write.path or where, body)


def said_by(client: As, write: Write) -> bool:
    """True once the policy that a way names refuses it."""
    return bool(re.search(write.refused, attempt(client, write)))


@pytest.mark.parametrize("name", WAYS)
def test_no_way_leads_past_the_limits(client: As, name: str) -> None:
    assert re.search(WAYS[name].refused, attempt(client, WAYS[name]))


@pytest.mark.parametrize("name", HONEST)
def test_honest_work_goes_on(client: As, name: str) -> None:
    assert attempt(client, HONEST[name]) == ""


def test_the_sites_own_examples_go_on(client: As) -> None:
    """What the ConfigMaps of tokyo-1 give to vision, as kubectl would apply it."""
    texts = [text for each in examples(tokyo()) for text in each.body["data"].values()
             if each.body["metadata"]["namespace"] == "vision"]  # fmt: skip
    made = [body for text in texts for body in yaml.safe_load_all(text)]
    jobs = [body for body in made if body["kind"] in ("Job", "JobSet")]
    assert {each["kind"] for each in jobs} == {"Job", "JobSet"}
    for each in jobs:
        assert attempt(client, Write(each)) == ""


def test_an_administrator_is_held_to_it_too(client: As) -> None:
    """Who may do everything everywhere is refused what only hurts."""
    assert "isolation.teams" in attempt(client, Write(pod(**variable()), user=ADMIN))
    assert attempt(client, Write(BINDING, path=f"{FREE}/binding", user=ADMIN)) == ""
