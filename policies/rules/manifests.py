"""Manifests that are text in an object: they can be read, so that every other rule sees them."""

from collections.abc import Iterator

from policies.embedded import unreadable
from policies.rule import Found, Object


def _manifests_readable(each: Object) -> Iterator[Found]:
    for place, fault in unreadable(each.body):
        yield Found(place, f"this text has Kubernetes objects in it that cannot be judged: {fault}")
