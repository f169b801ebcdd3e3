"""Manifests that are text, read as those who apply them do: another reading would judge something
else than what is applied. What cannot be read is told, as nobody can say what is in it.
"""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from policies.rule import Json
from schemas.kubernetes.manifests import ManifestError, read_documents

MAX_CHARACTERS = 2_000_000
"""An object of Kubernetes has at most 1.5 MiB (etcd, --max-request-bytes)."""
_FIELD = r"^[ \t{{,-]*[\"']?{}[\"']?[ \t]*:"
_FIELDS = tuple(re.compile(_FIELD.format(name), re.MULTILINE) for name in ("apiVersion", "kind"))
"""The fields that every object has, each at the start of a line."""


class Read(NamedTuple):
    """The objects of a text, or why a text that has some cannot be read; neither of a text that is
    something else, such as a script."""

    objects: tuple[Json, ...] = ()
    fault: str = ""


def read(text: str) -> Read:
    """The Kubernetes objects of a YAML or JSON text, lists of them taken apart."""
    try:
        if len(text) > MAX_CHARACTERS:
            return _fault(text, f"it has more than {MAX_CHARACTERS} characters")
        documents = read_documents(text, strict=False)
        return Read(tuple(each for document, _ in documents for each in _objects_in(document)))
    except ManifestError as error:
        return _fault(text, f"{error.detail or error} (line {error.line})")
    except UnicodeError as error:
        return _fault(text, str(error))


def _fault(text: str, why: str) -> Read:
    # A script that writes a manifest has these fields as well, within its lines.
    named = all(field.search(text) for field in _FIELDS)
    return Read(fault=why if named else "")


def _objects_in(document: Any) -> Iterator[Json]:
    if not isinstance(document, dict):
        return
    if document.get("kind") == "List" and isinstance(document.get("items"), list):
        for item in document["items"]:
            yield from _objects_in(item)
    elif document.get("apiVersion") and isinstance(document.get("kind"), str):
        yield document
