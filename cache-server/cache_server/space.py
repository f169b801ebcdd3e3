"""The space and its users: space that uploads hold, and objects that are evicted to make room.

All of it runs in the index's writer thread, one after the other, so that no two uploads are
promised the same bytes.
"""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from cache_server import index
from cache_server.buckets import Bucket, Buckets
from cache_server.files import Layout
from cache_server.refusals import full
from cache_server.writer import Batch

_STEP = 512
"""Objects that are evicted in one transaction; other uploads get their turn in between."""


@dataclass(frozen=True, slots=True)
class Evicted:
    """The objects that one step evicted, and whether there is more to do."""

    rows: tuple[index.Row, ...]
    more: bool


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


class Space:
    """The quotas and the capacity, and who holds what of them."""

    def __init__(self, layout: Layout, capacity: int, accesses: Accesses) -> None:
        self._layout = layout
        self._capacity = capacity
        self._accesses = accesses
        self._reserved: dict[str, int] = {}
        self.buckets: Buckets = {}

    def reserved_bytes(self) -> int:
        """The bytes that uploads hold."""
        return sum(self._reserved.copy().values())

    def reserve(self, batch: Batch, bucket: Bucket, space: int, held: Reservation) -> Evicted:
        """Hold ``space`` bytes of a bucket, and begin to evict for them.

        Refused where uploads hold so much that evicting every object would not be enough.
        """
        if self._reserved.get(bucket.name, 0) + space > bucket.quota:
            raise full(f"uploads to bucket {bucket.name} hold what its quota has")
        if self.reserved_bytes() + space > self._capacity:
            raise full("uploads hold what this server has")
        self._add(batch, held, space)
        return self.evict(batch, bucket.name)

    def release(self, batch: Batch, held: Reservation) -> None:
        """Give back what an upload holds; nothing if it has done so."""
        self._add(batch, held, -held.held)

    def commit(self, batch: Batch, row: index.Row, held: Reservation) -> bool:
        """Make an upload an object; False where its bucket is gone meanwhile.

        One of the same name that came after it is another bucket, and may be for others.
        """
        bucket = self.buckets.get(row.bucket)
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

    def evict(self, batch: Batch, bucket: str) -> Evicted:
        """One step towards a bucket within its quota, and all within the capacity."""
        limit = self.buckets[bucket].quota if bucket in self.buckets else 0
        held = self._reserved.get(bucket, 0)
        over = index.used_bytes(batch.connection, bucket) + held - limit
        if over > 0:
            rows = self._evict(batch, bucket, over)
            if rows:
                return Evicted(rows, more=True)
        over = index.total_used_bytes(batch.connection) + self.reserved_bytes() - self._capacity
        if over > 0:
            rows = self._evict(batch, None, over)
            return Evicted(rows, more=bool(rows))
        return Evicted((), more=False)

    def flush(self, batch: Batch) -> None:
        """Write what is known of accesses."""
        index.touch(batch.connection, self._accesses.take())

    def forget(self, batch: Batch, row: index.Row) -> int:
        """Drop an object whose file is not as it must be; how many are gone, 0 or 1."""
        gone = index.delete(batch.connection, [row])
        batch.doomed.append(self._layout.file(row.key, row.file))
        return gone

    def _evict(self, batch: Batch, bucket: str | None, over: int) -> tuple[index.Row, ...]:
        self.flush(batch)
        rows: list[index.Row] = []
        for row in index.oldest(batch.connection, bucket, _STEP):
            if over <= 0:
                break
            over -= row.space
            rows.append(row)
        index.delete(batch.connection, rows)
        batch.doomed += [self._layout.file(row.key, row.file) for row in rows]
        return tuple(rows)

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


Step = Callable[[Batch], Evicted]
"""A work that evicts."""
