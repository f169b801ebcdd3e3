"""What the Pod Security Standard "restricted" asks of a pod and its containers, written once."""

from components.making.manifest import Json
from schemas.kubernetes.pod_security import MODES, PREFIX, PROFILES

NOBODY = 65532
"""A user that no image has and no host gives to anybody: "nonroot" of distroless images."""
RUNTIME_PROFILE: Json = {"type": PROFILES[0]}
"""The container runtime's own seccomp profile."""
SECURITY: Json = {
    "allowPrivilegeEscalation": False,
    "readOnlyRootFilesystem": True,
    "capabilities": {"drop": ["ALL"]},
}
"""The securityContext of a container."""


def pod_security(user: int = NOBODY) -> Json:
    """The securityContext of a pod that runs as this user and its group; with SECURITY for each
    container as strict as the standard."""
    as_user = {"runAsNonRoot": True, "runAsUser": user, "runAsGroup": user}
    return {**as_user, "seccompProfile": RUNTIME_PROFILE}


POD_SECURITY = pod_security()
"""The securityContext of a pod whose user does not matter."""


def pod_security_labels(level: str) -> dict[str, str]:
    """The labels of a namespace in which the API server holds pods to a level of the standards."""
    return {f"{PREFIX}{mode}": level for mode in MODES}
