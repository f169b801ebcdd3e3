"""The objects that the cache server keeps: quotas, eviction, and buckets that change while it
runs."""

import json
import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from cache_server_kit.process import OBJECTS, CacheServer, begin, bucket, until
from cache_server_kit.reviews import FakeTokenReviews, fake_token, fake_token_reviews

KIB, MIB = 1 << 10, 1 << 20
BLOCK = 4096


@pytest.fixture(scope="module")
def reviews() -> Iterator[FakeTokenReviews]:
    with fake_token_reviews() as fake:
        yield fake


@pytest.fixture
def made(reviews: FakeTokenReviews, tmp_path: Path) -> Iterator[CacheServer]:
    """A server that is not started; it is ended after the test."""
    server = CacheServer(
        tmp_path, reviews.url, flags={"capacity": "1Mi"}, token=fake_token("team-a")
    )
    with ExitStack() as stack:
        stack.push(server.__exit__)
        yield server


def put(server: CacheServer, name: str, size: int) -> int:
    return server.put(f"{OBJECTS}/{name}", bytes(size)).status


def there(server: CacheServer, *names: str) -> list[bool]:
    return [server.request("HEAD", f"{OBJECTS}/{name}").status == 200 for name in names]


def used(server: CacheServer, name: str) -> float:
    return server.metric(f'cache_used_bytes{{bucket="{name}"}}')


# --- eviction -------------------------------------------------------------------------------------


def test_what_was_not_used_for_longest_goes_first(made: CacheServer) -> None:
    made.configure(bucket("abc", quota="40Ki", public=True), bucket("other", public=True))
    with made as server:
        assert put(server, "other/old", BLOCK) == 201
        for number in range(10):
            assert put(server, f"abc/{number}", BLOCK) == 201
        # Reading is using, and so is writing anew.
        assert server.get(f"{OBJECTS}/abc/0").status == 200
        assert put(server, "abc/1", BLOCK) == 201
        for number in range(10, 13):
            assert put(server, f"abc/{number}", BLOCK) == 201
        names = [f"abc/{number}" for number in range(13)]
        # A HEAD counts as reading too, so all are asked for at the end.
        gone = [name for name, kept in zip(names, there(server, *names), strict=True) if not kept]
        # The new abc/1 needed room too: it took that of the old one, which was the oldest.
        assert gone == ["abc/2", "abc/3", "abc/4"]
        assert there(server, "other/old") == [True], "another bucket pays nothing"
        assert used(server, "abc") == 10 * BLOCK
        assert server.metric('cache_evicted_objects_total{bucket="abc"}') == 4
        until(lambda: len(server.files()) == 11)


def test_the_order_survives_a_restart(made: CacheServer) -> None:
    made.configure(bucket("abc", quota="16Ki", public=True))
    with made as server:
        for number in range(4):
            put(server, f"abc/{number}", BLOCK)
        assert server.get(f"{OBJECTS}/abc/0").status == 200
        assert server.end() == 0
        server.start()
        assert put(server, "abc/4", BLOCK) == 201
        assert there(server, "abc/0", "abc/1") == [True, False]


def test_a_busy_bucket_takes_no_share_of_a_quiet_one(made: CacheServer) -> None:
    made.configure(*(bucket(name, quota="1Mi", public=True) for name in ("quiet", "busy")))
    with made as server:
        names = [f"quiet/{number}" for number in range(6)]
        for name in [*names, *(f"busy/{number}" for number in range(9))]:
            assert put(server, name, 128 * KIB) == 201
        # What quiet has beyond its share of 512 KiB was used longest ago of all.
        assert there(server, *names) == [False, False, True, True, True, True]
        assert used(server, "quiet") == used(server, "busy") == MIB / 2


def test_what_a_bucket_leaves_of_its_share_is_for_others(made: CacheServer) -> None:
    made.configure(*(bucket(name, quota="1Mi", public=True) for name in ("quiet", "busy")))
    with made as server:
        for number in range(9):
            assert put(server, f"busy/{number}", 128 * KIB) == 201
        assert used(server, "busy") == MIB
        assert put(server, "quiet/first", 512 * KIB) == 201
        assert used(server, "quiet") == used(server, "busy") == MIB / 2
        assert put(server, "busy/large", 768 * KIB) == 507
        assert used(server, "busy") == MIB / 2, "a refused object evicts nothing"


