"""Reads the generated files, each at most once and only when a kind needs it."""

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from schemas.objects.dialect import Schema

DATA = Path(__file__).resolve().parent / "data"
NATIVE = "kubernetes.json"


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind that there is a schema of.

    ``name`` is ``apiVersion/kind``, ``scope`` is ``Namespaced`` or ``Cluster``, ``file`` is where
    its schema lies under ``data/``.
    """

    name: str
    scope: str
    file: str

    @property
    def native(self) -> bool:
        """Whether Kubernetes itself serves it, not a CRD."""
        return self.file == NATIVE


@cache
def kinds() -> dict[str, Kind]:
    """Every known kind by ``apiVersion/kind``."""
    return {row["kind"]: Kind(row["kind"], row["scope"], row["file"]) for row in read("index.json")}


@cache
def document(file: str) -> dict[str, Any]:
    """One generated file, shared between callers: never change it."""
    return read(file)  # type: ignore[no-any-return]


def read(file: str) -> Any:
    """One generated file, parsed anew."""
    return json.loads((DATA / file).read_bytes())


def definitions() -> dict[str, Schema]:
    """Kubernetes' own definitions by name."""
    return document(NATIVE)["definitions"]  # type: ignore[no-any-return]


def root(kind: Kind) -> Schema:
    """The stored schema of a kind."""
    stored = document(kind.file)
    if kind.native:
        return definitions()[stored["kinds"][kind.name]]
    return stored["versions"][0]["schema"]["openAPIV3Schema"]  # type: ignore[no-any-return]


def subresources(kind: Kind) -> dict[str, Any]:
    """The ``status`` and ``scale`` that a CRD asks for; nothing is known of native kinds."""
    if kind.native:
        return {}
    return document(kind.file)["versions"][0].get("subresources", {})  # type: ignore[no-any-return]
