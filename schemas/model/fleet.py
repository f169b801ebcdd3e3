"""``fleet.yaml``: how a merged change reaches the sites, ring by ring."""

from typing import Annotated

from pydantic import AfterValidator, Field

from schemas.kubernetes.forms import PORT
from schemas.model.primitives import Model, SecretName, fault, text_form
from schemas.model.texts import words

_REF = r"[A-Za-z0-9][A-Za-z0-9_-]*([./][A-Za-z0-9_-]+)*"
"""A name that Git takes (git-check-ref-format), but for what ``_short_name`` refuses."""

_SEGMENT = "/[.]*[A-Za-z0-9_~-][A-Za-z0-9._~-]*"
"""A part of a URL's path: not /./ and not /../, which each program resolves in its own way."""

_FOLDERS = r"([A-Za-z0-9][A-Za-z0-9._-]*/)*[A-Za-z0-9][A-Za-z0-9._-]*"
"""A folder of another repository: not one below sites/."""


def _short_name(value: str) -> str:
    """Engines put refs/heads/ or refs/tags/ before it, and Git takes no name that ends so."""
    if value.startswith("refs/") or value.endswith(".lock"):
        raise fault(words("ref-unfit", value))
    return value


_SHORT = AfterValidator(_short_name)


class Rings(Model):
    """When a ring is passed, so that the next one begins."""

    soak_minutes: Annotated[int, Field(ge=0, le=10080)] = 30
    """Minutes for which the sites of a ring must stay healthy before the next ring begins."""
    late_minutes: Annotated[int, Field(ge=10, le=10080)] = 60
    """Minutes after the expected end of a site's rollouts at which the site counts as failed."""


class Manifests(Model):
    """The Git repository of rendered manifests, from which Flux or Argo CD applies them."""

    repository: Annotated[
        str,
        text_form(
            rf"(https://|ssh://([a-z0-9_-]+@)?)[A-Za-z0-9.-]+(:{PORT})?({_SEGMENT})+",
            "https://git.example/fleet-manifests.git",
            longest=500,
        ),
    ]
    """URL of the repository, without a password."""
    branch: Annotated[str, text_form(_REF, "main", longest=200), _SHORT] = "main"
    """Branch that the engine follows."""
    path: Annotated[str, text_form(_FOLDERS, "rendered", longest=200)] | None = None
    """Folder in the repository that ``foresite render --out`` writes to; default: its root."""
    tag: Annotated[str, text_form(_REF, "fleet-2026.11.22-1", longest=200), _SHORT] | None = None
    """Tag of the manifests' commit, for Argo CD; it never moves: each change gets another one."""
    secret: SecretName | None = None
    """Secret with credentials, in Flux's namespace ``foresite``; default: anybody can read it."""


class FleetFile(Model):
    """How merged changes reach the sites."""

    rings: Rings = Rings()
    """When a ring is passed, so that the next one begins."""
    manifests: Manifests | None = None
    """Where the rendered manifests lie, for ``foresite render --for flux`` and ``--for argocd``."""
