"""Words for what is wrong with a value and for what belongs in its place. Taken from the model's
own descriptions, bounds and examples, so that the editor, the docs and the errors never disagree;
pydantic's own words never reach a person."""

import functools
from collections.abc import Mapping
from typing import Any

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import core_schema

from schemas.kubernetes.masking import shorten
from schemas.kubernetes.tables import read_table
from schemas.model import accelerators, addresses, object_cache, primitives, sizes, ssh_key
from schemas.model.texts import Words, nearest, words
from schemas.reading.suggested_value import fits, tidy

Node = dict[str, Any]
_TABLE = read_table(__file__)
TYPES: Mapping[str, str] = _TABLE["types"]
_YES = {**dict.fromkeys(("yes", "y", "on"), "true"), **dict.fromkeys(("no", "n", "off"), "false")}
"""Words that are booleans in YAML 1.1, and text here."""
_MODULES = (primitives, addresses, ssh_key, sizes, accelerators, object_cache)


def show(value: Any) -> str:
    """A value in words: text as it is, what is large by its kind, URLs without query (tokens)."""
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict | list):
        return "a map" if isinstance(value, dict) else "a list"
    if isinstance(value, str) and "://" in value and "?" in value:
        return shorten(value.partition("?")[0]) + "?…"
    return shorten(value)


def form(pattern: str) -> str:
    """The form that a pattern describes, in words; empty where it is one field's own."""
    return _forms().get(pattern, "")


@functools.cache
def _forms() -> dict[str, str]:
    types = [(module, _TABLE[module.__name__.rpartition(".")[2]]) for module in _MODULES]
    named = ((getattr(module, name), said) for module, rows in types for name, said in rows.items())
    return {pattern_of(primitive): said for primitive, said in named}


@functools.cache
def pattern_of(primitive: Any) -> str:
    """The pattern of a primitive, which is also there behind a validator."""
    schema: Any = TypeAdapter(primitive).core_schema
    while "pattern" not in schema:
        schema = schema["steps"][-1] if "steps" in schema else schema["schema"]
    return str(schema["pattern"])


def description(node: Node) -> str:
    """The purpose of a field, on one line without a full stop."""
    return primitives.plain(str(node.get("description", ""))).rstrip(".")


def example(node: Node) -> str:
    """A value that would fit; empty where the model names none."""
    return next((str(each) for each in node.get("examples", ()) if "…" not in str(each)), "")


def belongs(node: Node, what: str = "") -> str:
    """The value that belongs at a place: its form, an example, and the purpose of the field."""
    what = what or _what(node)
    if example(node):
        what += f" such as {example(node)}"
    purpose = description(node)
    return f"{what} ({purpose})" if purpose else what


def _what(node: Node) -> str:
    kind, low, high = node.get("type"), node.get("minimum"), node.get("maximum")
    if "enum" in node:
        return "one of " + ", ".join(map(str, node["enum"]))
    if kind == "object":
        fields = node.get("required", ())
        return f"a map with {', '.join(fields)}" if fields else "a map"
    if kind == "array":
        item = example(node.get("items", {}))
        return f"a list such as [{item}]" if item else "a list"
    if kind == "integer":
        limits = f" from {low} to {high}" if high is not None else f", {low} or more"
        return "a whole number" + (limits if low is not None else "")
    if kind == "boolean":
        return "true or false"
    return form(str(node.get("pattern", ""))) or "text"


def wrong_type(kind: str, value: Any, node: Node, *, required: bool) -> Words:
    """The fault of a value of another type, and what to write."""
    wanted = TYPES[kind]
    if value is None:
        end = "" if required else ", or remove the field"
        return words("value-missing", wanted, belongs(node), end)
    if isinstance(value, float):
        # It is shown as the number that it is, which may not be how it was written: 1.10 is 1.1.
        shown = "a number with a fraction"
    else:
        quoted = isinstance(value, str) and wanted != "text"
        shown = f"the text {show(value)}" if quoted else show(value)
    fix = _conversion(wanted, value, node) or f"write {belongs(node)}"
    return words("value-of-other-type", shown, wanted, fix)


