"""A program of remediation that is a script: a Deployment of one pod on the control plane."""

from collections.abc import Callable
from typing import NamedTuple

from components.making.manifest import CONFIGURATION_ANNOTATION, Json, Manifest, Target, labels
from components.making.pod_security import POD_SECURITY, SECURITY
from components.making.taints import CONTROL_PLANE_LABEL, tolerations
from components.remediation.names import COMPONENT, own, selector_labels, tools_image
from components.remediation.reboot import SCRIPTS
from schemas.facts.site import Site

INTERVAL_SECONDS = 20
"""Between two rounds: the checks of a node take longer to be sure."""
SILENT_SECONDS = 300
"""Without a new request for so long the program hangs: each gives up after 30 seconds."""


class Scripted(NamedTuple):
    """A program by its ``name``. ``files``: the names of its texts, the one that is started first;
    ``not_older``: a probe that fails while what the program noted in a file is too long ago;
    ``config``: the ConfigMap that it reads in each round, if there is one."""

    name: str
    files: tuple[str, ...]
    environment: dict[str, str]
    memory: str
    not_older: Callable[[str], Json]
    config: str = ""

    def texts(self) -> dict[str, str]:
        """Its files, by name."""
        return {name: (SCRIPTS / name).read_text("utf-8") for name in self.files}

    def config_map(self, site: Site) -> Manifest:
        """The ConfigMap with its files."""
        kind, metadata = "ConfigMap", own(site, self.name)
        body = {"apiVersion": "v1", "kind": kind, "metadata": metadata, "data": self.texts()}
        return Manifest(f"{kind}/{self.name}", body, target=Target.SITE)

    def deployment(self, site: Site, digest: str) -> Manifest:
        """What runs it, one at a time: a second one would do the same once more. It reads its files
        only once, so a new ``digest`` of them starts it anew."""
        named = {**labels(site.name, COMPONENT), **selector_labels(self.name)}
        body = {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": own(site, self.name),
            "spec": {
                "replicas": 1,
                "selector": {"matchLabels": selector_labels(self.name)},
                "strategy": {"type": "Recreate"},
                "template": {
                    "metadata": {
                        "labels": named,
                        "annotations": {CONFIGURATION_ANNOTATION: digest},
                    },
                    "spec": self._pod(site),
                },
            },
        }
        return Manifest(f"Deployment/{self.name}", body, target=Target.SITE)

    def _pod(self, site: Site) -> Json:
        config = [{"name": "config", "configMap": {"name": self.config}}] if self.config else []
        return {
            "serviceAccountName": self.name,
            "automountServiceAccountToken": True,
            "enableServiceLinks": False,
            "priorityClassName": "system-cluster-critical",
            "nodeSelector": {CONTROL_PLANE_LABEL: ""},
            "tolerations": tolerations([site.control_plane]),
            "securityContext": POD_SECURITY,
            "containers": [self._container(site)],
            "volumes": [
                {"name": "program", "configMap": {"name": self.name}},
                *config,
                {"name": "state", "emptyDir": {"sizeLimit": "64Mi"}},
            ],
        }

    def _container(self, site: Site) -> Json:
        # kubectl keeps what the API server serves in HOME.
        told = {**self.environment, "HOME": "/state"}
        mounted = ["program", *(["config"] if self.config else [])]
        return {
            "name": self.name,
            "image": tools_image(site),
            "command": ["sh", f"/program/{self.files[0]}"],
            "env": [{"name": name, "value": value} for name, value in told.items()],
            "livenessProbe": {
                **self.not_older("alive"),
                "periodSeconds": 60,
                "failureThreshold": 3,
            },
            # Not ready while rounds fail: the Deployment's status tells whoever watches.
            "readinessProbe": {
                **self.not_older("good"),
                "periodSeconds": 30,
                "failureThreshold": 2,
            },
            "resources": {
                "requests": {"cpu": "50m", "memory": "128Mi"},
                "limits": {"memory": self.memory},
            },
            "securityContext": SECURITY,
            "volumeMounts": [
                *({"name": each, "mountPath": f"/{each}", "readOnly": True} for each in mounted),
                {"name": "state", "mountPath": "/state"},
            ],
        }
