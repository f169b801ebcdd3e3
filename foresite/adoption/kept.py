"""What of each live object is kept in Git: all that persons wrote of it, and nothing of others'.

``metadata.managedFields`` tell who wrote what: labels and annotations are kept where an engine that
writes for persons owns them (engines.toml). Specs are kept whole, but for what CAPM3 writes on a
BareMetalHost (v1.13.2, baremetal/metal3machine_manager.go, setHostSpec).
"""

import functools
import re
from collections.abc import Iterator
from pathlib import Path

from components.making.manifest import ARGO_OPTIONS, FIELD_MANAGER, FLUX_GUARD, Json
from components.making.told import Told
from foresite.adoption.shape import Shape
from schemas.facts.adopted import HOST
from schemas.kubernetes.bodies import items, mapping

_WRITTEN_BY_CAPM3 = (
    "image", "userData", "metaData", "networkData", "consumerRef", "customDeploy",
)  # fmt: skip
_MARKS = re.compile(
    r"kubectl\.kubernetes\.io/|argocd\.argoproj\.io/|kustomize\.toolkit\.fluxcd\.io/"
    r"|helm\.toolkit\.fluxcd\.io/|meta\.helm\.sh/|pulumi\.com/|reboot\.metal3\.io"
)
"""Labels and annotations by which an engine knows its objects, or that ask for something once."""


def kept_objects(shape: Shape, hosts: list[Json]) -> Iterator[Json]:
    """The objects that stay as they are, in the order of the file."""
    yield from map(_kept, (shape.cluster, shape.infrastructure, *shape.owners, *hosts))


def _kept(body: Json) -> Json:
    metadata = {key: body["metadata"][key] for key in ("name", "namespace")}
    for field in ("labels", "annotations"):
        own = persons_keys(body, field)
        given = {k: v for k, v in mapping(body, "metadata", field).items() if k in own}
        if given:
            metadata[field] = dict(sorted(given.items()))
    spec = dict(body["spec"])
    if body["kind"] == HOST:
        spec = {key: each for key, each in spec.items() if key not in _WRITTEN_BY_CAPM3}
        if not any(
            "f:automatedCleaningMode" in mapping(e, "fieldsV1", "f:spec") for e in _persons(body)
        ):
            spec.pop("automatedCleaningMode", None)  # CAPM3's, and the API server's default
    return {"apiVersion": body["apiVersion"], "kind": body["kind"], "metadata": metadata,
            "spec": spec}  # fmt: skip


def persons_keys(body: Json, field: str) -> set[str]:
    """The keys of labels or annotations that an engine owns, but for its own marks."""
    found = set()
    for entry in _persons(body):
        owned = mapping(entry, "fieldsV1", "f:metadata", f"f:{field}")
        found |= {key[2:] for key in owned if key.startswith("f:")}
    guards = {ARGO_OPTIONS, *FLUX_GUARD}
    return {key for key in found if not _MARKS.match(key)} - guards


def _persons(body: Json) -> list[Json]:
    return [each for each in owners(body) if engine_of(str(each.get("manager"))) is not None]


def owners(body: Json) -> list[Json]:
    """The entries of managedFields that are about the object itself, not its status."""
    found = items(mapping(body, "metadata"), "managedFields")
    return [each for each in found if not each.get("subresource")]


@functools.cache
def engines() -> list[Json]:
    """The rows of those who write objects on behalf of persons, and how each is stopped."""
    return Told(str(Path(__file__).with_name("engines.py"))).rows("engines")


def engine_of(manager: str) -> Json | None:
    """The row of an engine that writes for persons; None for controllers and Foresite."""
    if manager == FIELD_MANAGER:
        return None
    return next((row for row in engines() if re.fullmatch(row["manager"], manager)), None)
