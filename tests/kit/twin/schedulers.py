"""The schedulers of the twin, with hand-written configurations and rights.

The gang scheduler and kube-throttler run with tokens of their own service accounts.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from controlplane import Manifest
from schemas.model.scheduling import Gang
from tests.kit.twin.cluster import Scheduler

DEFAULT = "default-scheduler"
GANG = "gang-scheduler"
THROTTLED = "throttled-scheduler"
"""Name that pods write as schedulerName."""

BINARIES = {GANG: "kube-scheduler-gang", THROTTLED: "kube-throttler"}
"""The given executable (tools/toolchain/installed.py) of each scheduler that cannot be built."""

SETTINGS = Gang(
    annotation_prefix="gang-scheduling.preferred.jp/gang", timeout_seconds=30, jitter_seconds=1
)
NAMESPACE = "scheduling"
THROTTLER = "kube-throttler"
"""Name that throttles write as throttlerName."""
_PPROF_PORT = 6060
"""Where the gang scheduler would serve profiles on every interface (cmd/kube-scheduler)."""
_THROTTLES = "schedule.k8s.everpeace.github.com"


def gang_scheduler(binary: Path) -> Scheduler:
    """The scheduler with the gang plugin."""
    arguments = {
        "gangAnnotationPrefix": SETTINGS.annotation_prefix,
        "schedulerName": GANG,
        "gangScheduleDefaultTimeoutSecond": SETTINGS.timeout_seconds,
        "gangScheduleTimeoutSecondLimit": SETTINGS.timeout_limit_seconds,
        "gangScheduleTimeoutJitterSecond": SETTINGS.jitter_seconds,
    }
    return Scheduler(
        GANG,
        binary,
        _config(GANG, "gang", arguments),
        account=(NAMESPACE, GANG),
        gated=True,
        held_ports=(_PPROF_PORT,),
    )


def throttled_scheduler(binary: Path) -> Scheduler:
    """The scheduler with kube-throttler, of Kubernetes 1.32."""
    arguments = {
        "name": THROTTLER,
        "targetSchedulerName": THROTTLED,
        "groupNameAnnotation": f"{SETTINGS.annotation_prefix}-name",
    }
    return Scheduler(
        THROTTLED,
        binary,
        _config(THROTTLED, "kube-throttler", arguments),
        command=("kube-scheduler",),
        account=(NAMESPACE, THROTTLED),
        plugin_args={"kube-throttler": {"kubeconfig": "{kubeconfig}"}},
    )


MAKERS = {GANG: gang_scheduler, THROTTLED: throttled_scheduler}


def rights() -> Iterator[Manifest]:
    """The service accounts of both, each with what its scheduler needs."""
    yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    pods = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch", "patch"]}
    yield from _account(GANG, [pods])
    read = ["get", "list", "watch"]
    kinds = ["throttles", "clusterthrottles"]
    yield from _account(
        THROTTLED,
        [
            {"apiGroups": [""], "resources": ["pods", "namespaces"], "verbs": read},
            {"apiGroups": [_THROTTLES], "resources": kinds, "verbs": read},
            {
                "apiGroups": [_THROTTLES],
                "resources": [f"{kind}/status" for kind in kinds],
                "verbs": ["update"],
            },
        ],
    )


def _account(name: str, rules: list[dict[str, Any]]) -> Iterator[Manifest]:
    """A service account with the rights of a scheduler, and those of ``rules``."""
    yield {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": name, "namespace": NAMESPACE},
    }
    group = "rbac.authorization.k8s.io"
    api = f"{group}/v1"
    subjects = [{"kind": "ServiceAccount", "name": name, "namespace": NAMESPACE}]
    yield {"apiVersion": api, "kind": "ClusterRole", "metadata": {"name": name}, "rules": rules}
    for role in ("system:kube-scheduler", "system:volume-scheduler", name):
        yield {
            "apiVersion": api,
            "kind": "ClusterRoleBinding",
            "metadata": {"name": f"{name}-{role.replace(':', '-')}"},
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": role},
            "subjects": subjects,
        }
    # As in a cluster: how the API server says who is asking.
    reader = "extension-apiserver-authentication-reader"
    yield {
        "apiVersion": api,
        "kind": "RoleBinding",
        "metadata": {"name": name, "namespace": "kube-system"},
        "roleRef": {"apiGroup": group, "kind": "Role", "name": reader},
        "subjects": subjects,
    }


def _config(scheduler: str, plugin: str, arguments: dict[str, Any]) -> Manifest:
    profile = {
        "schedulerName": scheduler,
        "plugins": {"multiPoint": {"enabled": [{"name": plugin}]}},
        "pluginConfig": [{"name": plugin, "args": arguments}],
    }
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [profile],
    }
