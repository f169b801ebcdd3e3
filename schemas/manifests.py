"""Kubernetes manifests that a site brings, read into plain data.

These are Kubernetes' own YAML, not site files: read as kubectl reads them (YAML 1.1 words, several
documents), and judged by the real schemas.
"""

import functools
from typing import Any

import yaml


@functools.lru_cache(maxsize=64)
def read_manifests(text: str) -> tuple[dict[str, Any], ...]:
    """The objects of a YAML stream, in its order, with ``List`` objects taken apart.

    Raises ValueError with a line where the text is not YAML, or an object has no apiVersion, kind
    or name.
    """
    try:
        documents = list(yaml.load_all(text, Loader=yaml.CSafeLoader))
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f" at line {mark.line + 1}" if mark else ""
        raise ValueError(f"not YAML{where}") from None
    objects: list[dict[str, Any]] = []
    for number, document in enumerate(documents, start=1):
        if document is None:
            continue
        listed = isinstance(document, dict) and document.get("kind") == "List"
        items = document.get("items") if listed else [document]
        for item in items if isinstance(items, list) else [items]:
            _demand_identity(item, number)
            objects.append(item)
    return tuple(objects)


def _demand_identity(item: Any, number: int) -> None:
    metadata = item.get("metadata") if isinstance(item, dict) else None
    name = metadata.get("name") if isinstance(metadata, dict) else None
    named = isinstance(name, str) and isinstance(metadata.get("labels", {}), dict)
    if not named or not all(isinstance(item.get(key), str) for key in ("apiVersion", "kind")):
        raise ValueError(f"document {number} has no apiVersion, kind or metadata.name")
