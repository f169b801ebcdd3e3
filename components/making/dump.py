"""Plain data to YAML text that every YAML reader understands alike.

PyYAML's C emitter takes ten times as long for the same objects, and the fast Rust ones leave
``on``, ``yes`` and ``12:30`` unquoted, which YAML 1.1 readers (kubectl among them) take for other
things. So: block style, keys in the given order, and quotes around every text that is not
plainly a word. docs/decisions/0004-yaml-output.md has the figures.
"""

import functools
import json
import marshal
import math
import re
from typing import Any, NamedTuple

from schemas.kubernetes.outline import filled, outline

_PLAIN = re.compile(
    r"(?!(?i:y|n|yes|no|on|off|true|false|null|nan|inf)\Z)"
    r"[A-Za-z/][A-Za-z0-9_./@%+-]*(?::[A-Za-z0-9_./@%+-]+)*"
)
"""Words that every version of YAML takes for text."""
MOST_KNOWN, MOST_BYTES = 512, 16384
"""Texts that are kept, and the size of what each says."""


def dump(value: Any) -> str:
    """``value`` (maps with text keys, lists, text, finite numbers, booleans, None) as YAML.

    Raises TypeError for anything else.
    """
    if type(value) is not dict or not value:
        return _text_of(value)
    return "".join([_entry_text(key, item) for key, item in value.items()])


def _entry_text(key: str, item: Any) -> str:
    """One entry of a map. Teams, pools and the states of a site have many of them alike."""
    data = _packed({key: item}) if item and type(item) in (dict, list) else b""
    return _known_text(data) if data else _text_of({key: item})


def dump_json(value: Any, indent: int) -> str:
    """``value`` as lines of JSON: Python takes long to indent, and files are often the same."""
    data = _packed(value)
    return _known_json(data, indent) if data else json.dumps(value, indent=indent) + "\n"


def _packed(value: Any) -> bytes:
    """The bytes that stand for plain data, down to the types of numbers and the order of maps;
    none for what is no plain data, is nested too deep, or is too large to be kept."""
    try:
        data = marshal.dumps(value, 2)
    except ValueError:
        return b""
    return data if len(data) <= MOST_BYTES else b""


@functools.lru_cache(maxsize=MOST_KNOWN)
def _known_text(data: bytes) -> str:
    return _text_of(marshal.loads(data))  # noqa: S302  written above


@functools.lru_cache(maxsize=MOST_KNOWN)
def _known_json(data: bytes, indent: int) -> str:
    return json.dumps(marshal.loads(data), indent=indent) + "\n"  # noqa: S302  written above


def _text_of(value: Any) -> str:
    lines: list[str] = []
    _emit(value, "", lines)
    return "\n".join(lines) + "\n"


def dump_all(values: list[Any]) -> str:
    """Several documents, separated as kubectl expects; those of one outline by one template."""
    templates: dict[bytes, _Template] = {}
    return "---\n".join(_document(value, templates) for value in values)


class _Template(NamedTuple):
    """The text of an object with a ``%s`` for each leaf of its outline, and their order in it."""

    text: str
    order: tuple[int, ...]


def _document(value: Any, templates: dict[bytes, _Template]) -> str:
    found = outline(value) if isinstance(value, dict) else None
    if found is None:
        return dump(value)
    if found.key not in templates:
        templates[found.key] = _template(value, len(found.leaves))
    text, order = templates[found.key]
    return text % tuple([_text(found.leaves[index]) for index in order])


def _template(value: Any, leaves: int) -> _Template:
    mark, text = "leaf", dump(value)
    while mark in text:
        mark += "f"
    text = dump(filled(value, tuple(f"{mark}{index}" for index in range(leaves))))
    found = re.compile(rf"{mark}(\d)")
    return _Template(found.sub("%s", text.replace("%", "%%")), (*map(int, found.findall(text)),))


def _emit(value: Any, indent: str, lines: list[str]) -> None:
    if isinstance(value, dict) and value:
        for key, item in value.items():
            # Most lines are a key and a word: they take the short way.
            if type(item) is str and "\n" not in item:
                lines.append(f"{indent}{_text(key)}: {_text(item)}")
            else:
                _entry(f"{indent}{_scalar(key)}:", item, indent, lines)
    elif isinstance(value, list) and value:
        for item in value:
            _item(item, indent, lines)
    else:
        lines.append(indent + _scalar(value))


def _entry(head: str, item: Any, indent: str, lines: list[str]) -> None:
    if item and isinstance(item, dict):
        lines.append(head)
        _emit(item, indent + "  ", lines)
    elif item and isinstance(item, list):
        lines.append(head)
        _emit(item, indent, lines)
    elif isinstance(item, str) and "\n" in item and _literal(item):
        lines.append(head + (" |" if item.endswith("\n") else " |-"))
        lines.extend(indent + "  " + line if line else "" for line in item.splitlines())
    else:
        lines.append(f"{head} {_scalar(item)}")


def _item(item: Any, indent: str, lines: list[str]) -> None:
    if item and isinstance(item, dict | list):
        start = len(lines)
        _emit(item, indent + "  ", lines)
        lines[start] = f"{indent}- {lines[start][len(indent) + 2 :]}"
    else:
        lines.append(f"{indent}- {_scalar(item)}")


def _literal(text: str) -> bool:
    """True if a text can stand as a literal block without losing or hiding anything."""
    body = text.removesuffix("\n")
    blank = body.startswith((" ", "\n")) or body.endswith("\n")
    return body != "" and not blank and body.replace("\n", "").isprintable()


def _scalar(value: Any) -> str:
    if isinstance(value, str):
        return _text(value)
    if value is None or isinstance(value, bool | int):
        return json.dumps(value)
    if isinstance(value, float) and math.isfinite(value):
        # YAML 1.1 takes 1e+16 for text: its numbers with an exponent have a point.
        text = repr(value)
        return text if "." in text else text.replace("e", ".0e")
    if isinstance(value, dict | list):
        return "{}" if isinstance(value, dict) else "[]"
    raise TypeError(f"not plain data: {type(value).__name__}")


@functools.lru_cache(maxsize=65536)
def _text(value: str) -> str:
    if _PLAIN.fullmatch(value):
        return value
    # JSON's double quotes are YAML's, and mean the same in every version of it; but for what lies
    # outside JSON's \\uXXXX.
    if value.isascii():
        return json.dumps(value)
    return "".join(_escape(c) for c in json.dumps(value, ensure_ascii=False))


def _escape(character: str) -> str:
    code = ord(character)
    if 0x20 <= code < 0x7F:
        return character
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
