"""How much more there would be: objects of a site, and bytes of one object, as a doubled or too
large file has stopped fleets. Sites that are new, end, or come back are compared with nothing."""

import json

from components.effects.vocabulary import SiteChange
from components.making.manifest import Manifest
from preview.result import Growth, Swollen
from preview.verdict.decommission import special

TIMES = 2
"""A site has grown by much where it has more than so many times as many objects, …"""
MORE = 200
"""… and more than so many more: small sites double by one more component."""
TIMES_SIZE = 10
LARGE = 64 * 1024
"""Bytes of JSON beyond which an object that has grown tenfold is large; etcd takes 1.5 MiB."""


def is_much(before: int, after: int) -> bool:
    """True if so many objects more are more than the usual."""
    return after > TIMES * before and after - before > MORE


def growth(site: SiteChange) -> Growth | None:
    """The growth beyond the usual; None where there is none."""
    if site.before is None or site.after is None or special(site):
        return None
    before, after = len(site.before.objects), len(site.after.objects)
    swollen = tuple(
        Swollen(change.after.title, *sizes)
        for change in site.changes.values()
        if change.before and change.after and (sizes := _excess_sizes(change.before, change.after))
    )
    more = after - before if is_much(before, after) else 0
    return Growth(before, after, more, swollen) if more or swollen else None


def _excess_sizes(before: Manifest, after: Manifest) -> tuple[int, int] | None:
    """The sizes of an object that has grown too much; None for any other."""
    now = size(after)
    was = size(before) if now > LARGE else now
    return (was, now) if now > TIMES_SIZE * was else None


def size(manifest: Manifest) -> int:
    """Bytes of an object as JSON, which is how it is sent."""
    return len(_encode(manifest.body).encode())


_encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode
