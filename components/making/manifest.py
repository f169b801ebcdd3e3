"""A Kubernetes object as plain data, with what its readers must know to treat it safely.

Owns the type, the labels that every object carries, names that change with their content, and
objects that are data: YAML documents beside a module, in which ``$name`` stands for a value. A text
that is such a name alone becomes the value, of whatever type; a key that is one makes room for the
fields of a map. A name that gets no value is a KeyError.
"""

import functools
import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from schemas.facts.site import Site
from schemas.kubernetes.node_labels import OWN_DOMAIN

Json = dict[str, Any]

GroupKind = str
"""A kind with its API group, as Kubernetes writes it: ``Deployment.apps``, and ``Pod`` of the core
group (apimachinery, pkg/runtime/schema, GroupKind.String)."""

SITE_LABEL = f"{OWN_DOMAIN}/site"
COMPONENT_LABEL = f"{OWN_DOMAIN}/component"
CONFIGURATION_ANNOTATION = f"{OWN_DOMAIN}/configuration"
"""On pods: a hash of what their program reads at its start, so that a change of it renews them."""


def group_kind(body: Json) -> GroupKind:
    """The kind and API group of an object."""
    group, grouped, _ = str(body["apiVersion"]).partition("/")
    return f"{body['kind']}.{group}" if grouped else str(body["kind"])


class Target(StrEnum):
    """The one of a site's two clusters that an object belongs to."""

    MANAGEMENT = "management"
    """The cluster that runs Cluster API for the site."""
    SITE = "site"
    """The site's own cluster."""


CRD = "CustomResourceDefinition"
FIRST = frozenset({"Namespace", CRD})
"""Kinds that others need to be there: Pulumi makes them first."""


class Spot(NamedTuple):
    """A place in an object: its component, its logical name, and the field."""

    component: str
    name: str
    path: str


class Manifest(NamedTuple):
    """One Kubernetes object.

    ``name`` is its logical name, which never changes while the object means the same; ``body`` is
    what a person would apply. ``protect``: deleting it destroys something, so it is refused.
    ``keep``: it stays in the cluster when it is replaced or no longer made, because controllers
    may still refer to it. ``ignore``: fields that a controller owns once the object exists.
    ``not_in_name``: what the name of a KubeadmConfigTemplate does not follow (``name_content``).
    ``anew``: fields for whose change the object is deleted and made again.
    """

    name: str
    body: Json
    target: Target = Target.MANAGEMENT
    protect: bool = False
    keep: bool = False
    ignore: tuple[str, ...] = ()
    not_in_name: tuple[str, ...] = ()
    anew: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """The object's kind."""
        return str(self.body["kind"])

    @property
    def group_kind(self) -> GroupKind:
        """The object's kind and API group."""
        return group_kind(self.body)

    @property
    def title(self) -> str:
        """The object for a person: ``MachineDeployment tokyo-1/v100``."""
        _, kind, namespace, name = self.key
        return f"{kind} {namespace}/{name}" if namespace else f"{kind} {name}"

    @property
    def key(self) -> tuple[str, str, str, str]:
        """The identity among all manifests of its cluster: apiVersion, kind, namespace, name."""
        body, metadata = self.body, self.body["metadata"]
        namespace = metadata.get("namespace", "")
        return body["apiVersion"], body["kind"], namespace, metadata["name"]

    def bare(self) -> "Manifest":
        """The object without all but what names it."""
        api_version, kind, namespace, name = self.key
        metadata = {"namespace": namespace, "name": name} if namespace else {"name": name}
        body = {"apiVersion": api_version, "kind": kind, "metadata": metadata}
        return Manifest(self.name, body, *self[2:])


ARGO_OPTIONS = "argocd.argoproj.io/sync-options"
ARGO_GUARDS = {"Prune": "Prune=false", "Delete": "Delete=false"}
FLUX_GUARD = {"kustomize.toolkit.fluxcd.io/prune": "disabled"}
"""Keep Argo CD and Flux from deleting what left Git, as ``protect`` and ``keep`` do for Pulumi."""

FIELD_MANAGER = "foresite"
"""Who owns our fields under server-side apply, whichever run applied them: a run that takes over
what a killed one made must not conflict with it."""

_PULUMI = {
    # A deletion in the foreground waits for ever where nothing collects garbage.
    "pulumi.com/deletionPropagationPolicy": "background",
    "pulumi.com/patchFieldManager": FIELD_MANAGER,
}


def annotate(manifests: list[Manifest]) -> list[Manifest]:
    """The manifests with the annotations that Pulumi, Argo CD and Flux need to treat them safely.

    Protected and kept ones are never pruned. For objects of the site's own cluster Pulumi does not
    wait: of hundreds of nodes one is always out, and a DaemonSet that must be ready on all would
    hold up every change. Bodies are never changed in place.
    """
    return [_annotate(each) for each in manifests]


