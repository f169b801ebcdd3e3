"""From a YAML document to a typed model: every fault of a value as a problem at its place, with a
code; wording.py has the words, partial.py what is done with the rest of a faulty file."""

import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from schemas.kubernetes.masking import shorten
from schemas.kubernetes.secret_scan import is_secret_name
from schemas.model.codes import Code
from schemas.model.own_components import missing
from schemas.model.primitives import Model
from schemas.model.problem import Problem
from schemas.model.texts import Words, nearest, words
from schemas.reading import literal_secrets, wording
from schemas.reading.not_yet import NO_EFFECT, is_ipv6, not_yet
from schemas.reading.partial import Flaw, with_holes
from schemas.reading.paths import leaves
from schemas.reading.wording import schema_at, schema_of
from schemas.reading.yaml_reader import Document, Path

M = TypeVar("M", bound=Model)
TODO = "TODO"
"""Start of a value that only a person knows and that is still to be written."""
MAX_PROBLEMS = 500
"""More than a person reads at once; it also bounds the time that a hostile file can take."""


class _Marked(NamedTuple):
    """A value that is told as it stands, whatever the model says, and what becomes of it."""

    problem: Problem
    flaw: Flaw


class _Fault(NamedTuple):
    """A fault that pydantic found: ``key`` says that it is the key at ``path`` which is wrong.
    ``said`` are pydantic's words, or those of a validator of a component of one's own."""

    path: Path
    key: bool
    kind: str
    context: dict[str, Any]
    value: Any
    said: str


def parse(model: type[M], document: Document) -> tuple[M | None, list[Problem]]:
    """The document as ``model``, and its problems. With some the model has holes, for judging what
    is left (schemas/reading/partial.py); None where nothing is."""
    marked = {**dict(_todos(document)), **dict(_secrets(document, lambda: schema_of(model)))}
    problems = [each.problem for each in marked.values()]
    flaws = {path: each.flaw for path, each in marked.items()}
    try:
        made: M | None = model.model_validate(document.value)
        if not problems:
            return made, []
    except ValidationError as error:
        faults = [_fault(each, document) for each in error.errors(include_url=False)]
        faults = [each for each in faults if each.path not in marked or _is_entry(each)]
        schema = schema_of(model)
        meant = _misspelt_fields(faults, schema)
        misspelt = set(meant.values())
        problems += [
            _problem(fault, document, schema, meant.get(fault.path))
            for fault in faults[:MAX_PROBLEMS]
            if fault.kind != "missing" or fault.path not in misspelt
        ]
        flaws |= {each.path: Flaw.ENTRY if _is_entry(each) else Flaw.VALUE for each in faults}
    if len(flaws) > MAX_PROBLEMS:
        return None, problems
    return with_holes(model, document.value, flaws.items()), problems


def readable(document: Document, path: Path) -> str:
    """A path as a person would write it: list items by their name where they have one."""
    text, value = "", document.value
    for step in path:
        value = value[step] if _has(value, step) else None  # type: ignore[index]
        name = value.get("name") if isinstance(step, int) and isinstance(value, dict) else None
        if isinstance(step, int) and not isinstance(name, str):
            text += f"[{step}]"
        else:
            said = shorten(name or step)
            text += f".{said}" if text else said
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
    """A problem at a path of a document, with the value (or the key) that is there."""
    document, path = document.source(path)
    line, column = document.position(path, key=key)
    value = path[-1] if key and path else value_at(document, path)
    # A fraction is not shown as it was written (1.10 is 1.1), and a secret is not shown at all.
    hidden = value is None or isinstance(value, dict | list | float) or code is Code.SECRET_IN_FILE
    hidden = hidden or (not key and literal_secrets.refers(path))
    said = "" if hidden else wording.show(value)
    return Problem(document.file, line, column, code, readable(document, path), said, message, fix)


def places(document: Document, paths: Iterable[Path], *, key: bool = False) -> Iterator[str]:
    """``file:line:column path`` of each path of a document that is written there."""
    for path in paths:
        if value_at(document, path) is not None:
            file, line, column = document.place(path, key=key)
            yield f"{file}:{line}:{column} {readable(*document.source(path))}"


def _has(value: Any, step: str | int) -> bool:
    if isinstance(value, dict):
        return step in value
    return isinstance(value, list) and isinstance(step, int) and step < len(value)


def _todos(document: Document) -> Iterator[tuple[Path, _Marked]]:
    for path, value in leaves(document.value):
        if isinstance(value, str) and value.startswith(TODO):
            note = shorten(value[len(TODO) :].strip(" :")) or "a value that only a person knows"
            yield path, _Marked(place(document, path, *words("todo-left", note)), Flaw.VALUE)


