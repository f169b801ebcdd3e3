"""A program of the node-repair image: a Deployment on the control plane; one pod leads."""

from typing import NamedTuple

from components.making import replicas
from components.making.manifest import Json, Manifest, by_kind, filled, labels
from components.making.pod_security import SECURITY
from components.remediation.names import COMPONENT, own, repair_image, selector_labels, settings_of
from schemas.facts.site import Site

INTERVAL_SECONDS = 20
"""Between two rounds: the checks of a node take longer to be sure."""
METRICS_PORT = 8080
REPLICAS = 2


class Program(NamedTuple):
    """A program by its ``name``, and the ``command`` of the image; ``config``: the ConfigMap that
    it reads in each round, if there is one."""

    name: str
    command: str
    environment: dict[str, str]
    config: str = ""

    def deployment(self, site: Site) -> Manifest:
        """Two pods on different hosts; of two versions in a rollout one leads."""
        selector = selector_labels(self.name)
        named = {**labels(site.name, COMPONENT), **selector}
        config = [{"name": "config", "configMap": {"name": self.config}}] if self.config else []
        spec = {
            **replicas.pod(site, self.name, selector, enableServiceLinks=False),
            "containers": [self._container(site)],
            "volumes": config,
        }
        template = {"metadata": {"labels": named}, "spec": spec}
        count = min(REPLICAS, site.replicas(site.control_plane))
        body = replicas.deployment(own(site, self.name), selector, count, template)
        return by_kind([body], self.name)[0]

    def _container(self, site: Site) -> Json:
        given = {
            "NAMESPACE": settings_of(site).namespace,
            "NAME": self.name,
            "INTERVAL": str(INTERVAL_SECONDS),
            "PORT": str(METRICS_PORT),
            **self.environment,
        }
        mounted = [{"name": "config", "mountPath": "/config", "readOnly": True}]
        (body,) = filled(
            __file__,
            name=self.name,
            image=repair_image(site),
            command=self.command,
            env=[{"name": name, "value": value} for name, value in given.items()],
            port=METRICS_PORT,
            security=SECURITY,
            mounts=mounted if self.config else [],
        )
        return body
