"""Names of the monitoring's objects, and their common parts."""

from components.making.manifest import Json, Manifest, config_map, metadata_of, prune, site_object
from schemas.facts.site import Site
from schemas.model.monitoring import Monitoring

COMPONENT = "monitoring"
PREFIX = "foresite"
"""Prefix of every name: the namespace is the site's own, and holds objects of others."""
RULES, SCRAPE, ROUTES, CUSTOM_RESOURCES = (
    f"{PREFIX}-{each}" for each in ("rules", "scrape", "alertmanager", "custom-resources")
)
"""The ConfigMaps with files."""
SCRAPE_FILE, ROUTES_FILE = "scrape.yaml", "alertmanager.yml"
CUSTOM_RESOURCES_FILE = "custom-resource-state.yaml"
"""The keys of these ConfigMaps; of rules there is one for each group."""
SECRETS_FOLDER = "/etc/alertmanager/secrets"
"""Where Alertmanager finds a Secret, in a folder of the Secret's name: the place at which the
Prometheus operator mounts what Alertmanager.spec.secrets names (prometheus-operator 0.85.0,
pkg/alertmanager/statefulset.go, secretsDir), so that it is the same with and without it."""


def operator_object(
    site: Site, monitoring: Monitoring, kind: tuple[str, str], name: str, spec: Json
) -> Manifest:
    """An object of the Prometheus operator; ``kind`` is its API's version and its kind. It has the
    labels by which the site's Prometheus and Alertmanager choose such objects."""
    version, word = kind
    named = metadata_of(COMPONENT, site, name, monitoring.namespace, **monitoring.labels)
    api = f"monitoring.coreos.com/{version}"
    return site_object(f"{word}/{name}", api, named, spec=prune(spec))


def files(site: Site, monitoring: Monitoring, name: str, data: dict[str, str]) -> Manifest:
    """A ConfigMap with files."""
    return config_map(name, metadata_of(COMPONENT, site, name, monitoring.namespace), data)
