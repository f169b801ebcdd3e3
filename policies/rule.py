"""The definition of a rule: name, severity, condition, reason, source, and a check, which is a pure
function over plain data, and never raises for a malformed object: schemas judge that."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

Json = dict[str, Any]


class Severity(StrEnum):
    """What happens to an object that breaks a rule. The names are CrossGuard's."""

    MANDATORY = "mandatory"
    """It is refused."""
    ADVISORY = "advisory"
    """Whoever deploys it is told."""


class Object(NamedTuple):
    """A Kubernetes object and the cluster that it is for: ``management`` or ``site``."""

    cluster: str
    body: Json

    @property
    def kind(self) -> str:
        """Its kind."""
        return str(self.body.get("kind", ""))

    @property
    def metadata(self) -> Json:
        """Its metadata; empty where there is none."""
        found = self.body.get("metadata")
        return found if isinstance(found, dict) else {}

    @property
    def namespace(self) -> str:
        """Its namespace; empty where it has none."""
        return str(self.metadata.get("namespace") or "")

    @property
    def name(self) -> str:
        """Its name."""
        return str(self.metadata.get("name") or "")

    @property
    def title(self) -> str:
        """``DaemonSet accelerators/device-plugin-v100``, as exceptions name it."""
        place = f"{self.namespace}/" if self.namespace else ""
        return f"{self.kind} {place}{self.name}"


class Found(NamedTuple):
    """A violation of a rule: the place in the object (``spec.template.spec.containers[0].image``;
    empty for the object as a whole), what is wrong, and what to do instead (default: the rule's
    ``fix``). It has the refused value where an exception may be for some values alone, such as a
    capability."""

    path: str
    message: str
    fix: str = ""
    value: str = ""


Check = Callable[[Object], Iterable[Found]]
"""Judges one object by itself."""
SiteCheck = Callable[[Sequence[Object]], Iterable[tuple[Object, Found]]]
"""Judges all objects of a site."""


@dataclass(frozen=True, slots=True)
class Rule:
    """The common fields of all rules.

    ``what`` it asks for; ``why``: what it keeps from happening; ``source``: the standard, guide or
    incident that it is from. A few hold in a cluster as well, whoever deploys: these are written
    in CEL, in policies/cluster.
    """

    name: str
    severity: Severity
    what: str
    why: str
    source: str


@dataclass(frozen=True, slots=True)
class ObjectRule(Rule):
    """A rule that one object keeps or breaks by itself. ``narrow``, where many are judged faster at
    once: those that may break it, in order. ``fix``: what to do where a finding does not say it."""

    check: Check
    narrow: Callable[[Sequence[Object]], Sequence[Object]] | None = None
    fix: str = ""


@dataclass(frozen=True, slots=True)
class SiteRule(Rule):
    """A rule that takes all objects of a site to judge; each finding names its object.

    ``alike``: one object stands for all that differ in leaves alone. Such a rule neither counts
    objects nor compares them with each other (schemas/kubernetes/outline.py). ``fix`` is what to
    do where a finding does not say it.
    """

    check: SiteCheck
    alike: bool = False
    fix: str = ""


class Violation(NamedTuple):
    """A rule that an object breaks, and where."""

    rule: Rule
    object: Object
    found: Found


def text(value: object) -> str:
    """A text; empty where it is none."""
    return value if isinstance(value, str) else ""
