"""The Secrets that a site refers to, by reference alone. As one Pulumi component."""

from dataclasses import dataclass

import pulumi

from components.secrets.objects import objects
from components.shell import SiteComponent, WholeSiteArgs
from schemas.facts.secret_references import secret_references
from schemas.facts.site import Site
from schemas.model.monitoring import Monitoring
from schemas.model.remediation import Remediation
from schemas.model.secrets import Secrets as SecretSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretsArgs(WholeSiteArgs):
    """Arguments of ``Secrets``; a whole site, as it makes those of the hosts' BMCs."""

    secrets: SecretSettings | None = None
    """Where the Secrets come from."""
    monitoring: Monitoring | None = None
    """Monitoring of the site."""
    remediation: Remediation | None = None
    """Detection and remediation of hosts' faults."""


class Secrets(SiteComponent[SecretsArgs]):
    """An ExternalSecret for each Secret that a site refers to, without any secret value."""

    secrets: pulumi.Output[list[str]]
    """The Secrets that it fills: ``<namespace>/<name>``."""

    make = staticmethod(objects)

    @staticmethod
    def values(site: Site) -> dict[str, object]:
        """The values of the outputs."""
        references = secret_references(site)
        return {"secrets": [f"{each.namespace}/{each.name}" for each in references]}
