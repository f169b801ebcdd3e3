"""The semantic diff below the verdict: which fields of an object differ in meaning.

compared.py is the way in. pairing.py lays two objects out alike, by the kinds of their fields
(kinds.py, from the real schemas), the keys of their lists (listkeys.py), quantities (quantities.py)
and the data inside texts (embedded.py); deepdiff finds what comes and goes in the rest."""

from preview.differences.fields.compared import MAX_LINES, compare_fields, show_path, text_lines

__all__ = ["MAX_LINES", "compare_fields", "show_path", "text_lines"]
