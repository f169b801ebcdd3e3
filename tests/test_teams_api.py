"""What a real API server makes of a site's teams: their objects, and what policies let in."""

import time
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest

from components.manifest import Json
from components.teams.objects import objects
from controlplane import ApiError, Client
from controlplane.crds import install_crds
from controlplane.server import Binaries, running
from schemas.objects import load_crds
from schemas.site import Site
from tests.scheduling_site import ACCELERATORS
from tests.teams_site import KUEUE, LANGUAGE, VISION, A, V, site
from tests.test_teams import with_rdma
from tools.toolchain import locate

pytestmark = pytest.mark.controlplane
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


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A server of its own: these policies judge every namespace of a team."""
    tools = locate(["controlplane"])
    binaries = Binaries(tools["etcd"].path, tools["kube-apiserver"].path)
    with running(tmp_path_factory.mktemp("teams"), binaries) as plane, plane.client() as found:
        crds = [crd for crd in load_crds() if crd["spec"]["group"] in GROUPS]
        install_crds(found, [*crds, WORKLOADS])
        enforced = {"pod-security.kubernetes.io/enforce": "baseline"}
        metadata = {"name": BASELINE, "labels": enforced}
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
    deadline = time.monotonic() + 30
    while not all(refused(client, each) for each in faults):
        assert time.monotonic() < deadline
        time.sleep(0.1)


def refused(client: Client, body: Json) -> str:
    """What the server says where it does not take a new object; empty where it does."""
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


def secured(**context: Any) -> Json:
    """Fields of a pod whose container has such a security context."""
    return {"container": {"securityContext": context}}


def added(*capabilities: str) -> Json:
    return secured(capabilities={"add": list(capabilities)})


SITES: dict[str, Site] = {
    "throttler": site(),
    "kueue": site(KUEUE),
    "everything": SITE,
}


@pytest.mark.parametrize("name", SITES)
def test_every_object_passes_a_strict_dry_run(client: Client, name: str) -> None:
    made = [each for each in objects(SITES[name]) if each.kind != "Namespace"]
    assert made
    for each in made:
        client.apply(each.body, dry_run=True)


def test_a_strict_dry_run_finds_a_misspelt_field(client: Client) -> None:
    (made,) = [m for m in objects(site()) if m.name == "ClusterThrottle/vision/gang-scheduler"]
    selector = made.body["spec"]["selector"]
    wrong = {**made.body["spec"], "selector": {"selecterTerms": selector["selectorTerms"]}}
    with pytest.raises(ApiError, match="selecterTerms"):
        client.apply({**made.body, "spec": wrong}, dry_run=True)


# --- pods ---

PROBE = {"httpGet": {"port": 80, "host": "10.0.0.1"}}
SOCKET = {"tcpSocket": {"port": 80, "host": "10.0.0.1"}}
INIT = {"name": "first", "image": "a"}
HARMLESS: dict[str, Json] = {
    "a plain pod": {},
    "capabilities that runtimes give": added("CHOWN", "SYS_CHROOT", "NET_BIND_SERVICE"),
    "dropped capabilities": secured(capabilities={"drop": ["ALL"]}),
    "shared memory": {"volumes": [{"name": "shm", "emptyDir": {"medium": "Memory"}}]},
    "a port": {"container": {"ports": [{"containerPort": 80}]}},
    "a profile of the runtime": secured(
        seccompProfile={"type": "RuntimeDefault"}, appArmorProfile={"type": "RuntimeDefault"}
    ),
    "a profile of the host": secured(
        seccompProfile={"type": "Localhost", "localhostProfile": "a"},
        appArmorProfile={"type": "Localhost", "localhostProfile": "a"},
    ),
    "a container's type": secured(seLinuxOptions={"type": "container_t", "level": "s0:c1"}),
    "a safe sysctl": {
        "securityContext": {"sysctls": [{"name": "net.ipv4.tcp_rmem", "value": "1"}]}
    },
    "a probe": {"container": {"livenessProbe": {"httpGet": {"port": 80}}}},
    "an annotation": {"annotations": {"example.com/a": "b"}},
    "escalation, which the baseline lets be": secured(allowPrivilegeEscalation=True),
}
FAULTS: dict[str, Json] = {
    "the host's processes": {"hostPID": True},
    "the host's memory": {"hostIPC": True},
    "all rights": secured(privileged=True),
    "all rights, at first": {
        "initContainers": [{**INIT, "securityContext": {"privileged": True}}]
    },
    "a capability": added("SYS_ADMIN"),
    "a capability beside a good one": added("CHOWN", "NET_RAW"),
    "every capability": added("ALL"),
    "a path of the host": {"volumes": [{"name": "a", "hostPath": {"path": "/"}}]},
    "a port of the host": {"container": {"ports": [{"containerPort": 80, "hostPort": 80}]}},
    "another proc": {**secured(procMount="Unmasked"), "hostUsers": False},
    "no seccomp": secured(seccompProfile={"type": "Unconfined"}),
    "no seccomp for the pod": {"securityContext": {"seccompProfile": {"type": "Unconfined"}}},
    "no AppArmor": secured(appArmorProfile={"type": "Unconfined"}),
    "no AppArmor by annotation": {
        "annotations": {"container.apparmor.security.beta.kubernetes.io/main": "unconfined"}
    },
    "another SELinux type": secured(seLinuxOptions={"type": "spc_t"}),
    "another SELinux type for the pod": {"securityContext": {"seLinuxOptions": {"type": "spc_t"}}},
    "an SELinux user": secured(seLinuxOptions={"user": "system_u"}),
    "an SELinux role": secured(seLinuxOptions={"role": "sysadm_r"}),
    "an unsafe sysctl": {"securityContext": {"sysctls": [{"name": "kernel.sem", "value": "1"}]}},
    "a process of the host": {
        "hostNetwork": True,
        "securityContext": {"windowsOptions": {"hostProcess": True}},
    },
    "a probe of another host": {"container": {"livenessProbe": PROBE}},
    "a start probe of another host": {"container": {"startupProbe": SOCKET}},
    "a readiness probe of another host": {"container": {"readinessProbe": SOCKET}},
    "a hook that calls another host": {"container": {"lifecycle": {"preStop": PROBE}}},
    "a first hook that calls another host": {"container": {"lifecycle": {"postStart": PROBE}}},
}
SAME = {**{name: (case, True) for name, case in HARMLESS.items()}}
SAME |= {name: (case, False) for name, case in FAULTS.items()}


@pytest.mark.parametrize("name", SAME)
def test_the_policy_says_what_the_baseline_says(client: Client, name: str) -> None:
    """Pod Security itself is asked, in a namespace that is no team's."""
    case, good = SAME[name]
    answers = {
        namespace: refused(client, pod(namespace, **case))
        for namespace in (BASELINE, "vision", "language", "robots")
    }
    assert {space: not said for space, said in answers.items()} == dict.fromkeys(answers, good)
    if not good:
        # Of vision only the policy refuses: there Pod Security lets all pass.
        assert "PodSecurity" in answers[BASELINE]
        assert "pods.teams.foresite.dev" in answers["vision"]


