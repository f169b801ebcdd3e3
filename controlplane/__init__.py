"""An API server of one's own for trying and testing: real etcd, real kube-apiserver, loopback only.

Owns the two processes, their secrets, a kubeconfig and a small client. It runs no controllers:
objects are stored and checked, and nothing acts on them.
"""

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
