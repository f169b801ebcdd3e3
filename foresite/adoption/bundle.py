"""What a management cluster has of a cluster, as one file: read there, and judged anywhere.

The file is a List as kubectl writes it, with the fields' owners. Of Secrets it has the names.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from components.making.manifest import Json
from foresite.command import UsageError
from foresite.delivery.servers.apiserver import ApiServer
from schemas.kubernetes.bodies import items, mapping
from schemas.kubernetes.tables import read_table
from schemas.reading.bounded import parse_json, read_regular

MOST_BYTES = 128 * 1024 * 1024
"""Size of a bundle; a host with its machine takes about 20 kB."""
MOST_OBJECTS = 50_000
_PAGE = 500
_NAMES_ALONE = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
CONTEXT, NAMESPACE = "foresite.dev/context", "foresite.dev/namespace"
_NOT_KEPT = ("kubectl.kubernetes.io/last-applied-configuration",)
"""Annotations with copies of whole objects, in which a Secret's data may be."""
TABLE = read_table(__file__)


class Bundle(NamedTuple):
    """The objects of a namespace, by kind and name; ``context`` is where they were read."""

    context: str
    namespace: str
    objects: Mapping[tuple[str, str], Json]

    def of(self, kind: str) -> list[Json]:
        """The objects of a kind, by name."""
        return [self.objects[key] for key in sorted(self.objects) if key[0] == kind]

    def get(self, kind: str, name: object) -> Json | None:
        """An object; None where there is none."""
        return self.objects.get((kind, str(name)))


def read(server: ApiServer, namespace: str) -> str:
    """The bundle of a namespace as text. Raises UsageError where a kind is not served or there is
    too much, and what ApiServer raises."""
    found: list[Json] = []
    for row in TABLE["kinds"]:
        for plural in row["plurals"]:
            found += _objects(server, row["api"], plural, namespace)
            if len(found) > MOST_OBJECTS:
                raise UsageError(f"{namespace} has more than {MOST_OBJECTS} objects: too many")
    marks = {CONTEXT: server.context, NAMESPACE: namespace}
    head = {"apiVersion": "v1", "kind": "List", "metadata": {"annotations": marks}}
    return json.dumps({**head, "items": found}, indent=1) + "\n"


def _objects(server: ApiServer, api: str, plural: str, namespace: str) -> Iterator[Json]:
    base = f"/apis/{api}" if "/" in api else f"/api/{api}"
    path = f"{base}/namespaces/{quote(namespace, safe='')}/{plural}?limit={_PAGE}"
    secret, more = plural == "secrets", ""
    while True:
        accept = _NAMES_ALONE if secret else "application/json"
        answer = server.get(path + (f"&continue={quote(more)}" if more else ""), accept)
        if answer is None and plural not in TABLE["needed"]:
            return
        if answer is None:
            raise UsageError(
                f"{server.context} does not serve {plural} of {api}: Foresite writes these "
                "versions; upgrade Cluster API and its providers first"
            )
        kind = str(answer.get("kind", "")).removesuffix("List")
        for each in answer.get("items") or ():
            if secret:
                named = {"name": each["metadata"]["name"], "namespace": namespace}
                yield {"apiVersion": api, "kind": "Secret", "metadata": named}
            else:
                yield _stripped({"apiVersion": api, "kind": kind, **each})
        more = str(mapping(answer, "metadata").get("continue") or "")
        if not more:
            return


def _stripped(body: Json) -> Json:
    annotations = mapping(body, "metadata", "annotations")
    kept = {key: each for key, each in annotations.items() if key not in _NOT_KEPT}
    return {**body, "metadata": {**body["metadata"], "annotations": kept}}


def parse(path: Path) -> Bundle:
    """A bundle from its file. Raises UsageError for all that is none."""
    try:
        found = parse_json(read_regular(path, MOST_BYTES))
    except ValueError as error:
        fix = "write it by foresite adopt read, or by kubectl get -o json --show-managed-fields"
        raise UsageError(f"{path}: no JSON ({error}): {fix}") from None
    listed = items(found, "items") if isinstance(found, dict) else []
    if not listed:
        raise UsageError(f"{path}: no List with objects: write it by foresite adopt read")
    marks = mapping(found, "metadata", "annotations")
    objects: dict[tuple[str, str], Json] = {}
    for each in listed:
        metadata = mapping(each, "metadata")
        key = str(each.get("kind")), str(metadata.get("name"))
        if each.get("kind") == "Secret" and len(each.keys() - {"apiVersion", "kind", "metadata"}):
            raise UsageError(f"{path}: it holds the content of Secret {key[1]}: delete the file")
        if key in objects:
            raise UsageError(f"{path}: {' '.join(key)} is there twice: of one namespace alone")
        objects[key] = _stripped({**each, "metadata": metadata})
    spaces = {str(mapping(each, "metadata").get("namespace")) for each in listed}
    if len(spaces) > 1:
        raise UsageError(f"{path}: objects of namespaces {', '.join(sorted(spaces)[:5])}: read one")
    return Bundle(str(marks.get(CONTEXT, "")), spaces.pop(), objects)


def title(body: Json) -> str:
    """An object for a person: ``MachineDeployment workers``."""
    return f"{body.get('kind')} {mapping(body, 'metadata').get('name')}"
