"""Reads the generated files, each at most once and only when a kind needs it."""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from schemas.kubernetes.objects.dialect import Schema, expand

DATA = Path(__file__).resolve().parent / "data"
NATIVE = "kubernetes.json"
REPEATED = "repeated.json"
"""File of the schemas that CRDs repeat, by name."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind that there is a schema of. ``name`` is ``apiVersion/kind``, ``scope`` is
    ``Namespaced`` or ``Cluster``, ``file`` is where its schema lies under ``data/``. ``large`` are
    CRDs that hold whole pods: reading one is cheap, but an API server works on each for a third of
    a second."""

    name: str
    scope: str
    file: str
    large: bool = False
    schema: Schema | None = None
    """The schema itself, of a kind whose definition is brought and is no file."""

    @property
    def native(self) -> bool:
        """True if Kubernetes itself serves the kind, not a CRD."""
        return self.file == NATIVE


@cache
def kinds() -> dict[str, Kind]:
    """Every known kind by ``apiVersion/kind``."""
    rows = read("index.json")
    found = (Kind(e["kind"], e["scope"], e["file"], e.get("large", False)) for e in rows)
    return {each.name: each for each in found}


@cache
def document(file: str) -> dict[str, Any]:
    """One generated file, its schemas whole, shared between callers: never change it."""
    stored: dict[str, Any] = read(file)
    for version in stored.get("versions", ()):
        schema = version["schema"]
        schema["openAPIV3Schema"] = expand(schema["openAPIV3Schema"], _shared_schema)
    return stored


def read(file: str) -> Any:
    """One generated file as it is, parsed anew."""
    return json.loads((DATA / file).read_bytes())


@cache
def _shared_schema(name: str) -> Schema:
    """A schema that CRDs repeat, whole. Each is read once: to expand it anew would cost more."""
    return expand(document(REPEATED)[name], _shared_schema)


def definitions() -> dict[str, Schema]:
    """Kubernetes' own definitions by name."""
    return document(NATIVE)["definitions"]  # type: ignore[no-any-return]


def root(kind: Kind) -> Schema:
    """The stored schema of a kind."""
    if kind.schema is not None:
        return kind.schema
    stored = document(kind.file)
    if kind.native:
        return definitions()[stored["kinds"][kind.name]]
    return stored["versions"][0]["schema"]["openAPIV3Schema"]  # type: ignore[no-any-return]


def subresources(kind: Kind) -> dict[str, Any]:
    """The ``status`` and ``scale`` that a CRD asks for; nothing is known of native kinds."""
    if kind.native or kind.schema is not None:
        return {}
    return document(kind.file)["versions"][0].get("subresources", {})  # type: ignore[no-any-return]
