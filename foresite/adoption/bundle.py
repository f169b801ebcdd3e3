"""What a management cluster has of a cluster, as one file: read there, and judged anywhere. It is a
List as kubectl writes it, with the fields' owners, and names alone of Secrets."""

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
_NOT_KEPT = "kubectl.kubernetes.io/last-applied-configuration"
"""The annotation with a copy of a whole object, in which a Secret's data may be."""
_MARK = f"{HIDDEN}: "
_WRITE = "write it by foresite adopt read, or by kubectl get -o json --show-managed-fields"
TABLE = read_table(__file__)
Key = tuple[str, str]
"""The kind and name of an object."""


class Bundle(NamedTuple):
    """The objects of a namespace, by kind and name, without their ``secrets``, each the object, the
    place there and the words for it; ``context`` is where they were read."""

    context: str
    namespace: str
    objects: Mapping[Key, Json]
    secrets: list[tuple[Key, Place, str]]

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
    """Take the copy of an object out of it, and words in place of each secret: its place,
    what it is, and the secret, in the object's order. Raises UsageError where it is too deep."""
    mapping(body, "metadata", "annotations").pop(_NOT_KEPT, None)
    found, every = [], [*nodes(body)]
    if max(len(at) for at, _ in every) > MAX_DEPTH:
        raise UsageError(f"{title(body)} is nested deeper than {MAX_DEPTH} levels")
    look, holders = suspect(each for _, each in every if isinstance(each, str)), dict(every)
    for at, value in every:
        holder = holders[at[:-1]]
        if isinstance(value, str | int) and (what := _secret(holder, at, str(value), look=look)):
            found.append((at, what, value))
            holder[at[-1]] = f"{_MARK}{what}"
    return found


def _secret(holder: Any, at: Place, value: str, *, look: bool) -> str:
    """The kind of secret that a value is, if any. A list names its items; ``look`` at the value."""
    if value.startswith(_MARK):
        return value.removeprefix(_MARK)
    name = [each for each in at if isinstance(each, str)][-1]
    name = holder.get("name") if name == at[-1] == "value" else name
    named = isinstance(name, str) and is_secret(name, value)
    return (credential(value) if look else "") or WRITTEN_OUT * named


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
    objects, secrets, line, end = dict[Key, Json](), list[tuple[Key, Place, str]](), 1, 0
    for number, each in enumerate(listed):
        key = _identity(each, f"{path}: items[{number}]")
        if key in objects:
            raise UsageError(f"{path}: {' '.join(key)} is there twice: of one namespace alone")
        for place, what, value in _hide_secrets(each):
            at = _find(data, place[-1], value, end)
            # Written in another way, as the rest will be: to look on for all takes too long.
            data = data if at >= 0 else b""
            line, end = line + data.count(b"\n", end, at), at + 1
            where = f"{path}:{line}" if data else path
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
