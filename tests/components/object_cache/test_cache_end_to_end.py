"""The object cache from PFIO to the disk, of real parts: PFIO, Envoy with the bootstrap that the
component makes, three servers, and tokens of a real API server.

Not real: no kubelet runs the pods whose tokens these are (so files of tokens are written by hand),
and the expired token is signed here, as the API server gives none of less than 600 s.
"""

import hashlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pfio.v2  # type: ignore[import-untyped]
import pytest
from pfio.cache import http_cache  # type: ignore[import-untyped]

from components.making.object_cache_client import TOKEN_VARIABLE, URL_VARIABLE
from tests.kit.cache_cluster import SECONDS, Cluster, ask, cluster
from tests.kit.cache_tokens import Pod, new_pod, signed
from tests.kit.envoy import NEEDS_ENVOY
from tests.kit.repository import ROOT

pytestmark = [pytest.mark.controlplane, pytest.mark.slow, NEEDS_ENVOY]
SPEC = {"containers": [{"name": "worker", "image": "registry.example/train:1"}]}
LEEWAY = 60
"""Seconds for which the API server takes an expired token, as clocks differ (go-jose v4,
jwt/validation.go, DefaultLeeway)."""


@pytest.fixture(scope="module", autouse=True)
def _patient() -> Iterator[None]:
    """PFIO waits 3 s for the answer to an object (pfio 2.10.0, cache/http_cache.py, HTTPConnector),
    which a busy machine may need for many MiB. Its connections are one pool of the process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(http_cache, "CONNECTION_POOL", http_cache._ConnectionPool(SECONDS))
        yield


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster(tmp_path_factory.mktemp("cache")) as found:
        yield found


@pytest.fixture
def pod(world: Cluster) -> Pod:
    """A pod of the namespace that the buckets are for."""
    return new_pod(world.client, "vision", SPEC)


@pytest.fixture
def token(world: Cluster, pod: Pod, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The pod's token, which PFIO finds as it would in the pod."""
    found = pod.token(world.cache.audience, world.cache.token_seconds)
    (tmp_path / "token").write_text(found)
    monkeypatch.setenv(TOKEN_VARIABLE, str(tmp_path / "token"))
    return found


def files(folder: Path, contents: dict[str, bytes]) -> Path:
    """A folder of files, which is what the cache stands before."""
    for name, content in contents.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


def numbered(count: int, size: int = 1000) -> dict[str, bytes]:
    return {f"train/{n:03}.bin": os.urandom(size) for n in range(count)}


def read(world: Cluster, folder: Path, names: list[str], bucket: str = "pictures") -> list[bytes]:
    """The bytes that PFIO reads of files in a folder, with a bucket of the cache before it."""
    found = pfio.v2.from_url(str(folder), http_cache=world.url(bucket))
    return [found.open(name, "rb").read() for name in names]


def since(world: Cluster, before: dict[int, int]) -> dict[int, int]:
    """The statuses that Envoy has answered with since ``before``, with their number."""
    counts = {code: count - before.get(code, 0) for code, count in world.codes().items()}
    return {code: count for code, count in counts.items() if count}


def test_what_pfio_reads_is_kept_where_the_table_says_and_read_from_there(
    world: Cluster, token: str, tmp_path: Path
) -> None:
    contents = numbered(60)
    folder, names = files(tmp_path / "data", contents), list(contents)
    before = world.codes()
    assert read(world, folder, names) == list(contents.values())
    assert since(world, before) == {404: 60, 201: 60}
    kept = [f"file:/{folder}/{name}" for name in names]
    for name, content in zip(kept, contents.values(), strict=True):
        assert world.holders("pictures", name, token) == {
            world.owner("pictures", name).name: content
        }
    assert {world.owner("pictures", name).name for name in kept} == set(world.servers)
    # No content comes from the disk any more.
    for name in names:
        (folder / name).write_bytes(b"other")
    before = world.codes()
    assert read(world, folder, names) == list(contents.values())
    assert since(world, before) == {200: 60}


