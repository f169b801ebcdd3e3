"""A person's edits between two sides of a site: each (edit.py), its place, and how to do it alone.
values.py is the way in; hosts.py is for the host list, texts.py for files that a site names."""

from preview.differences.edits.edit import Edit, Input
from preview.differences.edits.values import edits

__all__ = ["Edit", "Input", "edits"]
