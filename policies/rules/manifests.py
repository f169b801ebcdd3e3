"""Manifests that are text in an object: they can be read, so that every other rule sees them."""

from collections.abc import Iterator

from policies.embedded import unreadable
from policies.rule import Found, Object, ObjectRule, Rule, Severity


def _readable(each: Object) -> Iterator[Found]:
    for place, fault in unreadable(each.body):
        yield Found(
            place,
            f"this text has Kubernetes objects in it that cannot be judged: {fault}",
            "write it as YAML that every tool reads alike, without aliases and tags; what makes "
            "objects by a program is better a file of its own",
        )


RULES: tuple[Rule, ...] = (
    ObjectRule(
        "manifests-readable",
        Severity.MANDATORY,
        "a text with Kubernetes objects in it is YAML or JSON, without aliases, merges and tags",
        "no rule sees its content, and the tool that applies it may parse it differently",
        "sigs.k8s.io/yaml 1.6, by which kubelets and Cluster API read manifests",
        _readable,
    ),
)
"""Rules of texts that are manifests."""
