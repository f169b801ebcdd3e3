"""Effects of a changed field of the buckets' file on those who read and write objects.

The file has each server's share of a quota; what the site grants stands in the site file. A bucket
that goes takes copies along and nothing else, so no request has to name that loss: whoever misses
an object reads it where it came from.

Source: the operator's bucket configuration, and cache-server/, which stands in for its server.
"""

from typing import NamedTuple

from components.effects import ABSENT, FieldChange, SiteChange
from components.making.told import Told
from components.object_cache.effects.section import cache_of
from schemas.kubernetes.quantities import in_bytes
from schemas.model.object_cache import Bucket

TOLD = Told(__file__)
EVICTS = TOLD.say("evicts")
NAMED = 3
"""Namespaces that are named in a sentence; more are counted."""
_RIGHTS = ("AllowNamespaces", "Public")
_NAME, _FIELD = 3, 4
"""Steps of a path after ``data``, the file and ``Bucket``."""


def meaning(site: SiteChange, field: FieldChange) -> str:
    """Half a sentence; the path names the bucket."""
    if len(field.path) <= _NAME:
        other = ABSENT in (field.before, field.after)
        return TOLD.say("renamed") if other else "only the form of the file differs"
    if len(field.path) == _NAME + 1:
        new = "a new bucket, which is empty at first"
        return new if field.before is ABSENT else TOLD.say("gone")
    name, key = str(field.path[_NAME]), field.path[_FIELD]
    if key == "BucketQuota":
        return _quota(site, name, field)
    return _access(site, name) if key in _RIGHTS else "the server knows what it means"


def _quota(site: SiteChange, name: str, field: FieldChange) -> str:
    sides = (field.before, field.after)
    sizes = [in_bytes(each) if isinstance(each, str) else 0 for each in sides]
    found = [cache_of(each) for each in site.sides]
    granted = {in_bytes(bucket.quota) for each in found if each and (bucket := each.bucket(name))}
    why = ""
    if len(granted) == 1:
        why = "a server's share of the same quota, for another number of hosts: "
    if sizes[1] < sizes[0]:
        return f"{why}a server that keeps more of the bucket makes room: {EVICTS}"
    return f"{why}each server may keep more of the bucket; nothing is deleted"


def _access(site: SiteChange, name: str) -> str:
    """The readers and writers of a bucket: by its flag and its namespaces together."""
    caches = [cache_of(each) for each in (site.before, site.after)]
    was, bucket = (each.bucket(name) if each else None for each in caches)
    found = access(was, bucket) if was and bucket else ()
    return "; ".join(each.full for each in found) or TOLD.say("same_access")


class Access(NamedTuple):
    """The readers or writers of a bucket, and those before, unless the text says them."""

    now: str
    before: str = ""

    @property
    def full(self) -> str:
        """Both."""
        return f"{self.now} (before: {self.before})" if self.before else self.now


def access(was: Bucket, bucket: Bucket) -> tuple[Access, ...]:
    """The readers and writers of a bucket after a change, and those who stop reading; or empty."""
    found: list[Access] = []
    readers = [None if each.public else set(each.namespaces) for each in (was, bucket)]
    writers = [_writers(each) for each in (was, bucket)]
    if readers[0] != readers[1]:
        sides = [_who(each, "anybody, without a token,") for each in readers]
        found.append(Access(f"{sides[1]} may read it", sides[0].rstrip(",")))
        found += _reading_ends(*readers)
    if writers[0] != writers[1]:
        sides = [_who(each, "every pod that shows a token") for each in writers]
        found.append(Access(f"{sides[1]} may write it", sides[0]))
    return tuple(found)


def _writers(bucket: Bucket) -> set[str] | None:
    """The namespaces whose pods may write; None: each pod with a token (Bucket.writable_by)."""
    return None if bucket.public and not bucket.namespaces else set(bucket.namespaces)


def _who(names: set[str] | None, everybody: str) -> str:
    if names is None:
        return everybody
    if len(names) > NAMED:
        return f"pods of {len(names)} namespaces"
    *first, last = sorted(names) or [""]
    named = f"{', '.join(first)} and {last}" if first else last
    return f"pods of {named}" if named else "nobody"


def _reading_ends(before: set[str] | None, after: set[str] | None) -> list[Access]:
    if after is None:
        return []
    if before is None:
        return [Access("all others, hosts among them, read from the origin")]
    lost = before - after
    return [Access(f"{_who(lost, '')} read from the origin")] if lost else []
