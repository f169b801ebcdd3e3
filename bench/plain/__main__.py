"""The same objects in a plain Pulumi program: default provider, default settings, no components.

``PLAIN_MANIFESTS`` is the folder that ``foresite render`` wrote. Kubernetes' own kinds are made by
their classes, those of CRDs by ``CustomResource``; all wait for the namespace.
"""

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pulumi
import pulumi_kubernetes as k8s
import yaml

Json = dict[str, Any]


def register(body: Json, options: pulumi.ResourceOptions) -> None:
    """One object, named as it is in the cluster."""
    api_version, kind, metadata = str(body["apiVersion"]), str(body["kind"]), body["metadata"]
    name = f"{kind}-{metadata['name']}"
    rest = {k: v for k, v in body.items() if k not in ("apiVersion", "kind", "metadata")}
    if native := native_class(api_version, kind):
        arguments = {argument(field): value for field, value in rest.items()}
        native(name, metadata=metadata, **arguments, opts=options)
        return
    k8s.apiextensions.CustomResource(
        name, api_version=api_version, kind=kind, metadata=metadata, opts=options, **rest
    )


def native_class(api_version: str, kind: str) -> Callable[..., object] | None:
    """The class of one of Kubernetes' own kinds; None for a custom resource.

    pulumi_kubernetes has a module for each API group of Kubernetes, by the first part of its name.
    The groups of custom resources have other endings.
    """
    group, _, version = api_version.rpartition("/")
    if "." in group and not group.endswith(".k8s.io"):
        return None
    module = getattr(k8s, group.partition(".")[0] or "core", None)
    found: Callable[..., object] | None = getattr(getattr(module, version, None), kind, None)
    return found


def argument(field: str) -> str:
    """A field's name as the classes spell it: ``role_ref`` for ``roleRef``."""
    return re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", field)


def main() -> None:
    """Register every object of the folder."""
    files = sorted(Path(os.environ["PLAIN_MANIFESTS"]).rglob("*.yaml"))
    bodies: list[Json] = [
        body
        for path in files
        for body in yaml.load_all(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    ]
    (first,) = (body for body in bodies if body["kind"] == "Namespace")
    namespace = k8s.core.v1.Namespace("namespace", metadata=first["metadata"])
    for body in bodies:
        if body["kind"] != "Namespace":
            register(body, pulumi.ResourceOptions(depends_on=[namespace]))


main()
