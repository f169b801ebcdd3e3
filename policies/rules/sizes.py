"""How large and how many objects may be, so that a mistake in a list stops here.

A file that doubled in size because a query returned rows twice stopped a fleet (Cloudflare,
18 November 2025): what reads an object has a limit, and it is not always told.
"""

from collections.abc import Iterator, Sequence

from policies.embedded import bodies
from policies.memo import length, size
from policies.messages import say
from policies.pods import Pod, items
from policies.rule import Found, Object, text
from schemas.kubernetes.bodies import mapping

KIB = 1024
ETCD_BYTES = 1536 * KIB
"""The largest request of etcd (--max-request-bytes); an API server adds managedFields to it."""
LARGE_BYTES = 512 * KIB
DATA_BYTES = 1024 * KIB
"""Bytes that a ConfigMap or a Secret may hold (Kubernetes 1.34, pkg/apis/core, MaxSecretSize)."""
APPLIED_BYTES = 256 * KIB
"""Bytes of all annotations of an object, one of which is the object as it was applied."""
APPLIED_ELSEWHERE = "ServerSideApply=true"
SYNC_OPTIONS = "argocd.argoproj.io/sync-options"
BOOT_KINDS = frozenset({"KubeadmConfig", "KubeadmConfigTemplate", "KubeadmControlPlane"})
BOOT_BYTES = 512 * KIB
"""Half of the Secret that Cluster API puts a host's user data in, with certificates, indented, and
with what kubeadm is told."""
MANY_CONTAINERS = 16
OBJECTS = 1000
PER_HOST = 4
"""A host is one object, and may get a Secret reference and two more. All else is made for pools,
teams and programs, of which the largest site has some 220 objects: a list that was doubled for
each host or multiplied for each pool is above this, and no site that a person wrote."""


def _object_size(each: Object) -> Iterator[Found]:
    found = size(each.body)
    if found > ETCD_BYTES:
        yield Found("", f"it is {found} bytes, and etcd takes {ETCD_BYTES}")


def _object_large(each: Object) -> Iterator[Found]:
    found = size(each.body)
    if LARGE_BYTES < found <= ETCD_BYTES:
        yield Found("", f"it is {found} bytes, a third or more of what etcd takes")


def _data_size(each: Object) -> Iterator[Found]:
    if each.kind not in ("ConfigMap", "Secret"):
        return
    found = 0
    for field in ("data", "binaryData", "stringData"):
        encoded = field == "binaryData" or (field, each.kind) == ("data", "Secret")
        held = sum(length(text(value)) for value in mapping(each.body, field).values())
        found += held * 3 // 4 if encoded else held
    if found > DATA_BYTES:
        yield Found("data", f"it holds {found} bytes, and may hold {DATA_BYTES}")


def _applied_size(each: Object) -> Iterator[Found]:
    options = text(mapping(each.metadata, "annotations").get(SYNC_OPTIONS))
    found = size(each.body)
    if found > APPLIED_BYTES and APPLIED_ELSEWHERE not in options:
        yield say("applied-size", "metadata.annotations", found, APPLIED_BYTES)


def _boot_size(each: Object) -> Iterator[Found]:
    for place, body in bodies(each, BOOT_KINDS):
        for steps in (("spec",), ("spec", "template", "spec"), ("spec", "kubeadmConfigSpec")):
            files = [text(file.get("content")) for _, file in items(mapping(body, *steps), "files")]
            found = sum(length(content) for content in files)
            if found > BOOT_BYTES:
                yield say("boot-size", f"{place}{'.'.join(steps)}.files", found, BOOT_BYTES)


def _containers_per_pod(pod: Pod) -> Iterator[Found]:
    found = len(pod.containers)
    if found > MANY_CONTAINERS:
        yield say("containers-per-pod", f"{pod.path}.containers", found)


def _objects_per_site(objects: Sequence[Object]) -> Iterator[tuple[Object, Found]]:
    hosts = sum(each.kind == "BareMetalHost" for each in objects)
    most = OBJECTS + PER_HOST * hosts
    if len(objects) > most:
        first = min(objects, key=lambda each: (each.kind != "Cluster", each.cluster, each.title))
        yield first, say("objects-per-site", "", len(objects), hosts, most)
