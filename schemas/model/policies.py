"""A site's own policies, and its exceptions, each with a reason and an end. The rules themselves
are in policies/, which shares no code with this."""

from typing import Annotated

from pydantic import Field

from schemas.model.primitives import DnsLabel, Model, RelativePath, text_form
from schemas.model.vocabulary import ClusterRule, Severity

Sentence = Annotated[str, Field(min_length=10, max_length=300, pattern=r"^[^\n]+$")]
"""A reason that a stranger understands a year later."""
Day = Annotated[str, text_form("20[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])", "2027-06-30")]
"""A day of the calendar."""
_OBJECT = r"[A-Z][A-Za-z0-9]* ([a-z0-9*][-a-z0-9.*]*/)?[a-z0-9*][-a-z0-9.:*]*"
ObjectPattern = Annotated[
    str,
    text_form(f"{_OBJECT}( in {_OBJECT})?", "DaemonSet accelerators/device-plugin-*", longest=300),
]
"""Objects by kind, namespace and name; ``*`` stands for any text within one of them. What is text
in another object is named with it: ``DaemonSet network/agent in ConfigMap */manifests``."""


class Exemption(Model):
    """Objects that are exempt from a rule, until a day."""

    rule: DnsLabel
    """Name of the rule."""
    object: ObjectPattern
    """Objects that it does not hold for."""
    reason: Sentence
    """Reason for the exception."""
    owner: Annotated[str, Field(min_length=2, max_length=100)]
    """Owner of the exception."""
    until: Day
    """Last day of the exception."""


class CelRule(Model):
    """A rule of the site's own in CEL, enforced by the API server, whoever deploys."""

    name: DnsLabel
    """Name of the rule."""
    severity: Severity = Field(default=Severity.MANDATORY, strict=False)
    """Consequence for an object that breaks the rule."""
    what: Sentence
    """The condition that the rule demands, in one sentence."""
    why: Sentence
    """The harm that the rule prevents, in one sentence."""
    source: Sentence
    """Source of the rule."""
    kinds: Annotated[list[str], Field(min_length=1, max_length=20)]
    """Resources that it looks at: ``<group>/<version>/<plural>``, ``v1/pods`` in the core group."""
    expression: Annotated[str, Field(min_length=1, max_length=4000)]
    """CEL expression that is true for an allowed object."""
    namespaces: list[DnsLabel] = []
    """Namespaces that it holds in; default: all but kube-system, kube-public, kube-node-lease."""


class SitePolicies(Model):
    """Rules of the site's own, and exceptions from rules."""

    python: list[RelativePath] = []
    """Python files below sites/ with rules of the site's own, judged wherever ours are."""
    cel: list[CelRule] = []
    """Rules of the site's own that the API server judges."""
    advisory: list[Annotated[ClusterRule, Field(strict=False)]] = []
    """Rules of the site's cluster that only warn at this site, until all objects follow them."""
    exceptions: list[Exemption] = []
    """Exceptions from rules."""
