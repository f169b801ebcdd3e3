"""The reference pages of site files' fields and of problems' codes, from the model: ``python -m
schemas.reference`` writes docs/site-file.md and docs/problems.md."""

import sys
from collections.abc import Iterator
from pathlib import Path as FilePath
from typing import Any

from schemas.kubernetes.tables import read_table, write_pages
from schemas.model.codes import Code
from schemas.model.region import BUNDLED, KEYS, Bundles
from schemas.model.site_file import SiteFile
from schemas.reading.document import Path
from schemas.reading.host_list import EVERY_COLUMN
from schemas.reading.wording import Node, schema_at

DOCS = FilePath(__file__).resolve().parent.parent / "docs"
_TEXTS = read_table(__file__)


def pages() -> dict[str, str]:
    """The generated pages by file name."""
    return {"site-file.md": site_file(), "problems.md": problems()}


def problems() -> str:
    """Every code with why it hurts."""
    rows = [f"| `{code.value}`{' (hint)' * code.hint} | {code.why} |" for code in sorted(Code)]
    return "\n".join(
        ["# Problems", "", _TEXTS["problems"], "", "| code | why |", "|---|---|", *rows, ""]
    )


def site_file() -> str:
    """Every field of a site file and every column of a host list."""
    lines = ["# The site file", "", _TEXTS["site_file"], ""]
    schema = SiteFile.model_json_schema()
    for title, path, node in _sections(schema):
        text = _about(schema, path)
        lines += [f"## {title}", "", *([text, ""] if path else [])]
        lines += ["| field | value | default | meaning |", "|---|---|---|---|"]
        required = set(node.get("required", ()))
        for name in node["properties"]:
            lines.append(_row(name, schema_at(schema, (*path, name)), name in required))
        lines.append("")
    keys = [f"| `{'.'.join(key)}` | {_about(schema, key)} |" for key in KEYS]
    bundles = Bundles.model_json_schema()
    keys += [f"| `bundles.{kind}` | {_about(bundles, (kind,))} |" for kind in BUNDLED]
    columns = [f"| `{name}` | {c.meaning} | `{c.example}` |" for name, c in EVERY_COLUMN.items()]
    lines += ["# The region", "", _TEXTS["region"], "", "| key | meaning |", "|---|---|", *keys, ""]
    lines += ["# The host list", "", _TEXTS["host_list"], "", "| column | value | example |"]
    return "\n".join([*lines, "|---|---|---|", *columns, ""])


def _sections(schema: Node, path: Path = ()) -> Iterator[tuple[str, Path, Node]]:
    node = schema_at(schema, path)
    if "properties" not in node:
        return
    yield _title(path), path, node
    for name in node["properties"]:
        child = schema_at(schema, (*path, name))
        inner: Path = (*path, name)
        if child.get("type") == "array":
            inner = (*inner, 0)
        elif isinstance(child.get("additionalProperties"), dict) or "patternProperties" in child:
            inner = (*inner, "<name>")
        if path[:1] == ("pools",) and name in ("first_boot", "kubelet", "host_settings"):
            continue  # the same as the site's own
        yield from _sections(schema, inner)


def _about(schema: Node, path: Path) -> str:
    return " ".join(str(schema_at(schema, path).get("description", "")).split())


def _title(path: Path) -> str:
    text = ""
    for step in path:
        text += "[]" if isinstance(step, int) else f".{step}" if text else step
    return f"`{text}`" if text else "The whole"


def _row(name: str, node: Node, required: bool) -> str:
    default = "required" if required else f"`{_default(node.get('default'))}`"
    text = " ".join(str(node.get("description", "")).split())
    return f"| `{name}` | {_kind(node)} | {default} | {text} |"


def _default(value: Any) -> str:
    if isinstance(value, dict):
        return "see below" if value else "{}"
    if isinstance(value, bool):
        return str(value).lower()
    return "unset" if value is None else str(value)


def _kind(node: Node) -> str:
    if "enum" in node:
        return ", ".join(f"`{each}`" for each in node["enum"])
    kind = {"integer": "whole number", "string": "text", "array": "list", "object": "map"}.get(
        str(node.get("type")), str(node.get("type", ""))
    )
    bounds = [str(node[key]) for key in ("minimum", "maximum") if key in node]
    limits = f", {' to '.join(bounds)}" if bounds else ""
    return kind + limits + (f", such as `{node['examples'][0]}`" if node.get("examples") else "")


if __name__ == "__main__":
    sys.exit(write_pages({DOCS / name: text for name, text in pages().items()}, sys.argv[1:]))