def _secrets(document: Document, schema: literal_secrets.Schema) -> Iterator[tuple[Path, _Marked]]:
    """Every value that looks like a secret, with its problem and what is left of it."""
    for path, found in literal_secrets.in_document(document, schema):
        said = (found.message, found.fix)
        problem = place(document, path, Code.SECRET_IN_FILE, *said, key=found.key)
        yield path, _Marked(problem, Flaw.ENTRY if found.key else Flaw.VALUE)


def _fault(detail: ErrorDetails, document: Document) -> _Fault:
    path = tuple(detail["loc"])
    kind = detail["type"]
    # pydantic marks a wrong key by a last step "[key]", which a field may be called as well.
    key = path[-1:] == ("[key]",) and kind != "extra_forbidden"
    key = key and not _has(value_at(document, path[:-1]), path[-1])
    said = detail["msg"].partition("error, ")[2] or detail["msg"]
    context = detail.get("ctx", {})
    return _Fault(path[:-1] if key else path, key, kind, context, detail["input"], said)


def _is_entry(fault: _Fault) -> bool:
    return fault.key or fault.kind == "extra_forbidden"


def _misspelt_fields(faults: list[_Fault], schema: dict[str, Any]) -> dict[Path, Path]:
    """The path of each misspelt field, with the path of the known field that was meant."""
    unknown = [fault.path for fault in faults if fault.kind == "extra_forbidden"]
    found = {}
    for path in unknown[:MAX_PROBLEMS]:
        near = nearest(str(path[-1]), schema_at(schema, path[:-1]).get("properties", ()))
        if near is not None:
            found[path] = (*path[:-1], near)
    return found


def _problem(
    fault: _Fault, document: Document, schema: dict[str, Any], meant: Path | None
) -> Problem:
    path, kind = fault.path, fault.kind
    around = schema_at(schema, path[:-1])
    node = around.get("propertyNames", {}) if fault.key else schema_at(schema, path)
    if path and isinstance(path[-1], int) and "description" in around:
        node = {"description": around["description"], **node}  # a list says what its items are
    plain = isinstance(fault.value, str | int | float)
    if literal_secrets.refers(path) and plain and not fault.key:
        said = wording.not_shown(node)
    elif "fix" in fault.context:
        said = Words(Code(kind), fault.context["message"], fault.context["fix"])
    elif kind == "extra_forbidden":
        return _unknown_field(document, path, schema, meant)
    elif kind == "missing":
        said = words("field-missing", path[-1], wording.belongs(node))
        return place(document, path[:-1], *said)
    elif kind in wording.TYPES:
        required = path[-1:] == () or path[-1] in around.get("required", (path[-1],))
        said = wording.wrong_type(kind, fault.value, node, required=required)
    elif kind in ("enum", "literal_error"):
        said = wording.not_allowed(fault.value, node)
    elif kind == "string_pattern_mismatch":
        said = wording.misfit(fault.value, fault.context["pattern"], node)
        if "IPv4" in said.message and is_ipv6(fault.value):
            fix = said.fix
            return place(document, path, *words("ipv4-alone", wording.show(fault.value), fix))
    else:
        said = wording.out_of_bounds(kind, fault.context, fault.value, node, fault.said)
    return place(document, path, *said, key=fault.key)


def _unknown_field(
    document: Document, path: Path, schema: dict[str, Any], meant: Path | None
) -> Problem:
    name = str(path[-1])
    if is_secret_name(name):
        return place(document, path, *words("field-secret", shorten(name)), key=True)
    if path == ("components", name) and meant is None:
        return place(document, path, Code.OWN_COMPONENT, *missing(shorten(name)), key=True)
    if meant is None and (part := not_yet(name)):
        found = place(document, path, *words("field-not-yet", shorten(name), *part), key=True)
        return replace(found, reason=NO_EFFECT)
    beside = schema_at(schema, path[:-1]).get("properties", ())
    known = ", ".join(beside)
    fix = f"remove it; known here: {textwrap.shorten(known, 170, placeholder=' …')}"
    inside = {each: schema_at(schema, (*path[:-1], each)) for each in beside}
    if within := [each for each, node in inside.items() if name in node.get("properties", ())]:
        fix = f"write it as {' or '.join(f'{each}.{name}' for each in within)}"
    if meant is not None:
        fix = f"write {meant[-1]}"
    return place(document, path, *words("field-unknown", shorten(name), fix), key=True)
