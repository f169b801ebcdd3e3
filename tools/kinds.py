"""The kinds that the stored schemas cover (kinds.toml), and the stored CRDs that upstream's folder
lacks, as tools.fetched made them; :mod:`tools.crds` makes all others."""

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

_TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
CRDS: dict[str, list[str]] = _TABLES["crds"]
FETCHED: dict[str, dict[str, str]] = _TABLES["fetched"]
KUBERNETES: str = _TABLES["kubernetes"]
NEWEST: str = _TABLES["newest_kubernetes"]
"""The newest minor of Kubernetes, and above the oldest."""
Document = dict[str, Any]


def native_kinds() -> dict[str, str]:
    """The wanted kinds of Kubernetes itself as ``apiVersion/Kind``, each with its scope."""
    wide = _TABLES["cluster_scoped"]
    return {
        f"{api}/{kind}": "Cluster" if kind in wide else "Namespaced"
        for api, kinds in _TABLES["native"].items()
        for kind in kinds
    }


class SourceError(Exception):
    """A source is absent or is not what was pinned."""


def stored_documents(
    data: Path, whole: Callable[[Document, dict[str, Document]], Document]
) -> dict[str, Document]:
    """The stored document of each CRD in ``FETCHED`` by its file under ``data``, its schema made
    ``whole`` by what is repeated. SourceError where one is absent, or is not what is pinned."""
    found: dict[str, Document] = {}
    for name, source in FETCHED.items():
        file = f"crds/{name}.json"
        try:
            document = json.loads((data / file).read_bytes())
            repeated = json.loads((data / "repeated.json").read_bytes())
        except OSError as error:
            raise SourceError(f"{error}: run tools.fetched") from error
        if document["source"] != source:
            raise SourceError(f"{file} is not what tools/kinds.toml pins: run tools.fetched")
        place = document["versions"][0]["schema"]
        place["openAPIV3Schema"] = whole(place["openAPIV3Schema"], repeated)
        found[file] = document
    return found
