"""Programs that run as replicas on the control plane, of which one leads."""

from components.making.manifest import Json, filled
from components.making.pod_security import POD_SECURITY
from components.making.taints import CONTROL_PLANE_LABEL, tolerations
from schemas.facts.site import Site
from schemas.kubernetes.node_labels import HOSTNAME_LABEL


def deployment(metadata: Json, selector: dict[str, str], replicas: int, template: Json) -> Json:
    """A Deployment that replaces one replica at a time: no host has room for one more."""
    parts = {"selector": selector, "replicas": replicas, "template": template}
    (found,) = filled(__file__, metadata=metadata, **parts)
    return found


def pod(site: Site, account: str, selector: dict[str, str], **more: object) -> Json:
    """The pods of such programs: on control planes, each on its own host; ``more``: fields."""
    apart = {"labelSelector": {"matchLabels": selector}, "topologyKey": HOSTNAME_LABEL}
    return {
        "serviceAccountName": account,
        "automountServiceAccountToken": True,
        **more,
        "priorityClassName": "system-cluster-critical",
        "nodeSelector": {CONTROL_PLANE_LABEL: ""},
        "tolerations": tolerations([site.control_plane]),
        "affinity": {
            "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [apart]}
        },
        "securityContext": POD_SECURITY,
    }
