"""Rules on a site's own policies: they can be judged, and exceptions have an end.

Whether an expression fits the objects that it looks at only an API server knows, and whether an
exception is needed those who judge objects; here is what can be seen in the file.

Sources: Kubernetes 1.34, api admissionregistration/v1 (NamedRuleWithOperations); CEL's language
definition (literals, comments).
"""

import re
from collections.abc import Iterator

from schemas.facts.site import Site
from schemas.kubernetes import tables
from schemas.kubernetes.tables import read_table
from schemas.model.policies import CelRule
from schemas.reading.paths import each_at
from schemas.rules.finding import Finding, Path, say

_KIND = re.compile(
    r"(?:(?P<group>[a-z0-9]([-a-z0-9.]*[a-z0-9])?)/)?v[0-9]+(?:(?:alpha|beta)[0-9]+)?/(?P<name>[a-z]+)"
)
LIVED_BY = {*map(tuple, read_table(__file__)["lived_by"])}
"""Group and name of what kubelets and the control plane write to work at all."""
_STRING = re.compile(
    r"//[^\n]*|[rR]?('''(?:[^\\]|\\.)*?'''|\"\"\"(?:[^\\]|\\.)*?\"\"\""
    r"|'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\")",
    re.DOTALL,
)
"""A comment, or a string as CEL writes it."""
_CLOSES = {")": "(", "]": "[", "}": "{"}
_LOOKS_AT = re.compile(r"\b(object|oldObject|request|namespaceObject)\b")


def cel_rules(site: Site) -> Iterator[Finding]:
    """The API server can take the rules as CEL."""
    for place, rule in each_at(site.file, "policies.cel.*"):
        yield from _kinds(rule, place)
        if (fault := fault_of(rule.expression)) is not None:
            yield say("cel-expression-unfit", (*place, "expression"), *fault)


def _kinds(rule: CelRule, place: Path) -> Iterator[Finding]:
    for number, kind in enumerate(rule.kinds):
        at = (*place, "kinds", number)
        found = _KIND.fullmatch(kind)
        if found is None:
            yield say("cel-kind-unfit", at, kind[:60])
        elif rule.namespaces and in_no_namespace(found["group"] or "", found["name"]):
            yield say("cel-kind-without-namespace", at, found["name"])
        elif (found["group"] or "", found["name"]) in LIVED_BY:
            yield say("cel-kind-of-kubernetes", at, found["name"])


def in_no_namespace(group: str, name: str) -> bool:
    """True if the objects of a resource are known to be in no namespace. A binding's
    namespaceSelector leaves none of these out (apiserver, pkg/admission/plugin/webhook/predicates/
    namespace/matcher.go); a Namespace it judges by its own labels."""
    return name in read_table(tables.__file__, "no_namespace.toml").get(group, ())


def fault_of(expression: str) -> tuple[str, str] | None:
    """The fault of an expression that shows without a parser, and what to do, if any: a bracket
    that is never closed, a string without an end, or nothing of the object in it."""
    bare = _STRING.sub(" ", expression)
    if "'" in bare or '"' in bare:
        return "a string in the expression has no end", "close it, or escape the quote with \\"
    opened: list[str] = []
    for sign in bare:
        if sign in _CLOSES.values():
            opened.append(sign)
        elif sign in _CLOSES and (not opened or opened.pop() != _CLOSES[sign]):
            return f"{sign} closes nothing that was opened", "write its other half, or remove it"
    if opened:
        return f"{opened[-1]} is never closed", "write its other half, or remove it"
    if not _LOOKS_AT.search(bare):
        message = "the expression looks at nothing of the object, so it holds always or never"
        return message, "write what must be true of object, oldObject, request or namespaceObject"
    return None
