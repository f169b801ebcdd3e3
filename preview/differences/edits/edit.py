"""An edit: one value that was changed between two sides of a site, and how to do it alone."""

from collections.abc import Callable
from typing import NamedTuple

from preview.result import Cause
from schemas.facts.site import Site
from schemas.reading.tree import Folder
from schemas.reading.yaml_reader import Document

SHOWN = 80
"""Characters of a value that are shown."""


class Input(NamedTuple):
    """One side of a site that is free of problems; ``folder`` holds its files."""

    site: Site
    document: Document
    folder: Folder


class Edit(NamedTuple):
    """One value that was edited; ``host``: that of its line, if any. ``apply`` makes of either
    side's site the one with this edit alone done or undone; ValueError or LookupError if none."""

    cause: Cause
    apply: Callable[[Site, bool], Site]
    host: str = ""
