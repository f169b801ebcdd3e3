"""What a management cluster has of a cluster, as one file: read there, and judged anywhere.

The file is a List as kubectl writes it, with the fields' owners. Of Secrets it has the names.
"""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from components.machines.effects.concerned import format_path
from components.making.manifest import Json
from foresite.command import UsageError
from foresite.delivery.servers.apiserver import ApiServer
from schemas.kubernetes.bodies import Path as Place
from schemas.kubernetes.bodies import mapping, nodes
from schemas.kubernetes.manifests import MAX_DEPTH
from schemas.kubernetes.masking import HIDDEN
from schemas.kubernetes.secret_forms import WRITTEN_OUT
from schemas.kubernetes.secret_scan import credential, is_secret, suspect
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
_MARK = f"{HIDDEN}: "
_WRITE = "write it by foresite adopt read, or by kubectl get -o json --show-managed-fields"
TABLE = read_table(__file__)
Key = tuple[str, str]
"""The kind and name of an object."""
Secret = tuple[Key, Place, str]
"""What was a secret: its object, its place there, and the words for both and their line."""


class Bundle(NamedTuple):
    """The objects of a namespace, by kind and name, without their ``secrets``; ``context`` is where
    they were read."""

    context: str
    namespace: str
    objects: Mapping[Key, Json]
    secrets: list[Secret]

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
                body = {"apiVersion": api, "kind": kind, **each}
                _hide_secrets(body)
                yield body
        more = str(mapping(answer, "metadata").get("continue") or "")
        if not more:
            return


def _hide_secrets(body: Json) -> list[tuple[Place, str, str | int]]:
    """Take copies of whole objects out of an object, and words in place of each secret: its place,
    what it is, and the secret, in the object's order. Raises UsageError where it is too deep."""
    annotations = mapping(body, "metadata", "annotations")
    for each in _NOT_KEPT:
        annotations.pop(each, None)
    found, every = [], [*nodes(body)]
    if max(len(at) for at, _ in every) > MAX_DEPTH:
        raise UsageError(f"{title(body)} is nested deeper than {MAX_DEPTH} levels")
    look, holders = suspect(each for _, each in every if isinstance(each, str)), dict(every)
    for at, value in every:
        if isinstance(value, str | int) and not isinstance(value, bool):
            holder = holders[at[:-1]]
            if what := _secret(holder, at, value, look=look):
                found.append((at, what, value))
                holder[at[-1]] = f"{_MARK}{what}"
    return found


def _secret(holder: Any, at: Place, value: str | int, *, look: bool) -> str:
    """What kind of secret a value is; empty where it is none. ``look`` at what the value says. A
    text in a list has the list's name."""
    text = str(value)
    if text.startswith(_MARK):
        return text.removeprefix(_MARK)
    name = next((step for step in at[::-1] if isinstance(step, str)), "")
    name = holder.get("name") if at[-1] == "value" else name
    named = isinstance(name, str) and is_secret(name, text)
    return (credential(text) if look else "") or WRITTEN_OUT * named


def _find(data: bytes, key: str | int, value: str | int, start: int) -> int:
    """Where a value is written from a byte on, by Python, jq or kubectl; -1 where it is not. Values
    may be alike, above all hidden ones: their keys, and the file's order, tell them apart."""
    plain = json.dumps(value, ensure_ascii=False)
    of_go = re.sub("[&<>\u2028\u2029]", lambda found: f"\\u{ord(found[0]):04x}", plain)
    head = f"{json.dumps(key)}: " if isinstance(key, str) else ""
    texts = {f"{head}{each}".encode(errors="replace") for each in (json.dumps(value), plain, of_go)}
    return min((at for each in texts if (at := data.find(each, start)) >= 0), default=-1)


def parse(path: Path) -> Bundle:
    """A bundle from its file. Raises UsageError for all that is none."""
    data = read_regular(path, MOST_BYTES)
    try:
        found = parse_json(data)
    except ValueError as error:
        raise UsageError(f"{path}: no JSON ({error}): {_WRITE}") from None
    listed = found.get("items") if isinstance(found, dict) else None
    if not isinstance(listed, list) or not listed:
        raise UsageError(f"{path}: no List with objects: {_WRITE}")
    if len(listed) > MOST_OBJECTS:
        raise UsageError(f"{path}: more than {MOST_OBJECTS} objects: too many")
    objects, secrets = dict[Key, Json](), list[Secret]()
    line, end = 1, 0
    for number, each in enumerate(listed):
        key = _identity(each, f"{path}: items[{number}]")
        if key in objects:
            raise UsageError(f"{path}: {' '.join(key)} is there twice: of one namespace alone")
        for place, what, value in _hide_secrets(each):
            where, at = str(path), _find(data, place[-1], value, end)
            if at < 0:  # written in another way, and so is the rest: to look on takes too long
                data = b""
            else:
                line, end = line + data.count(b"\n", end, at), at + 1
                where = f"{path}:{line}"
            said = f"{where}: {' '.join(key)} {format_path(place)} holds {what}"
            secrets.append((key, place, said))
        objects[key] = each
    spaces = sorted({str(mapping(each, "metadata").get("namespace")) for each in listed})
    if len(spaces) > 1:
        raise UsageError(f"{path}: objects of namespaces {', '.join(spaces[:5])}: read one")
    marks = mapping(found, "metadata", "annotations")
    return Bundle(str(marks.get(CONTEXT, "")), spaces[0], objects, secrets)


def _identity(body: Any, where: str) -> Key:
    """The kind and name of an item. Raises UsageError where it is no object of a namespace."""
    body = body if isinstance(body, dict) else {}
    metadata = mapping(body, "metadata")
    api, *named = body.get("apiVersion"), body.get("kind"), metadata.get("name")
    if not all(isinstance(each, str) for each in (api, *named, metadata.get("namespace"))):
        wrong = "no object with apiVersion, kind, name and namespace (a List in a List is none)"
        raise UsageError(f"{where} is {wrong}: {_WRITE}")
    if named[0] == "Secret" and body.keys() - {"apiVersion", "kind", "metadata"}:
        raise UsageError(f"{where} holds the content of Secret {named[1]}: delete the file")
    return named[0], named[1]


def title(body: Json) -> str:
    """An object for a person: ``MachineDeployment workers``."""
    return f"{body.get('kind')} {mapping(body, 'metadata').get('name')}"
