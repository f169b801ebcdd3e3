"""Plain data to YAML text that every YAML reader understands alike.

PyYAML's C emitter takes ten times as long for the same objects, and the fast Rust ones leave
``on``, ``yes`` and ``12:30`` unquoted, which YAML 1.1 readers (kubectl among them) take for other
things. So: block style, keys in the given order, and quotes around every text that is not
plainly a word. docs/decisions/0004-yaml-output.md has the figures.
"""

import functools
import json
import math
import re
from typing import Any

_PLAIN = re.compile(
    r"(?!(?i:y|n|yes|no|on|off|true|false|null|nan|inf)\Z)"
    r"[A-Za-z/][A-Za-z0-9_./@%+-]*(?::[A-Za-z0-9_./@%+-]+)*"
)
"""Words that every version of YAML takes for text."""


def dump(value: Any) -> str:
    """``value`` (maps with text keys, lists, text, finite numbers, booleans, None) as YAML;
    TypeError for anything else."""
    lines: list[str] = []
    _emit(value, "", lines)
    return "\n".join(lines) + "\n"


def dump_json(value: Any, indent: int) -> str:
    """``value`` as lines of JSON."""
    return json.dumps(value, indent=indent) + "\n"


def dump_all(values: list[Any]) -> str:
    """Several documents, separated as kubectl expects."""
    return "---\n".join(map(dump, values))


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
