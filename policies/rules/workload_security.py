"""The rights of a pod: controls of the Pod Security Standard "restricted", and beyond it the token
by which a pod asks the API server, and a container's own files."""

from collections.abc import Iterator, Sequence

from policies.embedded import bodies
from policies.messages import say
from policies.nodes import cluster_of
from policies.pods import Pod, items, pods
from policies.rule import Found, Object
from policies.rules.access import BINDINGS
from schemas.kubernetes.bodies import mapping

Account = tuple[str, str, str]
"""Cluster, namespace and name of a ServiceAccount."""


def _service_account_token(objects: Sequence[Object]) -> Iterator[tuple[Object, Found]]:
    used = _with_rights(objects)
    for each in objects:
        for pod in pods(each):
            without = pod.static or pod.partial
            mounts = pod.spec.get("automountServiceAccountToken") is not False
            if mounts and not without and _account(each, pod) not in used:
                where = f"{pod.path}.automountServiceAccountToken"
                yield each, say("service-account-token", where)


def _account(each: Object, pod: Pod) -> Account:
    metadata = mapping(pod.maker, "metadata")
    # A template of Node Operation Controller says the namespace of its Jobs itself.
    inner = mapping(pod.maker, "spec", "template", "spec", "jobTemplate", "metadata")
    namespace = metadata.get("namespace") or inner.get("namespace") or ""
    name = pod.spec.get("serviceAccountName") or "default"
    return cluster_of(each, pod.maker), str(namespace), str(name)


def _with_rights(objects: Sequence[Object]) -> set[Account]:
    """The accounts that a binding gives rights to."""
    return {
        (cluster_of(each, body), str(subject.get("namespace") or ""), str(subject.get("name")))
        for each in objects
        for _, body in bodies(each, BINDINGS)
        for _, subject in items(body, "subjects")
        if subject.get("kind") == "ServiceAccount"
    }


def _default_service_account(each: Object) -> Iterator[Found]:
    for place, body in bodies(each, BINDINGS):
        for index, subject in items(body, "subjects"):
            name = str(subject.get("name"))
            default = subject.get("kind") == "ServiceAccount" and name == "default"
            everyone = subject.get("kind") == "Group" and name.startswith("system:serviceaccounts")
            if default or everyone:
                who = "every pod that names no account" if default else f"every account of {name}"
                yield Found(f"{place}subjects[{index}]", f"{who} has these rights")
