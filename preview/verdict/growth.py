"""How much more there would be: objects of a site, and bytes of one object, as a doubled or too
large file has stopped fleets. Sites that are new, end, or come back are compared with nothing."""

import json
from typing import NamedTuple

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


class Grown(NamedTuple):
    """Counts of the objects of two sides."""

    before: int
    after: int

    @property
    def much(self) -> bool:
        """True if the site grows by more than the usual."""
        return self.after > TIMES * self.before and self.after - self.before > MORE


def growth(site: SiteChange) -> Growth | None:
    """The growth beyond the usual; None where there is none."""
    if site.before is None or site.after is None or special(site):
        return None
    objects = Grown(len(site.before.objects), len(site.after.objects))
    swollen = tuple(
        Swollen(change.after.title, *sizes)
        for change in site.changes.values()
        if change.before and change.after and (sizes := _excess_sizes(change.before, change.after))
    )
    if not objects.much and not swollen:
        return None
    more = objects.after - objects.before if objects.much else 0
    return Growth(objects.before, objects.after, more, swollen)


def _excess_sizes(before: Manifest, after: Manifest) -> tuple[int, int] | None:
    """The sizes of an object that has grown too much; None for any other."""
    now = size(after)
    was = size(before) if now > LARGE else now
    return (was, now) if now > TIMES_SIZE * was else None


def size(manifest: Manifest) -> int:
    """Bytes of an object as JSON, which is how it is sent."""
    return len(_encode(manifest.body).encode())


_encode = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode
