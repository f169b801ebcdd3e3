"""People: who of an identity provider may do what in the site's cluster."""

from typing import Annotated

from pydantic import AfterValidator, Field

from schemas.model.primitives import Model, fault, text_form
from schemas.model.texts import words

RESERVED = "system:"
"""The prefix of Kubernetes' own users and groups; members of system:masters may do anything."""


def _demand_own(name: str) -> str:
    if name.startswith(RESERVED):
        raise fault(words("identity-reserved", name))
    return name


Identity = Annotated[
    str,
    text_form(r"[^\x00-\x20\x7f]([^\x00-\x1f\x7f]*[^\x00-\x20\x7f])?", "oidc:vision", longest=256),
    AfterValidator(_demand_own),
]
"""The name of a user or a group as the API server knows it, with the prefix of its issuer."""
Identities = Annotated[list[Identity], Field(max_length=50)]
"""Users or groups."""


class People(Model):
    """Users and groups with the same rights."""

    groups: Identities = []
    """Groups, as the API server names them."""
    users: Identities = []
    """Users, as the API server names them."""


class Access(Model):
    """Site staff, with rights in the whole cluster."""

    operators: People = People()
    """Who may read all but Secrets, cordon and drain nodes, and delete pods and jobs."""
    viewers: People = People()
    """Who may read all but Secrets."""
