"""From a YAML document to a typed model: every fault of a value as a problem at its place.

Owns the words for what pydantic finds. Says what to write from the model's own descriptions,
bounds and examples, so that the editor, the docs and the errors never disagree.
"""

import difflib
from collections.abc import Iterator
from typing import Any, TypeVar

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from schemas.codes import Code
from schemas.primitives import Model
from schemas.problem import Problem, shorten
from schemas.reader import Document, Path

M = TypeVar("M", bound=Model)
TODO = "TODO"
"""How a value starts that only a person knows and that is still to be written."""

_TYPES = {
    "string_type": "text",
    "int_type": "a whole number",
    "bool_type": "true or false",
    "list_type": "a list",
    "dict_type": "a map",
    "model_type": "a map",
    "model_attributes_type": "a map",
}
_BOUNDS = {
    "greater_than_equal",
    "less_than_equal",
    "greater_than",
    "less_than",
    "too_short",
    "too_long",
    "string_too_short",
    "string_too_long",
}


def parse(model: type[M], document: Document) -> tuple[M | None, list[Problem]]:
    """The document as ``model``, and its problems.

    Where only optional values are wrong the model is made without them, so that rules between
    fields can report in the same run; it is then meant for judging, as there are problems.
    """
    todos = list(_todos(document))
    marked = {path for path, _ in todos}
    problems = [problem for _, problem in todos]
    try:
        return model.model_validate(document.value), problems
    except ValidationError as error:
        details = [d for d in error.errors() if tuple(d["loc"]) not in marked]
        schema = model.model_json_schema()
        problems += [_problem(detail, document, schema) for detail in details]
    wrong = [d["loc"] for d in details if d["type"] != "missing"]
    if todos or any(isinstance(path[-1], int) for path in wrong if path):
        return None, problems  # without a list's item the places of the others would be wrong
    pruned = _without(document.value, wrong)
    try:
        return model.model_validate(pruned), problems
    except ValidationError:
        return None, problems


def readable(document: Document, path: Path) -> str:
    """A path as a person would write it: list items by their name where they have one."""
    text, value = "", document.value
    for step in path:
        value = value[step] if _has(value, step) else None  # type: ignore[index,call-overload]
        name = value.get("name") if isinstance(step, int) and isinstance(value, dict) else None
        if isinstance(step, int) and not isinstance(name, str):
            text += f"[{step}]"
        else:
            text += f".{name or step}" if text else str(name or step)
    return text


def value_at(document: Document, path: Path) -> Any:
    """The value at a path, None where there is none."""
    value: Any = document.value
    for step in path:
        if not _has(value, step):
            return None
        value = value[step]
    return value


def place(
    document: Document, path: Path, code: Code, message: str, fix: str, *, key: bool = False
) -> Problem:
    """A problem at a path of a document."""
    line, column = document.position(path, key=key)
    value = value_at(document, path)
    shown = "" if isinstance(value, dict | list) or value is None else shorten(value)
    return Problem(document.file, line, column, code, readable(document, path), shown, message, fix)


def _has(value: Any, step: str | int) -> bool:
    if isinstance(value, dict):
        return step in value
    return isinstance(value, list) and isinstance(step, int) and step < len(value)


def _todos(document: Document) -> Iterator[tuple[Path, Problem]]:
    stack: list[tuple[Path, Any]] = [((), document.value)]
    while stack:
        path, value = stack.pop()
        if isinstance(value, dict):
            stack.extend(((*path, key), item) for key, item in value.items())
        elif isinstance(value, list):
            stack.extend(((*path, index), item) for index, item in enumerate(value))
        elif isinstance(value, str) and value.startswith(TODO):
            note = value[len(TODO) :].strip(" :") or "a value that only a person knows"
            yield (
                path,
                place(document, path, Code.TODO_LEFT, f"still to be written: {note}",
                      "write the real value"),
            )  # fmt: skip


