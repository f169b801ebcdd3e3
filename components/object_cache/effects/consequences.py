"""Costs of changes to the cache's own settings for those who read and write objects.

No host is concerned by most of these, and jobs feel them: so they are said beside what happens to
hosts, a line each, with a clause for a headline.

Sources: schemas/model/object_cache.py (who may read and write); cache-server/, which stands in for
the server.
"""

from collections.abc import Iterator
from typing import NamedTuple

from components.making.told import Told
from components.object_cache.effects.buckets import EVICTS, access
from schemas.kubernetes.quantities import in_bytes
from schemas.model.object_cache import Bucket, Cache

TOLD = Told(__file__)


class Consequence(NamedTuple):
    """A consequence that jobs feel: ``clause`` in a headline, ``line`` in full; ``applied`` is
    false where it will hold once the site's own cluster is named."""

    clause: str
    line: str
    applied: bool = True


def consequences(old: Cache | None, new: Cache | None, hosts: int) -> Iterator[Consequence]:
    """The consequences of the settings of a cache on ``hosts`` for its users, the worst first."""
    if old is None:
        return
    if new is None:
        yield _said("cache_ends", hosts=f"{hosts:,} host{'s' * (hosts != 1)}")
        return
    yield from (_said("bucket_ends", bucket=b.name) for b in old.buckets if not new.bucket(b.name))
    yield from _connection_changes(old, new)
    both = [(was, bucket) for was in old.buckets if (bucket := new.bucket(was.name))]
    yield from _smaller(old, new, both)
    for was, bucket in both:
        if found := access(was, bucket):
            named = f"bucket {bucket.name}"
            short = ", ".join(each.now for each in found if each.before)
            full = "; ".join(each.full for each in found)
            yield Consequence(f"{named}: {short}", f"{named}: {full}")


def _said(name: str, **values: object) -> Consequence:
    return Consequence(*TOLD.table(name, **values).values())


def _connection_changes(old: Cache, new: Cache) -> Iterator[Consequence]:
    """Settings by which pods and servers find and know each other."""
    settings = {
        "audience": (old.audience, new.audience),
        "url": (old.url(), new.url()),
        "port": (old.server.port, new.server.port),
        "user": (old.server.user, new.server.user),
    }
    for name, (was, now) in settings.items():
        if was != now:
            yield _said(name, was=was, now=now)


def _smaller(old: Cache, new: Cache, both: list[tuple[Bucket, Bucket]]) -> Iterator[Consequence]:
    """Space that shrinks."""
    if left := _remaining_share(old.capacity, new.capacity):
        kept = f"each server keeps at most {left} of what it could"
        sizes = f"{old.capacity} → {new.capacity}"
        yield Consequence(kept, f"{kept} (capacity {sizes}): {EVICTS}")
    for was, bucket in both:
        if left := _remaining_share(was.quota, bucket.quota):
            kept = f"bucket {bucket.name} keeps at most {left} of what it could"
            yield Consequence(kept, f"{kept} (quota {was.quota} → {bucket.quota}): {EVICTS}")


def _remaining_share(before: str, after: str) -> str:
    """The part of a space that remains; empty where it did not shrink."""
    sizes = in_bytes(before), in_bytes(after)
    if sizes[1] >= sizes[0]:
        return ""
    # Rounded down to be no promise: 99.99 % is not all.
    return f"{1000 * sizes[1] // sizes[0] / 10:g} %"
