"""The cache server ends in every way there is, and what it kept is whole afterwards."""

import os
import random
import signal
import sqlite3
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from cache_server_kit.process import OBJECTS, CacheServer, begin, bucket, until
from cache_server_kit.reviews import fake_token, fake_token_reviews
from cache_server_kit.writers import Writer

MIB = 1 << 20


@pytest.fixture
def server(tmp_path: Path) -> Iterator[CacheServer]:
    with fake_token_reviews() as fake:
        made = CacheServer(tmp_path, fake.url, token=fake_token("team-a"))
        with made.configure(bucket("abc", public=True)) as running:
            yield running


def crash_under_writes(server: CacheServer, writers: list[Writer], seconds: float) -> None:
    """Have all write, and kill the server some time after one object is kept."""
    began = threading.Event()
    threads = [threading.Thread(target=each.write, args=(server, began)) for each in writers]
    for thread in threads:
        thread.start()
    assert began.wait(60)
    time.sleep(seconds)
    server.kill()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()


def check_all(server: CacheServer, writers: list[Writer]) -> None:
    total = sum(each.check(server) for each in writers)
    assert server.metric('cache_used_bytes{bucket="abc"}') == total
    objects = server.metric('cache_objects{bucket="abc"}')
    assert objects == sum(len(each.kept) for each in writers)
    # What was left of uploads goes in the background.
    until(lambda: len(server.files()) == objects)
    assert server.metric("cache_lost_objects_total") == 0
    assert server.metric("cache_reserved_bytes") == 0


MANY = [pytest.param(25, seed, id=name, marks=pytest.mark.proof)
        for seed, name in enumerate(("many", "as many again"))]  # fmt: skip


@pytest.mark.parametrize(("crashes", "seed"), [pytest.param(3, 3, id="few"), *MANY])
def test_kill_9_under_writes_tears_no_object(server: CacheServer, crashes: int, seed: int) -> None:
    dice = random.Random(seed)
    writers = [
        Writer("abc", f"w{number}", random.Random(f"{seed} {number}")) for number in range(4)
    ]
    for _ in range(crashes):
        crash_under_writes(server, writers, dice.uniform(0, 0.3))
        server.start()
        check_all(server, writers)


# --- what a crash leaves, made by hand ------------------------------------------------------------


def object_files(server: CacheServer) -> list[Path]:
    return [path for path in server.files() if path.parent.name != "drafts"]


def test_a_file_that_no_row_knows_is_removed(server: CacheServer) -> None:
    server.put(f"{OBJECTS}/abc/x", b"kept")
    server.kill()
    (kept,) = object_files(server)
    stray = server.data / "objects" / "ab" / ("ab" * 32 + ".1-1")
    stray.write_bytes(b"stray")
    (server.data / "drafts" / ("cd" * 32 + ".1-2")).write_bytes(b"half")
    server.start()
    until(lambda: server.files() == [kept])
    assert server.metric('cache_orphans_removed_total{kind="file"}') == 1
    assert server.get(f"{OBJECTS}/abc/x").body == b"kept"


@pytest.mark.parametrize("damage", ["away", "shorter", "longer"])
@pytest.mark.parametrize("running", [True, False])
def test_a_file_that_is_not_as_its_row_says_is_never_served(
    server: CacheServer, damage: str, running: bool
) -> None:
    server.put(f"{OBJECTS}/abc/x", b"0123456789")
    if not running:
        server.kill()
    (file,) = object_files(server)
    if damage == "away":
        file.unlink()
    else:
        os.truncate(file, 5 if damage == "shorter" else 15)
    if not running:
        server.start()
    assert server.get(f"{OBJECTS}/abc/x").status == 404
    until(lambda: server.metric('cache_objects{bucket="abc"}') == 0)
    until(lambda: not object_files(server))
    assert server.put(f"{OBJECTS}/abc/x", b"again").status == 201
    assert server.get(f"{OBJECTS}/abc/x").body == b"again"


