"""Servers of the object cache that are killed under traffic: what clients see, and what is left.

The parts are those of tests/components/object_cache/test_cache_end_to_end.py.
"""

import hashlib
import http.client
import os
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pfio.v2  # type: ignore[import-untyped]
import pytest

from components.making.object_cache_client import TOKEN_VARIABLE
from tests.kit import waiting
from tests.kit.cache_cluster import Cluster, Reply, Server, ask, cluster
from tests.kit.cache_tokens import new_pod
from tests.kit.envoy import NEEDS_ENVOY

pytestmark = [pytest.mark.controlplane, pytest.mark.slow, NEEDS_ENVOY, pytest.mark.proof]
SPEC = {"containers": [{"name": "worker", "image": "registry.example/train:1"}]}
BUCKET = "pictures"
METHODS = ("GET", "PUT")
PREFIX = f"/v1/objects/{BUCKET}/"
UNCHECKED = Reply(503, b"the token cannot be checked now\n")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster(tmp_path_factory.mktemp("cache")) as found:
        yield found


@pytest.fixture
def token(world: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    found = new_pod(world.client, "vision", SPEC).token(world.cache.audience)
    (tmp_path / "token").write_text(found)
    monkeypatch.setenv(TOKEN_VARIABLE, str(tmp_path / "token"))
    return found


@contextmanager
def going_on(*works: Callable[[], None]) -> Iterator[None]:
    """Each work again and again, in a thread of its own, until the block ends; raises its error."""
    ending = threading.Event()

    def repeat(work: Callable[[], None]) -> None:
        while not ending.is_set():
            work()

    with ThreadPoolExecutor(len(works)) as threads:
        running = [threads.submit(repeat, work) for work in works]
        try:
            yield
        finally:
            ending.set()
    for each in running:
        each.result()


class Traffic:
    """Clients that put objects, and get those that were acknowledged; all by way of Envoy."""

    def __init__(self, world: Cluster, token: str, sizes: tuple[int, int]) -> None:
        self.world, self.token, self.sizes = world, token, sizes
        self.acknowledged: dict[str, str] = {}
        """The hash of each object that was answered with 201, by its name."""
        self.tried: dict[str, str] = {}
        """Likewise of every object that was sent, or a part of it."""
        self.statuses: Counter[tuple[str, int]] = Counter()
        self.cut: Counter[str] = Counter()
        """Answers that ended before they were whole, which a client takes for a miss."""
        self.errors: set[bytes] = set()
        """Bodies of answers with a status of 500 and above."""
        self.unchecked = 0
        """How often a server could not ask about a token: the API server had no processor time."""

    def put(self) -> None:
        """Put a new object."""
        # A name has one content: a server that was away for a while has that of its time.
        name = os.urandom(8).hex()
        content = os.urandom(random.randint(*self.sizes))
        self.tried[name] = digest = hashlib.sha256(content).hexdigest()
        if self.ask("PUT", name, content) == (201, b""):
            self.acknowledged[name] = digest

    def get(self) -> None:
        """Get an object that was acknowledged; what comes is what was put."""
        if not self.acknowledged:
            return
        name = random.choice(list(self.acknowledged))
        status, body = self.ask("GET", name)
        if status == 200:
            assert hashlib.sha256(body).hexdigest() == self.acknowledged[name]

    def ask(self, method: str, name: str, body: bytes | None = None) -> tuple[int, bytes]:
        """Status and body of one request; 0 where the connection ended before."""
        try:
            found = ask(self.world.address, method, PREFIX + name, self.token, body)
        except (OSError, http.client.HTTPException):
            self.cut[method] += 1
            return 0, b""
        if found == UNCHECKED:
            self.unchecked += 1
            return self.ask(method, name, body)
        if found.status >= 500:
            self.errors.add(found.body)
        self.statuses[method, found.status] += 1
        return found

    def has_put(self, count: int) -> bool:
        """True if so many objects are acknowledged."""
        return len(self.acknowledged) >= count

    def of(self, server: Server) -> list[str]:
        """The acknowledged objects whose server is this one while it lives."""
        return [each for each in list(self.acknowledged) if self.owner(each) is server]

    def owner(self, name: str) -> Server:
        """The server of an object."""
        return self.world.owner(BUCKET, name)

    def holders(self, name: str) -> set[str]:
        """The servers that have an object; whatever they have is whole."""
        found = self.world.holders(BUCKET, name, self.token)
        assert {hashlib.sha256(body).hexdigest() for body in found.values()} <= {self.tried[name]}
        return set(found)


class Reader:
    """A program that reads files by PFIO, as training does; it counts what the cache gave."""

    def __init__(self, world: Cluster, folder: Path, contents: dict[str, bytes]) -> None:
        self.contents = contents
        for name, content in contents.items():
            (folder / name).write_bytes(content)
        self.files = pfio.v2.from_url(str(folder), http_cache=world.url(BUCKET))
        self.read = 0

    def __call__(self) -> None:
        name = random.choice(list(self.contents))
        assert self.files.open(name, "rb").read() == self.contents[name]
        self.read += 1


until = partial(waiting.until, pause=0.01)


def test_a_server_that_is_killed_under_traffic_costs_misses_and_no_errors(
    world: Cluster, token: str, tmp_path: Path
) -> None:
    traffic = Traffic(world, token, (1, 64 << 10))
    reader = Reader(world, tmp_path, {f"{n}.bin": os.urandom(20_000) for n in range(40)})
    victim = random.choice(list(world.servers.values()))
    others = [each for each in world.servers.values() if each is not victim]
    with going_on(traffic.put, traffic.put, traffic.get, traffic.get, reader):
        until(lambda: all(len(traffic.of(each)) > 20 for each in world.servers.values()))
        lost = traffic.of(victim)
        victim.kill()
        put, read = len(traffic.acknowledged), reader.read
        until(lambda: traffic.has_put(put + 200) and reader.read > read + 50)
        # Envoy asks the server that its retries lead to, which has none of these.
        answers = {traffic.ask("GET", name)[0] for name in lost}
    assert answers == {404}, traffic.errors
    assert {status for _, status in traffic.statuses} == {200, 201, 404}, traffic.errors
    assert world.codes().keys() - ({503} if traffic.unchecked else set()) == {200, 201, 404}
    victim.start()
    # What others have acknowledged they have, and what it had itself it has again.
    for name in traffic.acknowledged:
        holders = traffic.holders(name)
        assert holders, f"{name} of {traffic.owner(name).name} is lost"
        if traffic.owner(name) in others:
            assert traffic.owner(name).name in holders
    assert all(victim.name in traffic.holders(name) for name in lost)
    world.all_well()
    assert {traffic.ask("GET", name)[0] for name in lost} == {200}


def test_what_was_half_sent_to_a_server_that_is_killed_is_never_read(
    world: Cluster, token: str, tmp_path: Path
) -> None:
    world.all_well()
    traffic = Traffic(world, token, (2 << 20, 6 << 20))
    reader = Reader(world, tmp_path, {f"{n}.bin": os.urandom(3 << 20) for n in range(8)})
    kills = 5
    with going_on(traffic.put, traffic.put, traffic.put, traffic.get, reader):
        for number in range(1, kills + 1):
            victim = random.choice(list(world.servers.values()))
            until(partial(traffic.has_put, 5 * number))
            time.sleep(random.uniform(0, 0.05))
            victim.kill()
            time.sleep(0.2)
            victim.start()
    # Envoy keeps 1 MiB of an object: a longer one that was on its way cannot be sent elsewhere.
    found = {
        method: {status for key, status in traffic.statuses if key == method} for method in METHODS
    }
    # So soon after each other two of three may be left out of the table, and the third be dead.
    assert found["GET"] <= {200, 404, 503}
    assert found["PUT"] <= {201, 503, 507}
    assert len(found["PUT"]) > 1, "no kill hit an object on its way"
    for name in traffic.tried:
        holders = traffic.holders(name)
        assert holders or name not in traffic.acknowledged
    assert reader.read > kills
