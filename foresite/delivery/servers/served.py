"""Check that an API server serves the kinds that a site makes, and knows the fields that it sets. A
custom resource definition that is missing, or is of an older release, is found by this before
anything is made. The fields are those of the server's own OpenAPI document, which anybody who is
logged in may read (kubernetes 1.34, ClusterRole system:discovery)."""

import time
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, NamedTuple

from components.making.manifest import CRD, Json, Manifest
from foresite.command import UsageError, few
from foresite.delivery.servers.apiserver import ApiServer, NoAnswerError, RefusedError
from schemas.kubernetes.objects import store

_SETTLE = 5.0
"""Seconds for which fields that a server does not know are asked for again: right after a
definition is installed, its document is still the old one."""
_ABOVE = {"apiVersion", "kind", "metadata", "status"}
"""Fields that every object has, whatever its schema says."""
_SHOWN = 6

_LIST = "application/json;v={};g=apidiscovery.k8s.io;as=APIGroupDiscoveryList"
_DISCOVERY = ",".join(map(_LIST.format, ("v2", "v2beta1")))
"""All kinds of all groups in one answer (Kubernetes 1.26 and newer)."""

Map = Callable[..., Iterable[Any]]


class Kind(NamedTuple):
    """A kind as a server serves it, in one version; ``plural`` is empty where it does not."""

    api: str
    kind: str
    plural: str = ""

    @property
    def group(self) -> str:
        """The API group; empty for the core."""
        return self.api.rpartition("/")[0]

    @property
    def key(self) -> tuple[str, str]:
        """Its group and kind."""
        return self.group, self.kind

    @property
    def title(self) -> str:
        """The kind for a person: ``NodeMetrics of metrics.k8s.io``."""
        return f"{self.kind} of {self.group}" if self.group else self.kind

    def path(self, namespace: str = "") -> str:
        """The path of its objects, of all namespaces where none is named."""
        within = f"namespaces/{namespace}/" if namespace else ""
        return f"{_root(self.api)}/{within}{self.plural}"


def _root(api: str) -> str:
    return f"/{'apis' if '/' in api else 'api'}/{api}"


def find_groups(server: ApiServer, wanted: Collection[tuple[str, str]]) -> list[Json]:
    """The groups that a server serves, with their kinds. Wanted kinds (group and kind) are waited
    for while their group's own server has not said yet what it serves. Raises NoAnswerError, also
    where one stays unknown; RefusedError; and UsageError."""
    until = time.monotonic() + _SETTLE
    while True:
        answers = [server.get(root, _DISCOVERY) or {} for root in ("/api", "/apis")]
        if any(each.get("kind") != "APIGroupDiscoveryList" for each in answers):
            raise UsageError(f"{server.context}: Foresite needs Kubernetes 1.26 or newer there")
        every = [each for answer in answers for each in answer.get("items") or ()]
        stale = {group_name(each) for each in every if is_stale(each)}
        missing = set(wanted) - {kind.key for each in every for kind in group_kinds(each)}
        unknown = sorted(f"{kind} of {group}" for group, kind in missing if group in stale)
        if not unknown:
            return every
        if time.monotonic() > until:
            raise NoAnswerError(f"it does not know by now whether it serves {', '.join(unknown)}")
        time.sleep(0.25)


def is_stale(group: Json) -> bool:
    """True of a group whose own server does not answer, such as that of an APIService."""
    return any(each.get("freshness") == "Stale" for each in group.get("versions") or ())


def group_name(group: Json) -> str:
    """The name of a group; empty for the core."""
    return str(group["metadata"].get("name") or "")


def group_kinds(group: Json) -> Iterator[Kind]:
    """The kinds that a group serves and lists, its preferred version first. A resource may have
    neither verbs nor a kind: an APIService may serve only another resource's subresources
    (kubernetes 1.34, apidiscovery/v2, types.go)."""
    for version in group.get("versions") or ():
        api = "/".join(filter(None, (group_name(group), version["version"])))
        for each in version.get("resources") or ():
            kind = (each.get("responseKind") or {}).get("kind")
            if kind and "list" in (each.get("verbs") or ()):
                yield Kind(api, kind, each["resource"])


def kinds_of(manifests: Iterable[Manifest]) -> dict[tuple[str, str], Kind]:
    """The kinds that have to be there, by apiVersion and kind: not those that the site defines."""
    made = list(manifests)
    specs = (each.body["spec"] for each in made if each.kind == CRD)
    own = {(each["group"], each["names"]["kind"]) for each in specs}
    every = dict.fromkeys(each.key[:2] for each in made)
    kinds = {(api, kind): Kind(api, kind) for api, kind in every}
    return {key: each for key, each in kinds.items() if (each.group, each.kind) not in own}


def missing_kinds(
    server: ApiServer, kinds: dict[tuple[str, str], Kind], manifests: list[Manifest], run: Map
) -> tuple[list[str], list[str]]:
    """The kinds and fields that a server lacks, each with what to install, and those that nobody
    knows of; puts plurals into ``kinds``. Raises as ``find_groups`` does."""
    wanted = [each.key for each in kinds.values()]
    there = {group_name(each): each for each in find_groups(server, wanted)}
    listed = {each[:2]: each for group in there.values() for each in group_kinds(group)}
    kinds.update({key: listed[key] for key in kinds if key in listed})
    if missing := [each for each in kinds.values() if not each.plural]:
        return [_lacks(each, there.get(each.group, {})) for each in missing], []
    return _unknown_fields(server, manifests, run)