ON_HOST: Json = {"hostNetwork": True, "container": {"ports": [{"containerPort": 80}]}}


@pytest.mark.parametrize(
    ("case", "taken"),
    [
        (added("IPC_LOCK"), {"vision", "language"}),
        ({"initContainers": [{**INIT, **added("IPC_LOCK")["container"]}]}, {"vision", "language"}),
        (added("IPC_LOCK", "SYS_PTRACE"), set()),
        # With the host's network a port is the host's, by the API server's own default.
        (ON_HOST, {"language"}),
        ({**ON_HOST, **added("IPC_LOCK")}, {"language"}),
        ({**ON_HOST, "hostPID": True}, set()),
    ],
)
def test_rdma_gets_what_it_needs_and_no_more(client: Client, case: Json, taken: set[str]) -> None:
    spaces = (BASELINE, "vision", "language", "robots")
    assert {each for each in spaces if not refused(client, pod(each, **case))} == taken


def test_a_container_that_is_added_later_is_judged_too(client: Client) -> None:
    there = pod("vision")
    there["metadata"]["name"] = "runs"
    client.create(there)
    look(client)
    with pytest.raises(ApiError, match=r"pods\.teams\.foresite\.dev"):
        look(client, privileged=True)


def look(client: Client, **context: Any) -> None:
    """Add a container to the pod, in a dry run."""
    path = "/api/v1/namespaces/vision/pods/runs/ephemeralcontainers?dryRun=All"
    one = {"name": "look", "image": "a", "securityContext": context}
    strategic = "application/strategic-merge-patch+json"
    client.request("PATCH", path, {"spec": {"ephemeralContainers": [one]}}, strategic)


