"""Names and labels that an API server takes (Kubernetes 1.34, pkg/apis/*/validation; apimachinery,
pkg/util/validation), and that are nobody else's."""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from policies.memo import length, size
from policies.messages import say
from policies.pods import pods
from policies.rule import Found, Json, Object
from schemas.kubernetes.bodies import mapping
from schemas.kubernetes.tables import read_table

LABEL_CHARACTERS = 63
SUBDOMAIN_CHARACTERS = 253
ANNOTATION_BYTES = 256 * 1024
"""Keys and values of all annotations of an object (TotalAnnotationSizeLimitB)."""
_VALUE = re.compile(r"(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?)?")
_TABLE = read_table(__file__)
_PREFIX = re.compile(_TABLE["forms"]["subdomain"]["pattern"])

RESERVED = ("kube-", "openshift-")
"""Prefixes of the namespaces that Kubernetes and OpenShift reserve."""
DEFAULT = "default"


def _name_fits_kind(each: Object) -> Iterator[Found]:
    form = _TABLE["forms"][_TABLE["kinds"].get(each.kind, "subdomain")]
    name, most = each.name, form["characters"]
    if len(name) > most:
        message = f"it has {len(name)} characters, and a {each.kind} may have {most}"
    elif not re.fullmatch(form["pattern"], name):
        message = f"{name!r} is no name of a {each.kind}" if name else "it has no name"
    else:
        return
    yield Found("metadata.name", message, f"at most {most} of {form['what']}")


def _labels_valid(each: Object) -> Iterator[Found]:
    yield from _keys("metadata", each.metadata)
    for pod in pods(each):
        # A Pod's own metadata are those of the object.
        if pod.metadata is not each.metadata:
            yield from _keys(f"{pod.path.removesuffix('spec')}metadata", pod.metadata)


def _keys(place: str, metadata: Json) -> Iterator[Found]:
    for key, value in mapping(metadata, "labels").items():
        text = isinstance(value, str)
        reason = _bad_key(str(key)) or (_bad_value(value) if text else f"{value!r} is no text")
        if reason:
            fix = "letters, digits, -, _ and . between them, at most 63 of them"
            yield Found(f'{place}.labels["{key}"]', reason, fix)
    for key in mapping(metadata, "annotations"):
        if reason := _bad_key(str(key)):
            yield Found(f'{place}.annotations["{key}"]', reason, "write <domain>/<name>")


@lru_cache(maxsize=4096)
def _bad_key(key: str) -> str:
    prefix, slash, name = key.rpartition("/")
    good = not slash or (len(prefix) <= SUBDOMAIN_CHARACTERS and _PREFIX.fullmatch(prefix))
    named = name and len(name) <= LABEL_CHARACTERS and _VALUE.fullmatch(name)
    return "" if good and named else f"{key!r} is no key"


@lru_cache(maxsize=4096)
def _bad_value(value: str) -> str:
    if len(value) > LABEL_CHARACTERS:
        return f"it has {len(value)} characters, and may have {LABEL_CHARACTERS}"
    return "" if _VALUE.fullmatch(value) else f"{value!r} is no value of a label"


def _annotations_bounded(each: Object) -> Iterator[Found]:
    if 2 * size(each.body) <= ANNOTATION_BYTES:
        return  # however they are written
    annotations = mapping(each.metadata, "annotations")
    found = sum(length(str(text)) for pair in annotations.items() for text in pair)
    if found > ANNOTATION_BYTES:
        yield say("annotations-bounded", "metadata.annotations", found, ANNOTATION_BYTES)


def _names_not_reserved(each: Object) -> Iterator[Found]:
    start = _TABLE["system"].get(each.kind)
    if start and each.name.startswith(start):
        yield say("name-of-kubernetes", "metadata.name", start)
    if each.title in _TABLE["bootstrapped"] or each.name.startswith("kubeadm:"):
        yield say("name-of-bootstrap", "metadata.name", each.kind)
    spaced = each.kind == "Namespace"
    namespace = each.name if spaced else each.namespace
    if namespace == DEFAULT or namespace.startswith(RESERVED):
        where = "metadata.name" if spaced else "metadata.namespace"
        yield say("namespace-not-own", where, namespace)


def _identity_once(objects: Sequence[Object]) -> Iterator[tuple[Object, Found]]:
    seen: dict[tuple[str, ...], list[Object]] = {}
    for each in objects:
        group = str(each.body.get("apiVersion", "")).rpartition("/")[0]
        identity = (each.cluster, group, each.kind, each.namespace, each.name)
        seen.setdefault(identity, []).append(each)
    for same in seen.values():
        for each in same if same[1:] else ():
            yield each, say("identity-once", "metadata.name", len(same), each.title, each.cluster)
