"""The cache server's index breaks, or buckets come and go while objects come in."""

import asyncio
import contextlib
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from cache_server import index
from cache_server.buckets import Bucket, Buckets
from cache_server.configuration import Configuration
from cache_server.index import Damage, marker
from cache_server.metrics import Metrics
from cache_server.refusals import Refusal
from cache_server.server import _repeat
from cache_server.service import Service
from cache_server.store import Store
from cache_server.writer import StorageError
from cache_server_kit.process import OBJECTS, CacheServer, bucket, config_text
from cache_server_kit.reviews import fake_token, fake_token_reviews

ROWS = 20_000
PATH = f"{OBJECTS}/abc/x"
PAGE = 4096


@pytest.fixture
def server(tmp_path: Path) -> Iterator[CacheServer]:
    with fake_token_reviews() as fake:
        made = CacheServer(tmp_path, fake.url, token=fake_token("team-a"))
        with made.configure(bucket("abc", public=True)) as running:
            yield running


def break_pages(path: Path, first: int) -> None:
    """Overwrite all pages from one on; the first one, which SQLite reads at once, is page 0."""
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(first * PAGE)
        file.write(b"\x5a" * (size - first * PAGE))


def test_a_broken_page_is_found_at_the_start(tmp_path: Path) -> None:
    path = tmp_path / "index.sqlite"
    index.prepare(path)
    with contextlib.closing(index.connect(path)) as connection:
        connection.execute("BEGIN")
        for number in range(ROWS):
            row = index.Row(number.to_bytes(32), "abc", "1-1", 1, PAGE)
            index.insert(connection, row, number)
        connection.execute("COMMIT")
    # In the middle: neither table's first page.
    with path.open("r+b") as file:
        file.seek(path.stat().st_size // PAGE // 2 * PAGE)
        file.write(b"\x5a" * PAGE)
    index.prepare(path)
    assert path.with_name("index.sqlite.unreadable").exists()
    with contextlib.closing(index.connect(path)) as connection:
        assert index.usage(connection) == {}


def test_a_page_that_breaks_ends_the_server_and_the_start_heals(server: CacheServer) -> None:
    assert server.put(PATH, b"lost").status == 201
    assert server.end() == 0
    server.start()
    break_pages(server.data / "index.sqlite", 1)
    assert server.process is not None
    # Whatever comes first finds it: this, or what the server writes now and then.
    with contextlib.suppress(OSError):
        assert server.get(PATH).status in {200, 503}
    assert server.process.wait(60) == 1
    assert "is broken, so the server must start again" in server.log
    assert marker(server.data / "index.sqlite").exists()
    server.start()
    assert "the cache starts empty" in server.log
    assert not marker(server.data / "index.sqlite").exists()
    assert server.get(PATH).status == 404
    assert server.put(PATH, b"new").status == 201


def test_only_a_broken_index_is_noted(tmp_path: Path) -> None:
    damage = Damage(tmp_path / "index.sqlite")
    busy = sqlite3.OperationalError("database is locked")
    busy.sqlite_errorcode = sqlite3.SQLITE_BUSY
    damage.note(busy)
    assert not damage.found
    broken = sqlite3.DatabaseError("malformed")
    broken.sqlite_errorcode = sqlite3.SQLITE_CORRUPT_INDEX
    damage.note(broken)
    assert damage.found


@pytest.mark.parametrize("error", [sqlite3.DatabaseError("broken"), KeyError("a fault of ours")])
def test_what_goes_on_beside_requests_survives(error: Exception) -> None:
    turns = 0

    async def step() -> None:
        nonlocal turns
        turns += 1
        if turns == 1:
            raise error
        raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(_repeat(step, 0.0))
    assert turns == 2


def test_an_upload_is_no_object_of_a_later_bucket_of_that_name(tmp_path: Path) -> None:
    async def upload() -> dict[str, index.Usage]:
        store = Store(tmp_path, 1 << 30, Metrics())
        first = Bucket("abc", 1 << 20, False, frozenset({"team-a"}), since=1)
        try:
            store.configure({"abc": first})
            async with store.upload(first, bytes(32), 1) as taken:
                store.configure({})
                await store.trim()
                store.configure({"abc": Bucket("abc", 1 << 20, False, frozenset(), since=3)})
                with pytest.raises(Refusal):
                    await store.keep(taken, [b"x"])
            return await store.usage()
        finally:
            await store.close()

    assert asyncio.run(upload()) == {}


class FakeStore:
    """A store whose index cannot be written while ``works`` is False."""

    def __init__(self) -> None:
        self.works = True

    def configure(self, buckets: Buckets) -> None:
        pass

    async def trim(self) -> None:
        if not self.works:
            raise StorageError("no")


class FakeService:
    """Has buckets, and answers nothing."""

    buckets: Buckets = {}  # noqa: RUF012 - as the real one has, and only replaced


def test_no_bucket_comes_before_what_went_is_deleted(tmp_path: Path) -> None:
    file, store, service = tmp_path / "buckets.json", FakeStore(), FakeService()

    def say(*buckets: dict[str, Any]) -> None:
        file.write_text(config_text(*buckets))

    async def look() -> list[str]:
        with contextlib.suppress(StorageError):
            await followed.follow()
        return sorted(service.buckets)

    say(bucket("one"), bucket("two"))
    followed = Configuration(file, cast(Service, service), cast(Store, store), Metrics())
    followed.start()
    assert asyncio.run(look()) == ["one", "two"]
    store.works = False
    say(bucket("one"))
    assert asyncio.run(look()) == ["one"]
    say(bucket("one", namespaces=["team-b"]), bucket("two"))
    assert asyncio.run(look()) == ["one"]
    assert service.buckets["one"].namespaces == {"team-b"}, "rights change at once"
    store.works = True
    assert asyncio.run(look()) == ["one", "two"]
    assert service.buckets["one"].since < service.buckets["two"].since


def test_a_trim_sees_what_is_on_its_way_into_the_index(tmp_path: Path) -> None:
    async def race() -> dict[str, index.Usage]:
        store = Store(tmp_path, 1 << 30, Metrics())
        kept = Bucket("abc", 1 << 20, False, frozenset({"team-a"}), since=1)
        try:
            store.configure({"abc": kept})
            # The row is written when the bucket is gone: it was looked at before.
            row = index.Row(bytes(32), "abc", "1-1", 1, PAGE)

            def late(batch: object) -> None:
                time.sleep(0.2)
                index.insert(batch.connection, row, 1)  # type: ignore[attr-defined]

            store._writer.submit(late)
            store.configure({})
            await store.trim()
            # Behind the row, wherever the trim looked.
            await store.flush()
            return await store.usage()
        finally:
            await store.close()

    assert asyncio.run(race()) == {}
