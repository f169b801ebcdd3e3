"""The outline of an object: what it shares with all that differ from it in a few texts alone.

A site has hundreds of BareMetalHosts of one shape. What is said of an outline without reading one
of these texts, its leaves, holds for each object that has it. An object whose leaves are not plain
words has no outline, and is treated by itself. Whoever reads a leaf of a blank object raises
LeafRead, and has to look at each object instead: so no reader has to know of outlines.
"""

import marshal
import re
from typing import Any, NamedTuple

from schemas.kubernetes.node_labels import OWN_DOMAIN

Json = dict[str, Any]
RACK, BOOT_MAC, SERIAL = (f"{OWN_DOMAIN}/{name}" for name in ("rack", "boot-mac", "serial"))
LEAVES = 7
_WORDS = re.compile(r"[\w:/.@+-]{1,200}(?:\n[\w:/.@+-]{1,200})*", re.ASCII)
LONGEST = LEAVES * 200
"""Bytes of all leaves together."""
MOST_BYTES = 8192
"""Most bytes of the text that objects of one outline share: no limit of size is near."""
MOST = 8192
"""Objects whose outlines are kept; the largest site has a tenth."""


class Outline(NamedTuple):
    """The part that an object shares with others, and the texts that are its own."""

    key: bytes
    leaves: tuple[str, ...]


class LeafRead(Exception):
    """The text of a leaf matters to whoever looks at a blank object."""


class Leaf:
    """A text that nobody can read: to compare it, to show it or to use it raises. ``type(leaf)``
    and ``leaf is None`` do not, so rules ask ``isinstance``, which does."""

    def _read(self, *_: object) -> Any:
        raise LeafRead

    __getattribute__ = __eq__ = __hash__ = __bool__ = __str__ = __repr__ = __format__ = _read


class Blank(Json):
    """An object whose leaves cannot be read."""


_LEAVES = tuple(Leaf() for _ in range(LEAVES))
_known: dict[int, tuple[Json, Outline | None]] = {}


def outline(body: Json) -> Outline | None:
    """The outline of a BareMetalHost, None of any other object; each object is looked at once."""
    known = _known.get(id(body))
    if known is None:
        if len(_known) >= MOST:
            _known.clear()
        # The object is kept beside the answer: as long as it is, no other has its identity.
        known = _known[id(body)] = (body, _outline(body))
    return known[1]


def _outline(body: Json) -> Outline | None:
    if body.get("kind") != "BareMetalHost":
        return None
    try:
        leaves = _leaves(body)
        text = "\n".join(leaves)
        if text.count("\n") >= LEAVES or not _WORDS.fullmatch(text) or "apiVersion" in text:
            return None
        # Version 2 writes the same bytes for the same plain data, and refuses everything else.
        key = marshal.dumps(filled(body, (None,) * LEAVES), 2)
        return Outline(key, leaves) if len(key) < MOST_BYTES else None
    except (KeyError, TypeError, ValueError):
        return None  # malformed, or no plain data


def _leaves(body: Json) -> tuple[str, ...]:
    metadata, spec = body["metadata"], body["spec"]
    annotations, bmc = metadata["annotations"], spec["bmc"]
    names = metadata["name"], metadata["labels"][RACK], annotations[BOOT_MAC], annotations[SERIAL]
    return (*names, bmc["address"], bmc["credentialsName"], spec["bootMACAddress"])


def filled(body: Json, leaves: tuple[Any, ...]) -> Json:
    """A copy of an object that has an outline, with other leaves at the places of its own."""
    name, rack, mac, serial, address, credentials, boot = leaves
    metadata, spec = body["metadata"], body["spec"]
    labels = {**metadata["labels"], RACK: rack}
    annotations = {**metadata["annotations"], BOOT_MAC: mac, SERIAL: serial}
    bmc = {**spec["bmc"], "address": address, "credentialsName": credentials}
    return {
        **body,
        "metadata": {**metadata, "name": name, "labels": labels, "annotations": annotations},
        "spec": {**spec, "bmc": bmc, "bootMACAddress": boot},
    }


def blank(body: Json) -> Blank:
    """An object that has an outline, with leaves that cannot be read."""
    return Blank(filled(body, _LEAVES))