def _conversion(wanted: str, value: Any, node: Node) -> str:
    """How to write the same value in the wanted type; empty where that is impossible."""
    if wanted == "text" and isinstance(value, int | float):
        right = "pattern" not in node or fits(show(value), node["pattern"])
        return "put quotes around it" if right else ""
    if wanted == "a whole number" and isinstance(value, str) and value.isdecimal():
        return f"write {int(value)} without quotes" if len(value) < 19 else ""
    if wanted == "true or false" and isinstance(value, str):
        word = _YES.get(value.lower(), value.lower())
        return f"write {word}" if word in ("true", "false") else ""
    if wanted == "a list" and isinstance(value, str | int) and not isinstance(value, bool):
        return f"write [{show(value)}]" if show(value) == str(value) else ""
    return ""


def out_of_bounds(
    kind: str, context: Mapping[str, Any], value: Any, node: Node, otherwise: str
) -> Words:
    """The fault of a value beyond its bounds, and what to write; of other kinds, which settings of
    a component of one's own may have, in the words ``otherwise``."""
    if kind not in _TABLE["bounds"]:
        return words("value-refused", show(value), shorten(otherwise, 200), belongs(node))
    name, said = _TABLE["bounds"][kind]
    count = len(value) if isinstance(value, str | list) else 0
    unit = "character" if isinstance(value, str) else "item"
    message = said.format(shown=show(value), bound=context[name], count=_count(count, unit))
    if name not in ("min_length", "max_length"):
        return words("value-out-of-bounds", message, belongs(node))
    limit = f"{'at least' if name == 'min_length' else 'at most'} {_count(context[name], unit)}"
    what = f"{limit}: {description(node) or belongs(node)}"
    return words("value-out-of-bounds", message, what)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def misfit(value: Any, pattern: str, node: Node) -> Words:
    """The fault of a text that does not fit its pattern, and what to write."""
    what = form(pattern)
    better = (tidy(value, pattern) if isinstance(value, str) else None) or belongs(node, what)
    return words("value-unfit", show(value) or "an empty text", what or "what belongs here", better)


def not_shown(node: Node) -> Words:
    """The fault of a value that may be a secret, without the value, and what to write."""
    what = form(str(node.get("pattern", ""))) or "what belongs here"
    return words("value-not-shown", what, belongs(node))


def not_allowed(value: Any, node: Node) -> Words:
    """The fault of a value that is none of the allowed ones, and what to write."""
    allowed = [str(each) for each in node.get("enum", ())]
    near = nearest(value, allowed) if isinstance(value, str) else None
    return words("value-not-allowed", show(value), near or belongs(node))


@functools.cache
def schema_of(model: type[primitives.Model]) -> Node:
    """The JSON Schema of a model, to be read alone; making it takes longer than a site's check."""
    return model.model_json_schema(schema_generator=Generator)


class Generator(GenerateJsonSchema):
    """pydantic's generator, which forgets a pattern that comes after a validator."""

    def chain_schema(self, schema: core_schema.ChainSchema) -> dict[str, Any]:
        """The schema of a primitive: all that its steps ask for."""
        steps = [self.generate_inner(step) for step in schema["steps"]]
        return {word: value for step in steps for word, value in step.items()}


def schema_at(schema: Node, path: tuple[str | int, ...], node: Node | None = None) -> Node:
    """The JSON Schema node of a path (below ``node``), merged with what its reference points at."""
    node = schema if node is None else node
    for step in path:
        node = _resolve(node, schema)
        if isinstance(step, int):
            node = node.get("items", {})
        else:
            node = node.get("properties", {}).get(step) or _value_node(node)
    return _resolve(node, schema)


def _value_node(node: Node) -> Node:
    extra = node.get("additionalProperties")
    if isinstance(extra, dict):
        return extra
    patterns = node.get("patternProperties")
    return next(iter(patterns.values())) if patterns else {}


def _resolve(node: Node, schema: Node) -> Node:
    own = {key: value for key, value in node.items() if key not in ("$ref", "anyOf")}
    if "anyOf" in node:
        node = next((each for each in node["anyOf"] if each.get("type") != "null"), {})
    if "$ref" in node:
        node = schema["$defs"][node["$ref"].rsplit("/", 1)[1]]
    return {**node, **own}
