"""The domains of resources that Kubernetes keeps for itself. Source: Kubernetes 1.34.3,
pkg/apis/core/v1/helper/helpers.go (IsExtendedResourceName), which the API server asks of each
resource of a pod and a kubelet of each plugin's."""

_QUOTAS = "requests."


def reserved_domain_reason(domain: str) -> str | None:
    """Why a domain cannot be that of a site's resources, if so. Kubernetes looks for
    ``kubernetes.io/`` anywhere, so ``mykubernetes.io`` is its own too; k8s.io is its project's."""
    if domain.endswith("kubernetes.io") or f".{domain}".endswith(".k8s.io"):
        return f"resources of the domain {domain} are Kubernetes' own"
    if domain.startswith(_QUOTAS):
        return f"{domain} begins with {_QUOTAS}, as quotas write a resource's requests"
    return None
