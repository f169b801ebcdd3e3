"""The source of a site's Secrets: a store outside, and never a file in Git. What must hold between
values is in schemas/rules/secrets.py."""

import re
from typing import Annotated

from pydantic import Field

from schemas.model.primitives import DnsLabel, Model, text_form
from schemas.model.vocabulary import SecretStoreKind

PLACEHOLDER = re.compile(r"\{([a-z]*)\}")
"""A placeholder for a value of the Secret; a rule refuses unknown ones."""


class SecretStore(Model):
    """A store of the External Secrets Operator, which the cluster has already."""

    name: DnsLabel
    """Name of the store."""
    kind: SecretStoreKind = Field(default=SecretStoreKind.CLUSTER, strict=False)
    """One store for the cluster, or one in each namespace that has a Secret."""


class Secrets(Model):
    """Every Secret that the site refers to, fetched by the External Secrets Operator."""

    management: SecretStore | None = None
    """Store of the management cluster: credentials of BMCs."""
    site: SecretStore | None = None
    """Store of the site's own cluster: all others."""
    path: Annotated[
        str, text_form("[A-Za-z0-9{][-A-Za-z0-9_./{}]{0,199}", "sites/{site}/{secret}")
    ] = "sites/{site}/{namespace}/{secret}"
    """Path of a Secret in the store; {site}, {namespace} and {secret} are replaced."""
    refresh_minutes: Annotated[int, Field(ge=1, le=1440)] = 60
    """Minutes after which a Secret is fetched again."""

    def place(self, site: str, namespace: str, secret: str) -> str:
        """The place of a Secret in the store."""
        told = {"site": site, "namespace": namespace, "secret": secret}
        return PLACEHOLDER.sub(lambda match: told.get(match[1], match[0]), self.path)
