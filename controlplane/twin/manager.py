"""The controller manager: which controllers a cluster without machines has use for."""

from collections.abc import Mapping
from pathlib import Path

from controlplane.flags import gate_list
from controlplane.twin.process import OPEN_PATHS, Program, serving

NAME = "kube-controller-manager"

CONTROLLERS = (
    "clusterrole-aggregation-controller",
    "cronjob-controller",
    "daemonset-controller",
    "deployment-controller",
    "disruption-controller",
    "endpointslice-controller",
    "garbage-collector-controller",
    "job-controller",
    "namespace-controller",
    # Admission gives every new node the taint of one that is not ready; this takes it off.
    "node-lifecycle-controller",
    "pod-garbage-collector-controller",
    "replicaset-controller",
    "resourceclaim-controller",
    "resourcequota-controller",
    "serviceaccount-controller",
    "statefulset-controller",
    "taint-eviction-controller",
    "ttl-after-finished-controller",
)
"""Names as in Kubernetes 1.34 (cmd/kube-controller-manager/names/controller_names.go)."""

GRACE_SECONDS = 300
"""Seconds without a heartbeat after which a node counts as unreachable. Kubernetes' 50 s are too
short for hundreds of leases on a machine whose processors are busy."""


def controller_manager(
    binary: Path, directory: Path, kubeconfig: Path, gates: Mapping[str, bool]
) -> Program:
    """The controller manager of the control plane in ``directory``."""
    key = f"--service-account-private-key-file={directory / 'service-accounts.key'}"

    def command(port: int) -> list[str | Path]:
        return [
            binary,
            key,
            f"--kubeconfig={kubeconfig}",
            f"--controllers={','.join(CONTROLLERS)}",
            "--leader-elect=false",
            "--use-service-account-credentials=false",
            "--bind-address=127.0.0.1",
            f"--secure-port={port}",
            f"--node-monitor-grace-period={GRACE_SECONDS}s",
            "--kube-api-qps=500",
            "--kube-api-burst=1000",
            "--profiling=false",
            OPEN_PATHS,
            *serving(directory),
            *([f"--feature-gates={','.join(gate_list(gates))}"] if gates else []),
        ]

    return Program(NAME, key, command, health="/healthz")
