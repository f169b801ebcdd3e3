"""The kinds that the stored schemas cover (kinds.toml); :mod:`tools.crds` makes them."""

import tomllib
from pathlib import Path

_TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
CRDS: dict[str, list[str]] = _TABLES["crds"]
FETCHED: dict[str, dict[str, str]] = _TABLES["fetched"]
KUBERNETES: str = _TABLES["kubernetes"]
NEWEST_KUBERNETES: str = _TABLES["newest_kubernetes"]


def native_kinds() -> list[str]:
    """The wanted kinds of Kubernetes itself as ``apiVersion/Kind``."""
    return [f"{api}/{kind}" for api, kinds in _TABLES["native"].items() for kind in kinds]


def native_scope(kind: str) -> str:
    """``Cluster`` or ``Namespaced`` for an ``apiVersion/Kind`` of Kubernetes itself."""
    return "Cluster" if kind.rpartition("/")[2] in _TABLES["cluster_scoped"] else "Namespaced"
