"""Fairness between buckets on a server whose quotas exceed its capacity."""

import contextlib
import hashlib
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from cache_server import index
from cache_server.buckets import Bucket
from cache_server.files import Layout
from cache_server.refusals import Refusal
from cache_server.space import Accesses, Reservation, Space, shares
from cache_server.writer import Batch
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as some

CAPACITY = 40
NAMES = ("aaa", "bbb", "ccc", "ddd")

quotas = some.dictionaries(some.sampled_from(NAMES), some.integers(10, 60), min_size=2)
puts = some.tuples(
    some.sampled_from(NAMES),
    some.integers(0, 9),
    some.integers(1, 25),
    some.sampled_from([True, True, True, False]),
)
steps = some.one_of(
    puts, puts, puts, puts, quotas, some.just("end an upload"), some.just("give up an upload")
)


@dataclass
class Model:
    """What a server must keep, said in the plainest way."""

    quotas: dict[str, int]
    objects: dict[tuple[str, int], int] = field(default_factory=dict)
    """The space of each object, by its bucket and name, in the order of their use."""
    uploads: list[tuple[str, int, int]] = field(default_factory=list)

    def held(self, bucket: str) -> int:
        return sum(space for name, _, space in self.uploads if name == bucket)

    def total(self, bucket: str) -> int:
        used = sum(space for (name, _), space in self.objects.items() if name == bucket)
        return used + self.held(bucket)

    def share(self, bucket: str) -> int:
        if sum(self.quotas.values()) <= CAPACITY:
            return self.quotas.get(bucket, 0)
        return CAPACITY * self.quotas.get(bucket, 0) // sum(self.quotas.values())

    def evict(self, bucket: str) -> None:
        """Of the bucket until it is within its quota, then of those above their shares."""
        while self.total(bucket) > self.quotas.get(bucket, 0):
            if not self._drop([bucket]):
                break
        while sum(map(self.total, NAMES)) > CAPACITY:
            if not self._drop([each for each in NAMES if self.total(each) > self.share(each)]):
                break

    def _drop(self, buckets: list[str]) -> bool:
        oldest = next((key for key in self.objects if key[0] in buckets), None)
        if oldest is not None:
            del self.objects[oldest]
        return oldest is not None

    def refuses(self, bucket: str, space: int) -> bool:
        """True if an upload has no room beside other uploads and what shares protect."""
        tried = Model(self.quotas, self.objects, [*self.uploads, (bucket, 0, space)])
        stays = (max(tried.held(each), min(tried.total(each), self.share(each))) for each in NAMES)
        return tried.held(bucket) > self.quotas[bucket] or sum(stays) > CAPACITY


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sqlite3.Connection]:
    path = tmp_path_factory.mktemp("fair") / "index.sqlite"
    index.prepare(path)
    with contextlib.closing(index.connect(path)) as made:
        yield made


@settings(
    max_examples=80,
    deadline=None,
    phases=[Phase.generate],  # making a failed example smaller takes minutes
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(first=quotas, work=some.lists(steps, min_size=30, max_size=60))
def test_a_server_keeps_what_the_model_keeps(
    connection: sqlite3.Connection,
    monkeypatch: pytest.MonkeyPatch,
    first: dict[str, int],
    work: list[object],
) -> None:
    """So a bucket at or below its share loses nothing to others, an upload that is accepted has
    room, and never is more promised than there is."""
    monkeypatch.setattr("cache_server.space._STEP", 3)
    connection.execute("BEGIN")
    try:
        server = Server(connection, first)
        for step in work:
            server.do(step)
            kept = {
                (bucket, name): row.space
                for bucket in NAMES
                for name, row in server.rows(bucket).items()
            }
            assert kept == server.model.objects
            assert sum(map(server.model.total, NAMES)) <= CAPACITY
    finally:
        connection.execute("ROLLBACK")


class Server:
    """A space, beside the model of it."""

    def __init__(self, connection: sqlite3.Connection, quotas: dict[str, int]) -> None:
        self.batch = Batch(connection)
        self.space = Space(Layout(Path("none")), CAPACITY, Accesses(0))
        self.model = Model(quotas)
        self.uploads: list[tuple[index.Row, Reservation]] = []
        self.configure(quotas)

    def rows(self, bucket: str) -> dict[int, index.Row]:
        found = index.oldest(self.batch.connection, bucket, 1000)
        return {row.size: row for _, row in found}

    def do(self, step: object) -> None:
        if isinstance(step, dict):
            self.configure(step)
        elif isinstance(step, tuple):
            self.put(*step)
        elif self.uploads:
            (row, held), (bucket, name, space) = self.uploads.pop(0), self.model.uploads.pop(0)
            if step == "give up an upload":
                self.space.release(self.batch, held)
            elif self.space.commit(self.batch, row, held):
                self.model.objects.pop((bucket, name), None)
                self.model.objects[bucket, name] = space
            else:
                assert bucket not in self.model.quotas
                self.space.release(self.batch, held)

    def configure(self, quotas: dict[str, int]) -> None:
        self.model.quotas = quotas
        self.space.configure(
            {name: Bucket(name, quotas[name], True, frozenset()) for name in quotas}
        )
        for bucket in self.space.bucket_names(self.batch):
            self.finish(bucket)
            self.model.evict(bucket)

    def put(self, bucket: str, name: int, space: int, ends: bool) -> None:
        """Begin an upload; its name is the size of its row, as no file is read here."""
        if bucket not in self.model.quotas:
            return
        key = hashlib.sha256(f"{bucket}/{name}".encode()).digest()
        row, held = (
            index.Row(key, bucket, str(len(self.uploads)), name, space),
            Reservation(bucket, 0),
        )
        limits = Bucket(bucket, self.model.quotas[bucket], True, frozenset())
        refused = self.model.refuses(bucket, space)
        answer = 201
        try:
            self.space.reserve(self.batch, limits, space, held)
        except Refusal as refusal:
            answer = int(refusal.status)
        assert answer == (507 if refused else 201)
        if refused:
            return
        self.uploads.append((row, held))
        self.model.uploads.append((bucket, name, space))
        self.finish(bucket)
        self.model.evict(bucket)
        if ends:
            self.uploads.insert(0, self.uploads.pop())
            self.model.uploads.insert(0, self.model.uploads.pop())
            self.do("end an upload")

    def finish(self, bucket: str) -> None:
        while self.space.evict(self.batch, bucket):
            pass


@given(quotas=quotas, capacity=some.integers(1, 200))
def test_shares_together_are_within_the_capacity(quotas: dict[str, int], capacity: int) -> None:
    made = shares(
        {name: Bucket(name, quotas[name], True, frozenset()) for name in quotas}, capacity
    )
    assert sum(made.values()) <= capacity
    assert all(made[name] <= quotas[name] for name in quotas)
    assert made == quotas or sum(quotas.values()) > capacity
