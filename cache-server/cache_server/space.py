"""The space and its users: uploads hold some, and objects are evicted to make room. All of it runs
in the index's writer thread, so that no two uploads are promised the same bytes."""

import heapq
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from operator import itemgetter

from cache_server import index
from cache_server.buckets import Bucket, Buckets
from cache_server.files import Layout
from cache_server.refusals import full
from cache_server.writer import Batch

_STEP = 512
"""Objects that are evicted in one transaction; other uploads get their turn in between."""


@dataclass(slots=True)
class Reservation:
    """The space that an upload holds until it is an object or given up."""

    bucket: str
    since: int
    """The ``since`` of the bucket that the upload was admitted to."""
    held: int = 0


class Accesses:
    """The times when objects were used last, until the index knows them."""

    def __init__(self, latest: int) -> None:
        self._lock = threading.Lock()
        self._latest = latest
        self._noted: dict[bytes, int] = {}

    def now(self) -> int:
        """A time that is later than all before, whatever the clock does."""
        with self._lock:
            return self._tick()

    def note(self, key: bytes) -> None:
        """An object is used now."""
        with self._lock:
            self._noted[key] = self._tick()

    def take(self) -> Mapping[bytes, int]:
        """The accesses that are noted and not in the index; they are the caller's now."""
        with self._lock:
            taken, self._noted = self._noted, {}
            return taken

    def _tick(self) -> int:
        self._latest = max(self._latest + 1, time.time_ns())
        return self._latest


def shares(buckets: Buckets, capacity: int) -> dict[str, int]:
    """The bytes of each bucket that no other can take from it: its quota, or where the quotas
    exceed the capacity its part of that. So all shares together never exceed the capacity."""
    whole = max(capacity, sum(each.quota for each in buckets.values()), 1)
    return {each.name: capacity * each.quota // whole for each in buckets.values()}


class Space:
    """The quotas, the shares and the capacity, and who holds what of them."""

    def __init__(self, layout: Layout, capacity: int, accesses: Accesses) -> None:
        self._layout = layout
        self._capacity = capacity
        self._accesses = accesses
        self._reserved: dict[str, int] = {}
        self.configure({})

    def configure(self, buckets: Buckets) -> None:
        """The buckets that there are from now on; one that is gone has no quota and no share."""
        self._buckets, self._shares = buckets, shares(buckets, self._capacity)

    def reserved_bytes(self) -> int:
        """The bytes that uploads hold."""
        return sum(self._reserved.copy().values())

    def reserve(
        self, batch: Batch, bucket: Bucket, space: int, held: Reservation
    ) -> tuple[index.Row, ...]:
        """Hold ``space`` bytes of a bucket, and begin to evict for them; refused where evicting all
        that may be evicted would not be enough."""
        if self._reserved.get(bucket.name, 0) + space > bucket.quota:
            raise full(f"uploads to bucket {bucket.name} hold what its quota has")
        if self._least(batch, bucket.name, space) > self._capacity:
            raise full("uploads and the shares of other buckets hold what this server has")
        self._add(batch, held, space)
        return self.evict(batch, bucket.name)

    def release(self, batch: Batch, held: Reservation) -> None:
        """Give back what an upload holds; nothing if it has done so."""
        self._add(batch, held, -held.held)

    def commit(self, batch: Batch, row: index.Row, held: Reservation) -> bool:
        """Make an upload an object; False where its bucket is gone. One of the same name that came
        after it is another bucket, and may be for others."""
        bucket = self._buckets.get(row.bucket)
        if bucket is None or bucket.since != held.since:
            return False
        old = index.insert(batch.connection, row, self._accesses.now())
        if old is not None:
            batch.doomed.append(self._layout.file(old.key, old.file))
        self.release(batch, held)
        return True

    def bucket_names(self, batch: Batch) -> tuple[str, ...]:
        """The buckets that have objects, also those that are gone."""
        return tuple(index.usage(batch.connection))

    def evict(self, batch: Batch, bucket: str) -> tuple[index.Row, ...]:
        """One step towards a bucket within its quota, and all within the capacity: the objects that
        it evicted; none where there is room."""
        used = index.spaces(batch.connection)
        limit = self._buckets[bucket].quota if bucket in self._buckets else 0
        over = used.get(bucket, 0) + self._reserved.get(bucket, 0) - limit
        rows = self._evict(batch, {bucket: over}, over) if over > 0 else ()
        over = sum(used.values()) + self.reserved_bytes() - self._capacity
        if over > 0 and not rows:
            rows = self._evict(batch, self._above_shares(used), over)
        return rows

    def flush(self, batch: Batch) -> None:
        """Write what is known of accesses."""
        index.touch(batch.connection, self._accesses.take())

    def forget(self, batch: Batch, row: index.Row) -> int:
        """Drop an object whose file is not as it must be; how many are gone, 0 or 1."""
        gone = index.delete(batch.connection, [row])
        batch.doomed.append(self._layout.file(row.key, row.file))
        return gone

    def _above_shares(self, used: Mapping[str, int]) -> dict[str, int]:
        """The bytes by which buckets with objects are above their shares; others are left out."""
        above = {
            name: space + self._reserved.get(name, 0) - self._shares.get(name, 0)
            for name, space in used.items()
        }
        return {name: over for name, over in above.items() if over > 0}

    def _least(self, batch: Batch, bucket: str, space: int) -> int:
        """The bytes that stay if a bucket holds ``space`` more and all that may go is evicted:
        what uploads hold, and objects of each bucket up to its share."""
        used, held = index.spaces(batch.connection), self._reserved.copy()
        most = sum(used.values()) + sum(held.values()) + space
        if most <= self._capacity:
            return most
        held[bucket] = held.get(bucket, 0) + space
        return sum(
            max(own := held.get(name, 0), min(own + used.get(name, 0), self._shares.get(name, 0)))
            for name in used.keys() | held.keys()
        )

    def _evict(self, batch: Batch, above: Mapping[str, int], over: int) -> tuple[index.Row, ...]:
        """Evict ``over`` bytes of what was used longest ago, of each bucket until it is no longer
        ``above``; the object across either border goes too."""
        self.flush(batch)
        queues = (
            _until(index.oldest(batch.connection, name, _STEP), most)
            for name, most in above.items()
        )
        merged = heapq.merge(*queues, key=itemgetter(0))
        rows = tuple(row for _, row in islice(_until(merged, over), _STEP))
        index.delete(batch.connection, rows)
        batch.doomed += [self._layout.file(row.key, row.file) for row in rows]
        return rows

    def _add(self, batch: Batch, held: Reservation, space: int) -> None:
        self._change(held, space)
        batch.undo.append(lambda: self._change(held, -space))

    def _change(self, held: Reservation, space: int) -> None:
        held.held += space
        rest = self._reserved.get(held.bucket, 0) + space
        if rest:
            self._reserved[held.bucket] = rest
        else:
            self._reserved.pop(held.bucket, None)


def _until(rows: Iterable[tuple[int, index.Row]], space: int) -> Iterator[tuple[int, index.Row]]:
    """The first rows that take ``space`` bytes or more together."""
    for accessed, row in rows:
        if space <= 0:
            return
        space -= row.space
        yield accessed, row
