"""A management cluster's file for sites of tests, which have none by themselves."""

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from schemas.facts.site import Site
from schemas.reading.catalogue import installed_files
from schemas.reading.tree import Tree
from schemas.rules.management import read_management

FILE = Path(__file__).with_suffix(".yaml")
"""The file of mgmt-jp-east, as an operator would write it."""
OPERATOR = """apiVersion: apps/v1
kind: Deployment
metadata: {name: controller-manager, namespace: baremetal-operator-system}
spec:
  selector: {matchLabels: {app: bmo}}
  template:
    metadata: {labels: {app: bmo}}
    spec: {containers: [{name: manager, image: "registry.example/bmo:v0.13.2", args: [--x]}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: ironic, namespace: baremetal-operator-system}
data: {IRONIC_NAME: other, BMO_CONCURRENCY: "30"}
---
apiVersion: v1
kind: Namespace
metadata: {name: baremetal-operator-system, labels: {theirs: kept}}
"""
"""Manifests as another project publishes them; no real ones."""


def put(root: Path, name: str = "mgmt-jp-east", more: str = "", **values: Any) -> Path:
    """Write the file of a management cluster, with other values of its keys."""
    said = yaml.safe_load(FILE.read_text("utf-8")) | {"management": name} | values
    if values.get("providers", said) is None:
        for key in {"sync_labels", "taints_in_place"} - values.keys():  # they are about providers
            said.pop(key, None)
    path = root / "management" / f"{name}.yaml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(yaml.safe_dump(said, sort_keys=False) + more)
    return path


def vendor(root: Path, text: str = OPERATOR) -> list[dict[str, str]]:
    """Write a file of manifests; what ``manifests`` says of it."""
    path = root / "management" / "vendor" / "bmo.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return [{"file": "vendor/bmo.yaml", "sha256": hashlib.sha256(text.encode()).hexdigest()}]


def managed_site(site: Site, root: Path | None = None, name: str = "mgmt-jp-east") -> Site:
    """A site whose management cluster has a file: that of ``root``, or FILE."""
    files = {**installed_files(), f"management/{name}.yaml": FILE.read_bytes()}
    found = read_management(Tree(files) if root is None else root, name)
    assert found, name
    assert found.managed, found.problems
    return replace(site, managed=found.managed)