@pytest.mark.proof
def test_a_large_object_takes_the_place_of_many_small_ones(made: CacheServer) -> None:
    made = CacheServer(made.folder, made.api_url, {"capacity": "64Mi"}, made.token)
    # More than one step of eviction takes.
    count = 700
    made.configure(bucket("abc", quota=f"{count * 4}Ki", public=True))
    with made as server:
        for number in range(count):
            put(server, f"abc/{number}", 1)
        assert used(server, "abc") == count * BLOCK
        assert put(server, "abc/large", count * BLOCK) == 201
        assert used(server, "abc") == count * BLOCK
        assert server.metric('cache_objects{bucket="abc"}') == 1


@pytest.mark.parametrize(("size", "space"), [(0, 4096), (1, 4096), (4096, 4096), (4097, 8192)])
def test_objects_are_counted_in_blocks(made: CacheServer, size: int, space: int) -> None:
    made.configure(bucket("abc", public=True))
    with made as server:
        assert put(server, "abc/x", size) == 201
        assert put(server, "abc/x", size) == 201, "an object that is written anew counts once"
        assert used(server, "abc") == space


# --- uploads hold space ---------------------------------------------------------------------------


def test_uploads_together_get_no_more_than_the_quota(made: CacheServer) -> None:
    made.configure(bucket("abc", quota="64Ki", public=True), bucket("other", public=True))
    with made as server:
        assert put(server, "abc/old", 32 * KIB) == 201
        with begin(server, "abc/1", 32 * KIB) as one, begin(server, "abc/2", 32 * KIB) as two:
            # What was there has gone, and what uploads hold cannot be evicted.
            assert there(server, "abc/old") == [False]
            assert put(server, "abc/3", 1) == 507
            assert put(server, "other/x", 1) == 201
            assert server.metric("cache_reserved_bytes") == 64 * KIB
            one.sendall(bytes(32 * KIB))
            assert one.recv(65536).startswith(b"HTTP/1.1 201 ")
            # The first is an object by now, so it can go.
            assert put(server, "abc/3", 1) == 201
            assert there(server, "abc/1") == [False]
            two.sendall(bytes(32 * KIB))
            assert two.recv(65536).startswith(b"HTTP/1.1 201 ")
        assert there(server, "abc/2", "abc/3") == [True, True]
        assert server.metric("cache_reserved_bytes") == 0


def test_uploads_together_get_no_more_than_the_capacity(made: CacheServer) -> None:
    made.configure(*(bucket(name, quota="1Gi", public=True) for name in ("one", "two")))
    with made as server:
        assert put(server, "one/too-large", MIB + 1) == 413
        with begin(server, "one/x", MIB):
            assert put(server, "two/x", 1) == 507
        until(lambda: server.metric("cache_reserved_bytes") == 0)
        assert put(server, "two/x", 1) == 201


def test_too_many_uploads_are_told_to_come_again(made: CacheServer) -> None:
    made = CacheServer(made.folder, made.api_url, {"max-uploads": "1"}, made.token)
    made.configure(bucket("abc", public=True))
    with made as server, begin(server, "abc/1", 10) as one:
        assert put(server, "abc/2", 1) == 503
        one.sendall(bytes(10))
        assert one.recv(65536).startswith(b"HTTP/1.1 201 ")
        assert put(server, "abc/2", 1) == 201


# --- the configuration changes --------------------------------------------------------------------


def reloads(server: CacheServer, result: str) -> float:
    return server.metric(f'cache_config_reloads_total{{result="{result}"}}')


def test_a_bucket_that_is_gone_loses_its_objects(made: CacheServer) -> None:
    made.configure(bucket("kept", public=True), bucket("gone", public=True))
    with made as server:
        for number in range(3):
            put(server, f"gone/{number}", BLOCK)
        put(server, "kept/x", BLOCK)
        with begin(server, "gone/late", 10) as late:
            server.configure(bucket("kept", public=True))
            until(lambda: reloads(server, "good") == 1)
            late.sendall(bytes(10))
            assert late.recv(65536).startswith(b"HTTP/1.1 404 ")
        assert server.get(f"{OBJECTS}/gone/0").status == 404
        until(lambda: len(server.files()) == 1)
        assert b'"gone"' not in server.get("/metrics").body.split(b"cache_used_bytes", 1)[1]
        server.configure(bucket("kept", public=True), bucket("gone", public=True))
        until(lambda: reloads(server, "good") == 2)
        assert there(server, "gone/0", "kept/x") == [False, True]


def test_what_went_while_the_server_was_down_is_deleted_too(made: CacheServer) -> None:
    made.configure(bucket("kept", public=True), bucket("gone", public=True))
    with made as server:
        put(server, "gone/x", BLOCK)
        server.end()
        server.configure(bucket("kept", public=True))
        server.start()
        until(lambda: not server.files())