@pytest.mark.parametrize("version", [None, 99])
def test_an_index_that_cannot_be_read_begins_anew(server: CacheServer, version: int | None) -> None:
    server.put(f"{OBJECTS}/abc/x", b"lost")
    assert server.end() == 0
    index = server.data / "index.sqlite"
    if version is None:
        index.write_bytes(b"rubbish" * 1000)
    else:
        with sqlite3.connect(index) as connection:
            connection.execute(f"PRAGMA user_version = {version}")
        connection.close()
    server.start()
    assert "the cache starts empty" in server.log
    assert server.get(f"{OBJECTS}/abc/x").status == 404
    until(lambda: not object_files(server))
    assert server.put(f"{OBJECTS}/abc/x", b"new").status == 201


def test_two_servers_do_not_share_a_folder(server: CacheServer) -> None:
    second = CacheServer(server.folder, server.api_url)
    done = subprocess.run(second.command(), capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == f"cache-server: another server uses {server.data}\n"


# --- the disk -------------------------------------------------------------------------------------


@pytest.mark.slow
def test_health_fails_while_the_disk_cannot_be_written(server: CacheServer) -> None:
    assert server.get("/healthz").status == 200
    # Somebody else holds the index for longer than the server waits: so does a disk that hangs.
    blocker = sqlite3.connect(server.data / "index.sqlite", isolation_level=None)
    blocker.execute("BEGIN IMMEDIATE")
    until(lambda: server.get("/healthz").status == 503)
    assert server.put(f"{OBJECTS}/abc/x", b"x").status == 503
    blocker.execute("ROLLBACK")
    blocker.close()
    until(lambda: server.get("/healthz").status == 200)
    assert server.put(f"{OBJECTS}/abc/x", b"x").status == 201
    assert server.metric("cache_reserved_bytes") == 0


# --- ending ---------------------------------------------------------------------------------------


def listens(server: CacheServer) -> bool:
    try:
        server.connection().connect()
    except ConnectionRefusedError:
        return False
    return True


def test_what_is_under_way_is_finished(server: CacheServer) -> None:
    body = bytes(range(256)) * (32 * MIB // 256)
    assert server.put(f"{OBJECTS}/abc/read", body).status == 201
    reader = server.connection()
    reader.request("GET", f"{OBJECTS}/abc/read")
    reading = reader.getresponse()
    with begin(server, "abc/written", 2 * MIB) as writer:
        writer.sendall(bytes(MIB))
        assert server.process is not None
        server.process.send_signal(signal.SIGTERM)
        until(lambda: not listens(server))
        assert server.process.poll() is None
        writer.sendall(bytes(MIB))
        answer = writer.recv(65536)
        assert answer.startswith(b"HTTP/1.1 201 ")
        assert b"\r\nconnection: close\r\n" in answer.lower()
    assert reading.read() == body
    reader.close()
    assert server.process.wait(60) == 0
    server.start()
    assert server.get(f"{OBJECTS}/abc/written").body == bytes(2 * MIB)


def test_health_fails_first(tmp_path: Path) -> None:
    with fake_token_reviews() as fake:
        flags = {"linger-seconds": "600"}
        made = CacheServer(tmp_path, fake.url, flags, fake_token("team-a"))
        with made.configure(bucket("abc", public=True)) as server:
            assert server.process is not None
            server.process.send_signal(signal.SIGTERM)
            until(lambda: server.get("/healthz").status == 503)
            answer = server.get(f"{OBJECTS}/abc/x")
            assert (answer.status, answer.headers["Connection"]) == (404, "close")


def test_what_stands_still_does_not_keep_it(tmp_path: Path) -> None:
    with fake_token_reviews() as fake:
        flags = {"drain-seconds": "0.2"}
        made = CacheServer(tmp_path, fake.url, flags, fake_token("team-a"))
        with made.configure(bucket("abc", public=True)) as server:
            with begin(server, "abc/x", 10):
                assert server.end() == 0
            assert "1 requests are cut off" in server.log
            server.start()
            assert server.get(f"{OBJECTS}/abc/x").status == 404
            until(lambda: not server.files())
