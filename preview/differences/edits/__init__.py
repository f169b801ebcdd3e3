"""The edits of a person between two sides of a site: each, its place, and how to do it alone.

values.py is the way in, and compares site files, catalogue and release; hosts.py the host list,
texts.py the files that a site names; edit.py is what an edit is.
"""

from preview.differences.edits.edit import Edit, Input
from preview.differences.edits.values import edits

__all__ = ["Edit", "Input", "edits"]