def _annotate(manifest: Manifest) -> Manifest:
    metadata = manifest.body["metadata"]
    given = metadata.get("annotations") or {}
    if not isinstance(given, dict):
        return manifest  # a manifest that a site brings; the schemas say what is wrong with it
    annotations = {**given, **_PULUMI}
    if manifest.target is Target.SITE and manifest.kind != CRD:
        annotations["pulumi.com/skipAwait"] = "true"
    if manifest.protect or manifest.keep:
        annotations[ARGO_OPTIONS] = _argo_options(str(given.get(ARGO_OPTIONS, "")))
        annotations |= FLUX_GUARD
    body = {**manifest.body, "metadata": {**metadata, "annotations": annotations}}
    return manifest._replace(body=body)


@functools.lru_cache(maxsize=64)
def _argo_options(given: str) -> str:
    """The guards, and what else a manifest asks of Argo CD (such as ServerSideApply=true)."""
    options = (option.strip() for option in given.split(","))
    others = (each for each in options if each and each.partition("=")[0] not in ARGO_GUARDS)
    return ",".join((*ARGO_GUARDS.values(), *others))


def labels(site: str, component: str) -> dict[str, str]:
    """The labels of every object: whose it is, and which component made it."""
    return {
        "app.kubernetes.io/managed-by": "foresite",
        COMPONENT_LABEL: component,
        SITE_LABEL: site,
    }


def metadata_of(component: str, site: Site, name: str, namespace: str = "", /, **more: str) -> Json:
    """The metadata of a component's object, cluster-wide without a namespace; ``more``: labels."""
    where = {"namespace": namespace} if namespace else {}
    return {"name": name, **where, "labels": {**labels(site.name, component), **more}}


def site_object(logical: str, api: str, metadata: Json, /, **fields: Any) -> Manifest:
    """An object of the site's own cluster; its logical name begins with its kind."""
    head = {"apiVersion": api, "kind": logical.partition("/")[0], "metadata": metadata}
    return Manifest(logical, {**head, **fields}, target=Target.SITE)


def by_kind(
    bodies: Iterable[Json], logical: str, target: Target = Target.SITE, **more: Any
) -> list[Manifest]:
    """Objects whose logical names are their kinds and ``logical``."""
    return [Manifest(f"{each['kind']}/{logical}", each, target, **more) for each in bodies]


def config_map(
    name: str, metadata: Json, data: Mapping[str, str], target: Target = Target.SITE
) -> Manifest:
    """A ConfigMap; ``name`` is the end of its logical name."""
    return site_object(f"ConfigMap/{name}", "v1", metadata, data=dict(data))._replace(target=target)


def prune(value: Json) -> Json:
    """``value`` without entries that are None or an empty map: Cluster API's v1beta2 refuses empty
    structs (MinProperties=1), and to an API server a null is no absent field. Empty lists stay."""
    result: Json = {}
    for key, item in value.items():
        if isinstance(item, dict):
            item = prune(item) or None
        if item is not None:
            result[key] = item
    return result


def hash_name(prefix: str, content: Json) -> str:
    """A name that changes with ``content``, which is immutable, or whose change Cluster API sees by
    its name alone: ``prefix`` and eight hexadecimal digits of its hash."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return f"{prefix}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def content_digest(content: str | Json, name: str = "") -> dict[str, str]:
    """The annotation of pods whose program reads ``content`` at its start; ``name``: of a map."""
    if isinstance(content, dict):
        return {CONFIGURATION_ANNOTATION: hash_name(name, content)}
    return {CONFIGURATION_ANNOTATION: hashlib.sha256(content.encode()).hexdigest()}


def name_content(spec: Json, not_in_name: Collection[str]) -> Json:
    """The part of a spec that its name follows: all of it, but for ``not_in_name`` of a
    KubeadmConfigSpec, which are paths of files, and "ntp" for its servers."""
    if not not_in_name:
        return spec
    config = dict(spec["template"]["spec"])
    config["files"] = [each for each in config["files"] if each["path"] not in not_in_name]
    if "ntp" in not_in_name:
        del config["ntp"]
    return {"template": {"spec": config}}


@functools.cache
def documents(module: Path | str) -> tuple[Json, ...]:
    """The documents of the file beside a module, once for all; nobody may change them."""
    text = Path(module).with_suffix(".yaml").read_text("utf-8")
    return tuple(yaml.load_all(text, Loader=yaml.CSafeLoader))


def filled(module: Path | str, /, **values: Any) -> list[Json]:
    """The documents beside a module, with each value in its place."""
    return [fill(each, values) for each in documents(module)]


def fill(said: Any, values: Mapping[str, Any]) -> Any:
    """Data with each value in its place."""
    if isinstance(said, str) and said.startswith("$"):
        return values[said[1:]]
    if isinstance(said, list):
        return [fill(each, values) for each in said]
    if not isinstance(said, dict):
        return said
    found: Json = {}
    for key, each in said.items():
        found |= values[key[1:]] if key.startswith("$") else {key: fill(each, values)}
    return found
