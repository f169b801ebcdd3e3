"""The limits of pods of teams: the policy against Pod Security itself, on a real API server."""

from typing import Any

import pytest

from components.making.manifest import Json
from controlplane import ApiError, Client
from tests.kit.teams_server import ALONE, BASELINE, pod, refused

pytestmark = pytest.mark.controlplane


SPACES = (BASELINE, ALONE, "vision", "language", "robots")


def secured(**context: Any) -> Json:
    """Fields of a pod whose container has such a security context."""
    return {"container": {"securityContext": context}}


def added(*capabilities: str) -> Json:
    return secured(capabilities={"add": list(capabilities)})


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
    "all rights, at first": {"initContainers": [{**INIT, "securityContext": {"privileged": True}}]},
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
    answers = {namespace: refused(client, pod(namespace, **case)) for namespace in SPACES}
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
    assert {each for each in SPACES if not refused(client, pod(each, **case))} == taken


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
