"""Forms of keys and passwords, as data: forms of keys, names of secrets, harmless values. A form is
a key's own, such as a prefix that its maker gave it; where a key has none, only the name beside it
tells. The patterns are in secret_forms.toml, with what each is for; sources are the makers' own
pages, by their titles. Who reads texts by this is secret_scan.py."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from schemas.kubernetes.tables import read_table


class Form(NamedTuple):
    """A kind of key that is known by its form: what it is, words of which one stands in each (they
    are found a hundred times faster), how it looks, and where that is from."""

    what: str
    words: tuple[str, ...]
    pattern: str
    source: str


_TABLE = read_table(__file__)


def _whole(pieces: Iterable[str]) -> str:
    """A pattern in one piece, with its parts in their places."""
    parts = _TABLE["parts"]
    return re.sub("<([A-Z0-9_]+)>", lambda part: _whole(parts[part[1]]), "".join(pieces))


FORMS, SPOKEN = (
    tuple(Form(e["what"], tuple(e["words"]), _whole(e["pattern"]), e["source"]) for e in forms)
    for forms in (_TABLE["form"], _TABLE["spoken"].values())
)
"""Keys that are known by their form alone, whatever they are called; and what people say."""
WRITTEN_OUT: str = _TABLE["spoken"]["written_out"]["what"]
"""Words for a value that is a secret by its name alone."""
IN_A_COMMAND: str = _TABLE["spoken"]["command"]["what"]
"""Words for a secret of which the words before it tell."""
IN_A_URL = "a user or a password in a URL"
"""Words for a secret that no form of this table has: URLs are read part by part."""
HIDDEN_ONLY = tuple(
    (each["word"], _whole(each["before"]), _whole(each["looks"])) for each in _TABLE["hidden_only"]
)
ACCOUNT_SCHEMES, IN_PLACE, NAMED, ABOUT, ASSIGNED, REFERENCE, IN_TEXT, WORD = (
    re.compile(_whole(pieces)) for pieces in _TABLE["patterns"].values()
)
_PARTS = ("pass", "pwd", "secret", "token", "credential")
SOUNDS = re.compile("|".join((*_PARTS, "key")))
"""Parts of names in small letters: each name of a secret has one, most other names have none."""
_KINDS = _TABLE["parts"]["KINDS"].split("|")
HINTS = (*_PARTS, *(f"{kind}{mark}key" for kind in _KINDS for mark in ("", "-", "_")))
"""Parts of names of secrets, in small letters: to search for these is cheap."""
