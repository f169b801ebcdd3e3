"""What a changed field of the buckets' file means to those who read and write objects.

The file has each server's share of a quota; what the site grants stands in the site file. A bucket
that goes takes copies along and nothing else, so no request has to name that loss: whoever misses
an object reads it where it came from.

Source: the operator's bucket configuration, and cache-server/, which stands in for its server.
"""

from components.impact.vocabulary import ABSENT, FieldChange, SiteChange
from components.object_cache.amounts import in_bytes

EVICTS = (
    "the reference server deletes what was read longest ago; a server of your own does as it does"
)
_NAME, _FIELD = 3, 4
"""Steps of a path after ``data``, the file and ``Bucket``."""


def meaning(site: SiteChange, field: FieldChange) -> str:
    """Half a sentence; the path names the bucket."""
    if len(field.path) <= _NAME:
        return _file(field)
    if len(field.path) == _NAME + 1:
        return _whole(field)
    name, key = str(field.path[_NAME]), field.path[_FIELD]
    if key == "BucketQuota":
        return _quota(site, name, field)
    if key == "AllowNamespaces":
        return _namespaces(field)
    return _public(field) if key == "Public" else "the server knows what it means"


def _file(field: FieldChange) -> str:
    if field.before is ABSENT or field.after is ABSENT:
        return (
            "the file has another name: a server that runs finds the old one no more within about "
            "two minutes (the reference server stays with the buckets that it read), and the new "
            "one after its restart"
        )
    return "only the form of the file differs"


def _whole(field: FieldChange) -> str:
    if field.before is ABSENT:
        return "a new bucket, which is empty at first"
    return (
        "the bucket goes with what it keeps: copies, which jobs read from the origin again; the "
        "server may leave them on the disks"
    )


def _quota(site: SiteChange, name: str, field: FieldChange) -> str:
    sides = (field.before, field.after)
    sizes = [in_bytes(each) if isinstance(each, str) else 0 for each in sides]
    found = [each.site.file.cache for each in site.sides]
    granted = {in_bytes(bucket.quota) for each in found if each and (bucket := each.bucket(name))}
    why = ""
    if len(granted) == 1:
        why = "a server's share of the same quota, for another number of hosts: "
    if sizes[1] < sizes[0]:
        return f"{why}a server that keeps more of the bucket makes room: {EVICTS}"
    return f"{why}each server may keep more of the bucket; nothing is deleted"


def _public(field: FieldChange) -> str:
    if field.after is True:
        return "anybody may read the bucket, without a token"
    return "who has no token of its namespaces gets no object of it any more, hosts among them"


def _namespaces(field: FieldChange) -> str:
    if field.before is ABSENT:
        return "one namespace more may use the bucket"
    if field.after is ABSENT:
        return "pods of a namespace may use the bucket no more: they read from the origin"
    return "pods of another namespace may use the bucket; the former ones read from the origin"