def test_names_are_taken_byte_for_byte(
    world: Cluster, token: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    odd = ["a?x=1", "a?x=2", "a", "p%41", "pA", "p%2541", "b+c d", "e#1", "e#2", "f=1;g,h&i@~()"]
    contents = {f"odd/{name}": name.encode() * 10 for name in [*odd, "deep/er/" * 20 + "a"]}
    folder = files(tmp_path / "data", contents)
    for _ in range(2):
        assert read(world, folder, list(contents)) == list(contents.values())
    absent = {
        name
        for name in contents
        if " " not in name and world.holders("pictures", f"file:/{folder}/{name}", token) == {}
    }
    # The client sends no space, and Envoy takes no path with a fragment (both are read anew).
    assert absent == {"odd/e#1", "odd/e#2"}


def test_an_object_of_many_buffers_comes_back_whole(
    world: Cluster, token: str, tmp_path: Path
) -> None:
    content = os.urandom(48 << 20)
    folder = files(tmp_path / "data", {"large.bin": content})
    before = world.codes()
    for _ in range(2):
        assert read(world, folder, ["large.bin"]) == [content]
    assert since(world, before) == {404: 1, 201: 1, 200: 1}


# --- who may do what ------------------------------------------------------------------------------


def statuses(world: Cluster, token: str | None, bucket: str = "pictures") -> tuple[int, int]:
    """Envoy's answers to the PUT of an object, and then to the GET of another."""
    put = ask(world.address, "PUT", f"/v1/objects/{bucket}/put-{os.urandom(4).hex()}", token, b"a")
    return put.status, ask(world.address, "GET", f"/v1/objects/{bucket}/none", token).status


def test_a_token_of_a_pod_of_the_bucket_s_namespace_is_good(world: Cluster, token: str) -> None:
    assert statuses(world, token) == (201, 404)


def test_a_token_by_hand_is_as_good_while_its_time_is_not_over(world: Cluster, token: str) -> None:
    """The control of the expired one: only its time tells them apart."""
    assert statuses(world, signed(world.plane, token, exp=int(time.time()) + 700)) == (201, 404)


def test_an_expired_token_is_refused(world: Cluster, token: str) -> None:
    now = int(time.time())
    times = {"iat": now - 4000, "nbf": now - 4000, "exp": now - LEEWAY - 10}
    assert statuses(world, signed(world.plane, token, **times)) == (401, 401)


def test_a_token_for_somebody_else_is_refused(world: Cluster, pod: Pod) -> None:
    assert statuses(world, pod.token("https://kubernetes.default.svc")) == (401, 401)


@pytest.mark.parametrize("bad", [None, "", "nonsense", "a.b.c"])
def test_what_is_no_token_is_refused(world: Cluster, bad: str | None) -> None:
    assert statuses(world, bad) == (401, 401)


def test_a_token_of_another_namespace_is_good_for_its_own_bucket_alone(world: Cluster) -> None:
    other = new_pod(world.client, "language", SPEC).token(world.cache.audience)
    assert statuses(world, other, "words") == (201, 404)
    assert statuses(world, other, "pictures") == (403, 403)


def test_anybody_reads_a_public_bucket_and_the_namespaces_listed_write_it(
    world: Cluster, token: str
) -> None:
    other = new_pod(world.client, "language", SPEC).token(world.cache.audience)
    assert statuses(world, token, "everybody") == (201, 404)
    assert statuses(world, other, "everybody") == (403, 404)
    assert statuses(world, None, "everybody") == (401, 404)


def test_a_bucket_that_is_not_there_has_no_objects(world: Cluster, token: str) -> None:
    assert statuses(world, token, "none") == (404, 404)


def test_the_token_of_a_deleted_pod_ends(world: Cluster, pod: Pod, token: str) -> None:
    """The API server remembers it for 10 s (kube-apiserver 1.34, TokenSuccessCacheTTL)."""
    assert statuses(world, token) == (201, 404)
    pod.delete()
    end = time.monotonic() + SECONDS
    while statuses(world, token) != (401, 401):
        assert time.monotonic() < end
        time.sleep(0.5)


def test_a_program_whose_token_is_refused_reads_all_the_same(
    world: Cluster, pod: Pod, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "token").write_text(pod.token("another"))
    monkeypatch.setenv(TOKEN_VARIABLE, str(tmp_path / "token"))
    contents = numbered(3)
    folder = files(tmp_path / "data", contents)
    before = world.codes()
    assert read(world, folder, list(contents)) == list(contents.values())
    assert since(world, before) == {401: 6}


def test_a_renewed_token_is_read_from_its_file_while_the_program_runs(
    world: Cluster, pod: Pod, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "token"
    place.write_text(pod.token("another"))
    monkeypatch.setenv(TOKEN_VARIABLE, str(place))
    contents = numbered(2)
    folder, names = files(tmp_path / "data", contents), list(contents)
    opened = pfio.v2.from_url(str(folder), http_cache=world.url("pictures"))
    before = world.codes()
    assert opened.open(names[0], "rb").read() == contents[names[0]]
    assert since(world, before) == {401: 2}
    # As the kubelet does it: the new file takes the place of the old one at once.
    (tmp_path / "new").write_text(pod.token(world.cache.audience))
    os.replace(tmp_path / "new", place)
    time.sleep(1.1)  # PFIO looks again when what it has read is older than a second
    before = world.codes()
    assert opened.open(names[1], "rb").read() == contents[names[1]]
    assert since(world, before) == {404: 1, 201: 1}


# --- room -----------------------------------------------------------------------------------------


def test_what_is_larger_than_a_server_s_share_is_refused_and_read_all_the_same(
    world: Cluster, token: str, tmp_path: Path
) -> None:
    contents = {"large.bin": os.urandom((1 << 20) + 1)}  # of 3 MiB a server has 1
    folder = files(tmp_path / "data", contents)
    before = world.codes()
    assert read(world, folder, ["large.bin"], "small") == list(contents.values())
    assert since(world, before) == {404: 1, 413: 1}


def test_a_full_bucket_takes_new_objects_and_drops_those_unused_for_longest(
    world: Cluster, token: str, tmp_path: Path
) -> None:
    size, count = 64 << 10, 120
    contents = numbered(count, size)
    folder, names = files(tmp_path / "data", contents), list(contents)
    before = world.codes()
    assert read(world, folder, names, "small") == list(contents.values())
    assert since(world, before) == {404: count, 201: count}
    kept: dict[str, list[int]] = {name: [] for name in world.servers}
    put: dict[str, list[int]] = {name: [] for name in world.servers}
    for number, name in enumerate(names):
        full = f"file:/{folder}/{name}"
        put[world.owner("small", full).name].append(number)
        for holder in world.holders("small", full, token):
            kept[holder].append(number)
    for server in world.servers:
        # A share of 1 MiB holds 16 of them.
        assert len(kept[server]) == 16
        assert kept[server] == put[server][-16:]


# --- the example ----------------------------------------------------------------------------------


def test_the_mpi_example_runs_against_the_cache(world: Cluster, token: str, tmp_path: Path) -> None:
    contents = numbered(20)
    folder = files(tmp_path / "data", contents)
    program = ROOT / "docs" / "examples" / "cache" / "mpi_job.py"
    environment = {**os.environ, URL_VARIABLE: world.url("pictures")}
    before = world.codes()
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, program, folder],
            env=environment,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=True,
        )
        hashes = [line.split()[2] for line in done.stdout.splitlines()]
        assert hashes == [hashlib.sha256(each).hexdigest() for each in contents.values()]
        assert done.stderr == ""
    assert since(world, before) == {404: 20, 201: 20, 200: 20}