def _lacks(kind: Kind, group: Json) -> str:
    others = ", ".join(each["version"] for each in group.get("versions") or ())
    has = f" (of {kind.group} it has {others})" if others and kind.group else ""
    return f"it does not serve {kind.kind} of {kind.api}{has}: install {_install(*kind[:2])}"


def _install(api: str, name: str) -> str:
    """What brings a kind: its project, and the version that the objects are checked against."""
    kind = store.kinds().get(f"{api}/{name}")
    if kind is None:
        return f"the CRD of {name} in {api}"
    if kind.native:
        return f"a Kubernetes that has {api}, or switch that API on"
    stored = store.document(kind.file)
    crd = f"{stored['names']['plural']}.{stored['group']}"
    source = stored["source"]
    version = source.get("tag") or source.get("version") or source.get("commit", "")
    known = f"{source['source']} {version}, {source.get('path', '')}".rstrip(", ")
    return f"the CRD {crd} with {api.rpartition('/')[2]} ({known})"


def _unknown_fields(
    server: ApiServer, manifests: list[Manifest], run: Map
) -> tuple[list[str], list[str]]:
    """The fields that the server does not know, once its document has come to rest."""
    native = {name for name, kind in store.kinds().items() if kind.native}
    custom = [each for each in manifests if "/".join(each.key[:2]) not in native]
    until = time.monotonic() + _SETTLE
    while True:
        found, unknown = _fields(server, custom, run)
        if not (found or unknown) or time.monotonic() > until:
            return found, unknown
        time.sleep(0.25)


def _fields(server: ApiServer, manifests: list[Manifest], run: Map) -> tuple[list[str], list[str]]:
    apis = sorted({each.key[0] for each in manifests})
    try:
        documents = dict(zip(apis, run(lambda api: _document(server, api), apis), strict=True))
    except RefusedError as error:
        return [], [f"fields not checked: it refuses its OpenAPI document: {error}"]
    wrong: dict[tuple[str, str], dict[str, str]] = {}
    unknown = set()
    for each in manifests:
        components, roots = documents[each.key[0]]
        root = roots.get(each.kind)
        if root is None:
            unknown.add(f"fields of {each.kind} not checked: its OpenAPI document has no schema")
            continue
        body = {key: value for key, value in each.body.items() if key not in _ABOVE}
        for path in _extra(root, body, components):
            wrong.setdefault(each.key[:2], {}).setdefault(path, each.title)
    older = []
    for (api, kind), paths in wrong.items():
        fields = few([f"{path} of {title}" for path, title in paths.items()], _SHOWN)
        lacks = f"its {kind} of {api} is of another release, and has no field {fields}"
        older.append(f"{lacks}: install {_install(api, kind)}")
    return older, sorted(unknown)


def _document(server: ApiServer, api: str) -> tuple[Json, Json]:
    """The schemas of a group and version: all by name, and those of kinds by kind."""
    answer = server.get(f"/openapi/v3{_root(api)}") or {}
    schemas: Json = answer.get("components", {}).get("schemas", {})
    roots: Json = {}
    for schema in schemas.values():
        for each in schema.get("x-kubernetes-group-version-kind", ()):
            if "/".join(filter(None, (each["group"], each["version"]))) == api:
                roots[each["kind"]] = schema
    return schemas, roots


def _extra(schema: Json, value: Any, schemas: Json, path: str = "") -> Iterator[str]:
    """The fields of ``value`` that a schema does not have. List items are written as ``[]``."""
    schema = _resolve(schema, schemas)
    if isinstance(value, list):
        items = schema.get("items")
        if items is not None:
            for each in value:
                yield from _extra(items, each, schemas, f"{path}[]")
    elif isinstance(value, dict):
        yield from _extra_fields(schema, value, schemas, path)


def _extra_fields(schema: Json, value: Json, schemas: Json, path: str) -> Iterator[str]:
    known = schema.get("properties", {})
    rest = schema.get("additionalProperties")
    anything = schema.get("x-kubernetes-preserve-unknown-fields") or not (known or rest)
    embedded = schema.get("x-kubernetes-embedded-resource", False)
    for key, item in value.items():
        here = f"{path}.{key}" if path else str(key)
        if key in known:
            yield from _extra(known[key], item, schemas, here)
        elif isinstance(rest, dict):
            yield from _extra(rest, item, schemas, here)
        elif not (rest or anything or (embedded and key in _ABOVE)):
            yield here


def _resolve(schema: Json, schemas: Json) -> Json:
    """A schema without references: Kubernetes writes them alone, or as the one part of allOf."""
    while True:
        parts = schema.get("allOf", ())
        reference = schema.get("$ref") or (parts[0].get("$ref") if len(parts) == 1 else None)
        if not reference:
            return schema
        schema = schemas.get(reference.rpartition("/")[2], {})
