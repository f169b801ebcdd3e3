"""The report as one HTML file, for the artifact of a run and for reading offline.

It loads nothing and runs nothing: no script, no font, no image, and a Content-Security-Policy that
would forbid them. Text of others is escaped by jinja2 and never stands in a script; in attributes
are only paths, quoted for an address.
"""

import base64
import hashlib
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup

from preview.report.blocks import Code, Line, Names, Room, Table
from preview.report.drawings import drawings
from preview.report.overview import report
from preview.report.phrase import Strong, Value, plain
from preview.result import Preview

ROOM = Room(groups=1_000, fields=200, lines=60, ranges=50, rows=2_000, pictures=6)
ROOM = ROOM._replace(every_host=True, sources=True)


def render(preview: Preview) -> str:
    """The page."""
    style = (Path(__file__).parent / "report.css").read_text("utf-8")
    return _template().render(
        report=report(preview, ROOM),
        style=Markup(style),  # noqa: S704  our own file, and the only text that is not escaped
        policy=_policy(style),
    )


def _policy(style: str) -> str:
    """The content security policy for the browser: our style alone, by its hash."""
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


@cache
def _template() -> Template:
    found = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    for name, kind in _KINDS.items():
        found.tests[name] = lambda thing, kind=kind: isinstance(thing, kind)
    found.filters["plain"] = plain
    found.filters["drawings"] = drawings
    return found.get_template("report.html.j2")


_KINDS = {kind.__name__.lower(): kind for kind in (Value, Strong, Line, Table, Names, Code)}
