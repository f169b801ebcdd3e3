"""The compact form that schemas are stored in: every structural fact, no texts, nothing twice. Owns
which keywords and formats exist. What is not known here is refused when the files are generated, so
that no rule of a later CRD is lost in silence."""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from schemas.kubernetes.tables import read_table

Schema = dict[str, Any]
"""A schema in OpenAPI's dialect, as CRDs have it, or in JSON Schema's."""
WIDTH = 100
WORTH_SHARING = 200
"""Characters from which on a schema that CRDs repeat is stored once, beside them."""

REF = "$ref"
LISTS_OF_SCHEMAS = ("allOf", "anyOf", "oneOf")
NESTED = ("additionalProperties", "items")
"""Keywords that describe values inside a value; ``not`` only adds conditions."""
SCHEMAS = (*NESTED, "not")

EMBEDDED = "x-kubernetes-embedded-resource"
INT_OR_STRING = "x-kubernetes-int-or-string"
LIST_KEYS = "x-kubernetes-list-map-keys"
LIST_TYPE = "x-kubernetes-list-type"
OPEN = "x-kubernetes-preserve-unknown-fields"
RULES = "x-kubernetes-validations"

_KEYWORDS = read_table(__file__)
BOUNDS, OTHER_FACTS, DROPPED = (
    frozenset(_KEYWORDS[name]) for name in ("bounds", "other_facts", "dropped")
)
"""Keywords with the meaning of JSON Schema draft 4, other facts, and what is not kept."""
RULE_FACTS = ("rule", "reason", "fieldPath", "optionalOldSelf")
"""Fields of a CEL rule that are kept; its message is prose."""
INTEGER_FORMATS = {"int32": 2**31, "int64": 2**63}
"""Format -> the first number that does not fit."""
_DATE = "[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
_HOUR_MINUTE = "([01][0-9]|2[0-3]):[0-5][0-9]"
_64 = r"([A-Za-z0-9+/][\r\n]*)"
STRING_FORMATS = {
    "byte": rf"^({_64}{{4}})*({_64}{{2}}=[\r\n]*=|{_64}{{3}}=)?[\r\n]*$",
    "date-time": rf"^{_DATE}T{_HOUR_MINUTE}:[0-5][0-9](\.[0-9]+)?(Z|[+-]{_HOUR_MINUTE})$",
    "quantity": r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]+)?$",
    "uri": r"^([A-Za-z][A-Za-z0-9+.-]*:|/)\S*$",
}
"""Format -> what the server's parser takes, as a pattern, as libraries of JSON Schema differ.
Sources: encoding/base64, RFC 3339, resource.ParseQuantity, url.ParseRequestURI."""
FORMATS = frozenset(("double", *INTEGER_FORMATS, *STRING_FORMATS))


class UnknownFact(ValueError):
    """A schema says something that this module does not know how to keep."""


def compact(schema: Schema, where: str = "") -> Schema:
    """The schema without texts, keys sorted; UnknownFact for an unknown keyword or format."""
    result: Schema = {}
    for key, value in sorted(schema.items()):
        here = f"{where}/{key}"
        if key == "properties":
            result[key] = {k: compact(v, f"{here}/{k}") for k, v in sorted(value.items())}
        elif key in LISTS_OF_SCHEMAS:
            result[key] = [compact(v, here) for v in value]
        elif key in SCHEMAS:
            result[key] = compact(value, here) if isinstance(value, dict) else value
        elif key == RULES:
            result[key] = [_rule(rule, here) for rule in value]
        elif key in BOUNDS or key in OTHER_FACTS:
            result[key] = value
        elif key not in DROPPED:
            raise UnknownFact(f"{here}: unknown keyword")
    if result.get("format", "double") not in FORMATS:
        raise UnknownFact(f"{where}: unknown format {result['format']!r}")
    return result


def _rule(rule: dict[str, Any], where: str) -> dict[str, Any]:
    """One CEL rule without its message; the server demands one of a rule with line breaks."""
    if "\n" in rule["rule"]:
        raise UnknownFact(f"{where}: a rule of several lines needs a message of its own")
    return {key: rule[key] for key in RULE_FACTS if key in rule}


def share(schemas: Iterable[Schema]) -> tuple[list[Schema], dict[str, Schema]]:
    """The schemas with what they repeat (CRDs that embed pods do) replaced by references, and that
    by name: of what it stands for, so that it stays when other schemas change."""
    every = list(schemas)
    uses: Counter[str] = Counter()
    for schema in every:
        _count(schema, uses)
    shared: dict[str, Schema] = {}

    def shorter(node: Schema) -> Schema:
        text = json.dumps(node, sort_keys=True)
        if uses[text] < 2 or len(text) < WORTH_SHARING:
            return _with_parts(node, shorter)
        name = hashlib.sha256(text.encode()).hexdigest()[:8]
        if name not in shared:
            shared[name] = _with_parts(node, shorter)
        return {REF: name}

    return [_with_parts(schema, shorter) for schema in every], dict(sorted(shared.items()))


def expand(schema: Schema, find: Callable[[str], Schema]) -> Schema:
    """The schema with each reference of :func:`share` replaced by what ``find`` gives for it."""
    if REF in schema:
        return find(schema[REF])
    return _with_parts(schema, lambda part: expand(part, find))


def _count(schema: Schema, uses: Counter[str]) -> None:
    """How often each schema is part of a different one: what repeats as a whole counts once."""
    for part in _parts(schema):
        text = json.dumps(part, sort_keys=True)
        uses[text] += 1
        if uses[text] == 1:
            _count(part, uses)


def _parts(schema: Schema) -> Iterator[Schema]:
    yield from schema.get("properties", {}).values()
    yield from (schema[key] for key in NESTED if isinstance(schema.get(key), dict))


def _with_parts(schema: Schema, change: Callable[[Schema], Schema]) -> Schema:
    result = dict(schema)
    if "properties" in schema:
        result["properties"] = {name: change(part) for name, part in schema["properties"].items()}
    for key in NESTED:
        if isinstance(schema.get(key), dict):
            result[key] = change(schema[key])
    return result


def dump(node: Any, indent: int = 0) -> str:
    """JSON with what fits into one line on one line: small files and small diffs."""
    line = json.dumps(node, ensure_ascii=False)
    if len(line) + indent <= WIDTH or not isinstance(node, dict | list) or not node:
        return line
    pad = " " * (indent + 1)
    if isinstance(node, dict):
        parts = [f"{pad}{json.dumps(k)}: {dump(v, indent + 1)}" for k, v in node.items()]
        return "{\n" + ",\n".join(parts) + "\n" + " " * indent + "}"
    parts = [pad + dump(item, indent + 1) for item in node]
    return "[\n" + ",\n".join(parts) + "\n" + " " * indent + "]"


def references(node: Any) -> Iterator[str]:
    """The names that a schema refers to (a property may itself be called ``$ref``)."""
    if isinstance(node, dict) and isinstance(node.get(REF), str):
        yield node[REF].rpartition("/")[2]
    if isinstance(node, dict | list):
        for child in node.values() if isinstance(node, dict) else node:
            yield from references(child)
