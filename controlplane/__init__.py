"""An API server of one's own for trying and testing, on the loopback alone: real etcd, real
kube-apiserver, their secrets, a kubeconfig and a small client; no controllers."""

from controlplane.access import Access
from controlplane.client import Client, Manifest
from controlplane.crds import install_crds
from controlplane.errors import ApiError, ControlPlaneError
from controlplane.flags import Options
from controlplane.server import Binaries, ControlPlane, Status, running

__all__ = [
    "Access", "ApiError", "Binaries", "Client", "ControlPlane", "ControlPlaneError", "Manifest",
    "Options", "Status", "install_crds", "running",
]  # fmt: skip
