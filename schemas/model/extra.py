"""Objects that a team brings: manifests and charts, what is dangerous about them, what they do.
What must hold between values and files is in schemas/rules/extra.py."""

from typing import Annotated, Literal

from pydantic import Field

from schemas.model.policies import Day, Sentence
from schemas.model.primitives import DnsLabel, Model, RelativePath, text_form

LOCK, VALUES, RENDERED = "chart.lock.yaml", "values.yaml", "rendered.yaml"
"""The files of a chart, in its folder."""
_PART = r"[A-Za-z0-9][A-Za-z0-9._-]*"
FilePattern = Annotated[
    str, text_form(f"({_PART}/)+[A-Za-z0-9*][A-Za-z0-9._*-]*", "extra/metallb/*.yaml", longest=200)
]
"""Files in a folder below ``sites/``: a path, or one whose last part has ``*`` for any text."""
Danger = Literal["host-access", "cluster-rights", "admission", "exposure", "images"]
"""A kind of danger; policies/third_party.toml says which rules it stands for."""
Owner = Annotated[str, Field(min_length=2, max_length=100)]


class Allowed(Model):
    """A danger of what is brought that somebody knows and answers for, until a day."""

    danger: Danger
    """The kind of danger."""
    what: Annotated[list[Annotated[str, Field(max_length=4000)]], Field(min_length=1)]
    """The objects and what is dangerous about each, as ``foresite check`` writes it. What an update
    adds is not among it, and is reported again."""
    reason: Sentence
    """Reason why it has to be so."""
    owner: Owner
    """Owner of the decision."""
    until: Day
    """Last day of it."""


class OwnersRule(Model):
    """What a change of a custom resource does to machines, by the word of its owner."""

    kind: Annotated[str, text_form(r"[A-Z][A-Za-z0-9]*(\.[a-z0-9.-]+)?", longest=200)]
    """Kind of the objects, with its API group where another group has one of the same name."""
    path: Annotated[str, text_form(r"\S*", "spec.addresses", longest=300)] = ""
    """Field, with all below it; ``*`` is any one step. Default: the object as a whole."""
    effect: Literal["none", "pod-restart", "drain", "reboot", "unknown"]
    """The effect of a change; what wipes or removes a machine is nothing that an owner states."""
    why: Sentence
    """Reason why it has this effect."""
    source: Sentence
    """Source of it: the program's name, version and file."""
    owner: Owner
    """Who says so; the report names them."""
    until: Day
    """Last day on which it counts."""


class Extra(Model):
    """Objects that a team brings, from manifests or from a chart."""

    name: DnsLabel
    """Name of what is brought; its objects carry it as foresite.dev/component: extra-<name>."""
    manifests: Annotated[list[FilePattern], Field(max_length=100)] = []
    """Files of manifests (YAML) below sites/."""
    chart: RelativePath | None = None
    """Folder below sites/ of a chart that ``foresite chart`` has rendered."""
    cluster: Literal["site", "management"] = "site"
    """Cluster that the objects are for: the site's own, or its namespace where Cluster API runs."""
    protect: bool = False
    """True if deleting one of the objects destroys something, so that it is refused."""
    why: Sentence
    """Reason why the site has it."""
    owner: Owner
    """Who answers for it."""
    allow: Annotated[list[Allowed], Field(max_length=20)] = []
    """Dangers that are known and accepted."""
    rules: Annotated[list[OwnersRule], Field(max_length=200)] = []
    """Effects of changes to custom resources, which Foresite does not know."""


class ChartLock(Model):
    """The lock of a rendered chart: what was rendered, with which inputs, and what came of it."""

    chart: Annotated[str, Field(min_length=1, max_length=500)]
    """Chart as helm takes it: an OCI reference, or its name in a repository."""
    repository: Annotated[str, Field(max_length=500)] = ""
    """URL of the chart's repository; empty for an OCI reference or a folder."""
    version: Annotated[str, text_form(r"v?[0-9]+\.[0-9]+\.[0-9]+[-+.A-Za-z0-9]*")]
    """Version of the chart."""
    digest: Annotated[str, text_form("sha256:[0-9a-f]{64}")]
    """Digest of the chart's archive or files."""
    release: DnsLabel
    """Name of the release."""
    namespace: DnsLabel
    """Namespace of objects that name none."""
    helm: Annotated[str, text_form(r"v[0-9]+\.[0-9]+[-+.A-Za-z0-9]*")]
    """Version of helm."""
    kube_version: Annotated[str, text_form(r"1\.[0-9]+\.[0-9]+")]
    """Version of Kubernetes that it was rendered for."""
    api_versions: list[str] = []
    """Further API versions that the chart was told of."""
    hooks: list[str] = []
    """Hooks of helm that were left out."""
    values: Annotated[str, text_form("sha256:[0-9a-f]{64}")]
    """Digest of values.yaml."""
    rendered: Annotated[str, text_form("sha256:[0-9a-f]{64}")]
    """Digest of rendered.yaml."""