# --- jobs in queues ---


def workload(tier: str | None, namespace: str) -> Json:
    """A job as Kueue sees it."""
    metadata = {"name": "a", "namespace": namespace}
    spec = {"priorityClassRef": {"name": tier}, "priority": 1} if tier else {}
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload", "metadata": metadata,
        "spec": spec,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("tier", "good"),
    [(None, True), ("project", True), ("normal", True), ("low", False), ("nor", False)],
)
def test_a_job_goes_first_only_by_a_tier_of_its_team(
    client: Client, tier: str | None, good: bool
) -> None:
    said = refused(client, workload(tier, "vision"))
    assert not said if good else "tier of priority that is not the team's" in said


def test_a_job_that_runs_is_written_even_if_its_team_lost_the_tier(client: Client) -> None:
    client.create(workload("project", "vision-dev"))
    lost = {"metadata": {"annotations": {"foresite.dev/priorities": "normal"}}}
    merge = "application/merge-patch+json"
    client.request("PATCH", "/api/v1/namespaces/vision-dev", lost, merge)
    other = workload("project", "vision-dev")
    other["metadata"]["name"] = "b"
    deadline = time.monotonic() + 30
    while not refused(client, other):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    path = "/apis/kueue.x-k8s.io/v1beta2/namespaces/vision-dev/workloads/a"
    client.request("PATCH", path, {"metadata": {"labels": {"a": "b"}}}, merge)
    with pytest.raises(ApiError, match="not the team's"):
        client.request("PATCH", path, {"spec": {"priorityClassRef": {"name": "low"}}}, merge)


def pod_group(queue: str | None, namespace: str = "robots") -> Json:
    """A job as Volcano sees it."""
    metadata = {"name": "a", "namespace": namespace}
    spec = {"minMember": 1, **({"queue": queue} if queue else {})}
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup", "metadata": metadata,
        "spec": spec,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("queue", "good"), [("robots", True), ("vision", False), ("default", False), (None, False)]
)
def test_a_job_waits_in_its_teams_queue(client: Client, queue: str | None, good: bool) -> None:
    """Volcano writes a namespace's queue into a job that names none before this is judged."""
    said = refused(client, pod_group(queue))
    assert not said if good else "queue that is not the team's" in said


# --- what cannot change ---


@pytest.mark.parametrize(
    ("kind", "name", "namespace", "change"),
    [
        ("PriorityClass", "project", None, {"value": 1001}),
        ("PriorityClass", "project", None, {"preemptionPolicy": "Never"}),
        # A second default, while another one still is.
        ("PriorityClass", "project", None, {"globalDefault": True}),
        ("LocalQueue", "default", "vision", {"spec": {"clusterQueue": "language"}}),
    ],
)
def test_the_server_refuses_what_the_rules_say_it_refuses(
    client: Client, kind: str, name: str, namespace: str | None, change: Json
) -> None:
    (made,) = [
        m.body
        for m in objects(SITE)
        if m.kind == kind and m.key[3] == name and m.key[2] == (namespace or "")
    ]
    with pytest.raises(ApiError) as error:
        client.apply({**made, **change}, dry_run=True)
    assert error.value.status in (403, 422)


def test_limits_can_change(client: Client) -> None:
    other = [{**VISION, "accelerators": {V: 1}, "off_peak": {}}, {**LANGUAGE, "accelerators": {}}]
    changed = with_rdma(site(KUEUE, teams=other, off_peak=None), "v100")
    limits = ("ClusterThrottle", "ClusterQueue", "Cohort", "ResourceFlavor")
    made = [each for each in objects(changed) if each.kind in limits]
    assert {each.kind for each in made} == set(limits)
    for each in made:
        client.apply(each.body, dry_run=True)