def _problem(detail: ErrorDetails, document: Document, schema: dict[str, Any]) -> Problem:
    kind, context = detail["type"], detail.get("ctx", {})
    path = tuple(step for step in detail["loc"] if step != "[key]")
    key = "[key]" in detail["loc"]
    node = schema_at(schema, path[:-1] if key else path)
    if "fix" in context:
        return place(document, path, Code(kind), context["message"], context["fix"], key=key)
    if kind == "extra_forbidden":
        return _unknown_field(document, path, schema_at(schema, path[:-1]))
    if kind == "missing":
        description = _sentence(node)
        message = f"{path[-1]} is missing"
        where = path[:-1] if value_at(document, path[:-1]) is not None else ()
        return place(document, where, Code.MISSING_FIELD, message, f"add {path[-1]}: {description}")
    shown = shorten(detail["input"])
    if kind in _TYPES:
        message = f"{shown} is not {_TYPES[kind]}"
        fix = _type_fix(kind, detail["input"], node)
        return place(document, path, Code.WRONG_TYPE, message, fix, key=key)
    if kind == "enum":
        return _not_allowed(document, path, node, shown)
    code = Code.OUT_OF_BOUNDS if kind in _BOUNDS else Code.INVALID_VALUE
    message = f"{shown}: {detail['msg'].lower()}" if code is Code.OUT_OF_BOUNDS else (
        f"{shown} is not what belongs here"
    )  # fmt: skip
    return place(document, path, code, message, _sentence(node), key=key)


def _unknown_field(document: Document, path: Path, parent: dict[str, Any]) -> Problem:
    known = list(parent.get("properties", {}))
    near = difflib.get_close_matches(str(path[-1]), known, 1)
    fix = f"write {near[0]}" if near else f"remove it; known here: {', '.join(known)}"
    message = f"there is no field {shorten(path[-1])}"
    return place(document, path, Code.UNKNOWN_FIELD, message, fix, key=True)


def _not_allowed(document: Document, path: Path, node: dict[str, Any], shown: str) -> Problem:
    allowed = [str(each) for each in node.get("enum", [])]
    near = difflib.get_close_matches(shown, allowed, 1)
    fix = f"write {near[0]}" if near else f"write one of {', '.join(allowed)}"
    return place(document, path, Code.INVALID_VALUE, f"{shown} is not one of them", fix)


def _type_fix(kind: str, value: Any, node: dict[str, Any]) -> str:
    if kind == "string_type" and isinstance(value, int | float | bool):
        return f'write it in quotes: "{shorten(value)}"' + (
            f"; {_sentence(node)}" if node.get("description") else ""
        )
    return _sentence(node) if node else f"write {_TYPES[kind]}"


def _sentence(node: dict[str, Any]) -> str:
    """What belongs at a place of the schema, for a person."""
    description = " ".join(str(node.get("description", "")).split()).rstrip(".")
    examples = node.get("examples") or []
    bounds = []
    for word, keys in (
        ("from", ("minimum", "minItems", "minLength")),
        ("up to", ("maximum", "maxItems", "maxLength")),
    ):
        bounds += [f"{word} {node[name]}" for name in keys if name in node]
    parts = [description] if description else []
    parts += [" ".join(bounds)] if bounds else []
    parts += [f"such as {examples[0]}"] if examples else []
    return "write: " + "; ".join(parts) if parts else "see the documentation of this field"


def schema_at(schema: dict[str, Any], path: Path) -> dict[str, Any]:
    """The JSON Schema node that describes a path, with what its reference points at merged in."""
    node = schema
    for step in path:
        node = _resolve(node, schema)
        if isinstance(step, int):
            node = node.get("items", {})
        else:
            node = node.get("properties", {}).get(step) or _mapped(node)
    return _resolve(node, schema)


def _mapped(node: dict[str, Any]) -> dict[str, Any]:
    extra = node.get("additionalProperties")
    if isinstance(extra, dict):
        return extra
    patterns = node.get("patternProperties")
    return next(iter(patterns.values())) if patterns else {}


def _resolve(node: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    own = {key: value for key, value in node.items() if key not in ("$ref", "anyOf")}
    if "anyOf" in node:
        node = next((each for each in node["anyOf"] if each.get("type") != "null"), {})
    if "$ref" in node:
        node = schema["$defs"][node["$ref"].rsplit("/", 1)[1]]
    return {**node, **own}


def _without(value: Any, paths: list[tuple[str | int, ...]]) -> Any:
    """A copy of ``value`` with the items at ``paths`` left out."""
    heads = {path[0]: [p[1:] for p in paths if p and p[0] == path[0]] for path in paths if path}
    if isinstance(value, dict):
        items = {k: v for k, v in value.items() if () not in heads.get(k, [])}
        return {k: _without(v, heads[k]) if k in heads else v for k, v in items.items()}
    if isinstance(value, list):
        return [_without(v, heads[i]) if i in heads else v for i, v in enumerate(value)]
    return value
