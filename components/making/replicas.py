"""Programs that run as replicas on the control plane, of which one leads."""

from components.making.manifest import Json, documents, fill
from components.making.pod_security import POD_SECURITY
from components.making.taints import CONTROL_PLANE_LABEL, tolerations
from schemas.facts.site import Site
from schemas.kubernetes.node_labels import HOSTNAME_LABEL

_DEPLOYMENT, _POD = documents(__file__)


def deployment(metadata: Json, selector: dict[str, str], replicas: int, template: Json) -> Json:
    """A Deployment that replaces one replica at a time: no host has room for one more."""
    parts = {"selector": selector, "replicas": replicas, "template": template}
    found: Json = fill(_DEPLOYMENT, {"metadata": metadata, **parts})
    return found


def pod(site: Site, account: str, selector: dict[str, str], **more: object) -> Json:
    """The pods of such programs: on control planes, each on its own host; ``more``: fields."""
    found = {"account": account, "more": more, "selector": selector, "host": HOSTNAME_LABEL}
    found |= {"nodes": {CONTROL_PLANE_LABEL: ""}, "security": POD_SECURITY}
    made: Json = fill(_POD, {**found, "tolerations": tolerations([site.control_plane])})
    return made
