"""The same objects in a plain Pulumi program: default provider, default settings, no components.

``PLAIN_MANIFESTS`` is the folder that ``foresite render`` wrote. Kubernetes' own kinds are made by
their classes, those of CRDs by ``CustomResource``; all wait for the namespace.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pulumi
import pulumi_kubernetes as k8s
import yaml

Json = dict[str, Any]
NATIVE: dict[str, Callable[..., object]] = {
    "ConfigMap": k8s.core.v1.ConfigMap,
    "ValidatingAdmissionPolicy": k8s.admissionregistration.v1.ValidatingAdmissionPolicy,
    "ValidatingAdmissionPolicyBinding": (
        k8s.admissionregistration.v1.ValidatingAdmissionPolicyBinding
    ),
}


def register(body: Json, options: pulumi.ResourceOptions) -> None:
    """One object, named as it is in the cluster."""
    metadata, kind = body["metadata"], str(body["kind"])
    name = f"{kind}-{metadata['name']}"
    rest = {k: v for k, v in body.items() if k not in ("apiVersion", "kind", "metadata")}
    if kind in NATIVE:
        NATIVE[kind](name, metadata=metadata, **rest, opts=options)
        return
    k8s.apiextensions.CustomResource(
        name,
        api_version=str(body["apiVersion"]),
        kind=kind,
        metadata=metadata,
        opts=options,
        **rest,
    )


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