def test_a_smaller_quota_evicts(made: CacheServer) -> None:
    made.configure(bucket("abc", quota="64Ki", public=True))
    with made as server:
        for number in range(16):
            put(server, f"abc/{number}", BLOCK)
        server.configure(bucket("abc", quota="8Ki", public=True))
        until(lambda: used(server, "abc") == 8 * KIB)
        assert there(server, "abc/13", "abc/14", "abc/15") == [False, True, True]


def test_who_may_read_changes_at_once(made: CacheServer) -> None:
    made.configure(bucket("abc", namespaces=["team-b"]))
    with made as server:
        assert put(server, "abc/x", 1) == 403
        server.configure(bucket("abc", namespaces=["team-a"]))
        until(lambda: reloads(server, "good") == 1)
        assert put(server, "abc/x", 1) == 201


def test_a_config_map_is_followed_through_its_link(made: CacheServer) -> None:
    def content(folder: Path, name: str) -> None:
        folder.mkdir()
        (folder / "buckets.json").write_text(json.dumps({"Bucket": [bucket(name, public=True)]}))

    # As kubelet lays out a volume (pkg/volume/util/atomic_writer.go, Kubernetes 1.34).
    volume = made.folder / "volume"
    volume.mkdir()
    content(volume / "..1", "one")
    (volume / "..data").symlink_to("..1")
    (volume / "buckets.json").symlink_to("..data/buckets.json")
    flags = {"config": str(volume / "buckets.json")}
    with CacheServer(made.folder, made.api_url, flags, made.token) as server:
        assert (put(server, "one/x", 1), put(server, "two/x", 1)) == (201, 404)
        content(volume / "..2", "two")
        (volume / "..data_tmp").symlink_to("..2")
        os.replace(volume / "..data_tmp", volume / "..data")
        until(lambda: reloads(server, "good") == 1)
        assert (put(server, "one/x", 1), put(server, "two/x", 1)) == (404, 201)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "{}",
        '{"Bucket": {}}',
        '{"Bucket": [7]}',
        '{"Bucket": [], "Buckets": []}',
        '{"Bucket": [{"Name": "abc"}]}',
        '{"Bucket": [{"Name": "abc", "BucketQuota": 5}]}',
        '{"Bucket": [{"Name": "abc", "BucketQuota": "many"}]}',
        '{"Bucket": [{"Name": "A/b", "BucketQuota": "1Gi"}]}',
        '{"Bucket": [{"BucketQuota": "1Gi"}]}',
        '{"Bucket": [{"Name": "abc", "BucketQuota": "1Gi", "Public": "no"}]}',
        '{"Bucket": [{"Name": "abc", "BucketQuota": "1Gi", "AllowNamespaces": "a"}]}',
        '{"Bucket": [{"Name": "abc", "BucketQuota": "1Gi", "AllowNamespaces": ["A b"]}]}',
        '{"Bucket": [{"Name": "abc", "BucketQuota": "1Gi", "Quota": "1Gi"}]}',
        '{"Bucket": [{"Name": "abc", "BucketQuota": "1"}, {"Name": "abc", "BucketQuota": "1"}]}',
    ],
)
def test_a_bad_file_changes_nothing(config_server: CacheServer, text: str) -> None:
    server = config_server
    bad, good = reloads(server, "bad"), reloads(server, "good")
    draft = server.folder / "draft"  # put there as one whole: else an empty file may be read too
    draft.write_text(text)
    draft.replace(server.config)
    until(lambda: server.metric("cache_config_last_reload_successful") == 0)
    assert reloads(server, "bad") == bad + 1
    assert server.get(f"{OBJECTS}/abc/x").status == 200
    assert "the new configuration is refused" in server.log
    server.configure(bucket("abc", public=True))
    until(lambda: server.metric("cache_config_last_reload_successful") == 1)
    assert reloads(server, "good") == good, "it is the one that the server goes by"


@pytest.fixture(scope="module")
def config_server(
    reviews: FakeTokenReviews, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[CacheServer]:
    made = CacheServer(tmp_path_factory.mktemp("cache"), reviews.url, token=fake_token("team-a"))
    with made.configure(bucket("abc", public=True)) as server:
        put(server, "abc/x", 1)
        yield server


def test_a_file_that_is_away_changes_nothing(config_server: CacheServer) -> None:
    config_server.config.rename(config_server.folder / "aside")
    until(lambda: config_server.metric("cache_config_last_reload_successful") == 0)
    assert config_server.get(f"{OBJECTS}/abc/x").status == 200
    (config_server.folder / "aside").rename(config_server.config)
    until(lambda: config_server.metric("cache_config_last_reload_successful") == 1)
