"""Manifests that are text in an object: they can be read, so that every other rule sees them."""

from collections.abc import Iterator

from policies.embedded import unreadable
from policies.rule import Checks, Found, Object


def _readable(each: Object) -> Iterator[Found]:
    for place, fault in unreadable(each.body):
        yield Found(place, f"this text has Kubernetes objects in it that cannot be judged: {fault}")


RULES: Checks = {
    "manifests-readable": _readable,
}
