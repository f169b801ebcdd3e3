"""The cache server as its clients see it: statuses, names, bodies."""

import http.client
import socket
import time
from collections.abc import Iterator

import pytest
from cache_server_kit.process import OBJECTS, CacheServer, bucket
from cache_server_kit.reviews import fake_token, fake_token_reviews

KIB, MIB = 1 << 10, 1 << 20
ODD_NAMES = [
    "s3://s3.example/data/train/00012345.jpg",
    "file:/mnt/data//x.bin",
    "../../etc/passwd",
    "a/../b",
    "a/./b",
    "a//b",
    "a/b/",
    "/",
    "%2F",
    "%2f",
    "a%20b",
    "a%00b",
    "a?part=1",
    "a?part=2",
    "a?",
    "s3://undefined/b/x.zip/pfio-zipfs/inner/1.npy",
    "x" * 2000,
]
"""Names as PFIO sends them (pfio 2.10, cache/http_cache.py: nothing is encoded), and worse."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CacheServer]:
    with fake_token_reviews() as fake:
        made = CacheServer(
            tmp_path_factory.mktemp("cache"),
            fake.url,
            flags={"max-object-bytes": "8Mi", "idle-seconds": "1"},
            token=fake_token("team-a"),
        )
        made.configure(
            bucket("vision", namespaces=["team-a", "team-b"]),
            bucket("closed"),
            bucket("open", public=True),
            bucket("listed", public=True, namespaces=["team-a"]),
            bucket("small", quota="64Ki", public=True),
        )
        with made:
            yield made


STRANGER = fake_token("team-x")
CASES = [
    # Who may read and write where.
    ("GET", "vision/no", None, 404),
    ("PUT", "vision/new", None, 201),
    ("PUT", "vision/new", fake_token("team-b"), 201),
    ("GET", "vision/no", "", 401),
    ("PUT", "vision/no", "", 401),
    ("HEAD", "vision/no", "", 401),
    ("GET", "vision/no", STRANGER, 403),
    ("PUT", "vision/no", STRANGER, 403),
    ("GET", "closed/no", None, 403),
    ("PUT", "closed/no", None, 403),
    ("GET", "open/no", "", 404),
    ("HEAD", "open/no", "", 404),
    ("GET", "open/no", "rubbish", 404),
    ("PUT", "open/new", "", 401),
    ("PUT", "open/new", STRANGER, 201),
    ("GET", "listed/no", "", 404),
    ("PUT", "listed/new", "", 401),
    ("PUT", "listed/new", STRANGER, 403),
    ("PUT", "listed/new", None, 201),
    # Tokens that do not count.
    ("GET", "vision/no", "rubbish", 401),
    ("GET", "vision/no", fake_token("team-a", audience="other"), 401),
    ("GET", "vision/no", fake_token("team-a", seconds=-1), 401),
    # Whether a bucket is there is told to known pods alone.
    ("GET", "unknown/x", "", 401),
    ("GET", "unknown/x", "rubbish", 401),
    ("GET", "unknown/x", None, 404),
    ("PUT", "unknown/x", None, 404),
    # What is no object.
    ("GET", "vision", None, 400),
    ("GET", "vision/", None, 400),
    ("GET", "", None, 400),
    ("GET", "/x", None, 400),
    ("POST", "vision/x", None, 405),
    ("DELETE", "vision/x", None, 405),
    ("PATCH", "vision/x", "", 405),
]


@pytest.mark.parametrize(("method", "path", "token", "status"), CASES)
def test_a_status(
    server: CacheServer, method: str, path: str, token: str | None, status: int
) -> None:
    body = b"x" if method == "PUT" else None
    answer = server.request(method, f"{OBJECTS}/{path}", body, token)
    assert answer.status == status, answer.body
    assert (answer.headers.get("WWW-Authenticate") == "Bearer") == (status == 401)
    assert ("Allow" in answer.headers) == (status == 405)


@pytest.mark.parametrize(
    "path", ["/", "/v1", "/v1/objects", "/v2/objects/vision/x", "//v1/objects/a/b"]
)
def test_elsewhere_is_nothing(server: CacheServer, path: str) -> None:
    assert server.get(path).status == 404


def test_a_scheme_other_than_bearer_is_no_token(server: CacheServer) -> None:
    headers = {"Authorization": f"Basic {server.token}"}
    assert server.request("GET", f"{OBJECTS}/vision/x", token="", headers=headers).status == 401
    lower = {"Authorization": f"bearer {server.token}"}
    assert server.request("GET", f"{OBJECTS}/vision/no", token="", headers=lower).status == 404


# --- names ----------------------------------------------------------------------------------------


def test_each_name_is_an_object_of_its_own(server: CacheServer) -> None:
    for number, name in enumerate(ODD_NAMES):
        assert server.put(f"{OBJECTS}/open/{name}", b"%d" % number).status == 201, name
    for number, name in enumerate(ODD_NAMES):
        assert server.get(f"{OBJECTS}/open/{name}").body == b"%d" % number, name
    # What these names would be if they were resolved, decoded or cut.
    for name in ("b", "a/b", "etc/passwd", "a", "a b".replace(" ", "+"), "x" * 255):
        assert server.get(f"{OBJECTS}/open/{name}").status == 404, name


def test_nothing_of_a_name_is_a_path_on_disk(server: CacheServer) -> None:
    server.put(f"{OBJECTS}/open/../../../../outside", b"x")
    assert {path.name for path in server.folder.iterdir()} == {
        "buckets.json",
        "data",
        "log",
        "own-token",
    }
    for path in server.files():
        key, _, _ = path.name.partition(".")
        assert len(bytes.fromhex(key)) == 32


def test_a_name_of_one_bucket_is_not_that_of_another(server: CacheServer) -> None:
    assert server.put(f"{OBJECTS}/open/same", b"open").status == 201
    assert server.put(f"{OBJECTS}/listed/same", b"listed").status == 201
    assert server.get(f"{OBJECTS}/open/same").body == b"open"


def test_what_containerd_adds_is_no_part_of_a_name(server: CacheServer) -> None:
    path = f"{OBJECTS}/open/docker.io/library/python/blobs/sha256:0123"
    assert server.put(path, b"layer").status == 201
    assert server.get(f"{path}?ns=docker.io").body == b"layer"
    assert server.get(f"{path}?ns=registry.example%3A5000").body == b"layer"
    assert server.get(f"{path}?ns=docker.io&x=1").status == 404


def raw(server: CacheServer, text: bytes) -> bytes:
    """The answer to some bytes, until the server closes."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
        connection.sendall(text)
        received = b""
        while chunk := connection.recv(65536):
            received += chunk
        return received


def test_bytes_beyond_ascii_are_no_name(server: CacheServer) -> None:
    # RFC 3986 has none in a path, and PFIO's http.client sends none.
    path = f"{OBJECTS}/open/".encode() + b"\xff\xe3\x81"
    answer = raw(server, b"GET " + path + b" HTTP/1.1\r\nHost: a\r\n\r\n")
    assert answer.startswith(b"HTTP/1.0 400 ")


def test_an_absolute_target_is_refused(server: CacheServer) -> None:
    rest = b" HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
    answer = raw(server, b"GET http://a/v1/objects/open/x" + rest)
    assert answer.startswith(b"HTTP/1.1 400 ")


# --- bodies ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [0, 1, 64 * KIB, 64 * KIB + 1, MIB, 5 * MIB + 3, 8 * MIB])
def test_an_object_comes_back_as_it_was(server: CacheServer, size: int) -> None:
    path = f"{OBJECTS}/vision/of-{size}"
    body = bytes(range(251)) * (size // 251 + 1)
    body = body[:size]
    assert server.put(path, body).status == 201
    assert server.get(path).body == body
    head = server.request("HEAD", path)
    assert (head.status, head.headers["Content-Length"], head.body) == (200, str(size), b"")


def test_a_part_of_an_object_can_be_had(server: CacheServer) -> None:
    path = f"{OBJECTS}/open/part"
    server.put(path, b"0123456789")
    answer = server.request("GET", path, headers={"Range": "bytes=2-4"})
    assert (answer.status, answer.body) == (206, b"234")


def test_an_object_is_not_unpacked(server: CacheServer) -> None:
    path = f"{OBJECTS}/open/packed"
    answer = server.request("PUT", path, b"\x1f\x8b", headers={"Content-Encoding": "gzip"})
    assert answer.status == 415
    assert server.get(path).status == 404


@pytest.mark.parametrize(
    ("path", "size", "status"),
    [
        ("open/large", 8 * MIB + 1, 413),
        ("small/larger-than-its-quota", 64 * KIB + 1, 413),
        ("small/as-large-as-its-quota", 64 * KIB, 201),
    ],
)
def test_an_object_may_be_too_large(server: CacheServer, path: str, size: int, status: int) -> None:
    assert server.put(f"{OBJECTS}/{path}", bytes(size)).status == status


def test_a_length_is_needed(server: CacheServer) -> None:
    connection = server.connection()
    headers = {"Authorization": f"Bearer {server.token}", "Transfer-Encoding": "chunked"}
    connection.request("PUT", f"{OBJECTS}/open/x", iter([b"abc"]), headers, encode_chunked=True)
    assert connection.getresponse().status == 411
    connection.close()


def begun(server: CacheServer, path: str, announced: int, body: bytes) -> socket.socket:
    """A PUT of which a part is sent."""
    connection = socket.create_connection(("127.0.0.1", server.port), timeout=60)
    head = (
        f"PUT {OBJECTS}/{path} HTTP/1.1\r\nHost: a\r\nContent-Length: {announced}\r\n"
        f"Authorization: Bearer {server.token}\r\n\r\n"
    )
    connection.sendall(head.encode() + body)
    return connection


def wait(server: CacheServer, line: str, value: float) -> None:
    deadline = time.monotonic() + 60
    while server.metric(line) != value:
        assert time.monotonic() < deadline, (line, server.metric(line))
        time.sleep(0.02)


@pytest.mark.parametrize("size", [10, 3 * MIB])
def test_an_upload_that_ends_early_changes_nothing(server: CacheServer, size: int) -> None:
    assert server.put(f"{OBJECTS}/vision/torn", b"before").status == 201
    before = len(server.files())
    with begun(server, "vision/torn", size + 1, bytes(size)):
        wait(server, "cache_reserved_bytes", -(-(size + 1) // 4096) * 4096)
    wait(server, "cache_reserved_bytes", 0)
    assert server.get(f"{OBJECTS}/vision/torn").body == b"before"
    deadline = time.monotonic() + 60
    while len(server.files()) != before:
        assert time.monotonic() < deadline, server.files()
        time.sleep(0.02)


def test_an_upload_that_stands_still_is_given_up(server: CacheServer) -> None:
    with begun(server, "vision/still", 10, b"12345") as connection:
        assert connection.recv(65536).startswith(b"HTTP/1.1 408 ")
    assert server.get(f"{OBJECTS}/vision/still").status == 404


def test_who_asks_first_hears_no_before_the_body(server: CacheServer) -> None:
    def answer(path: str) -> bytes:
        with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
            head = (
                f"PUT {OBJECTS}/{path} HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n"
                f"Authorization: Bearer {server.token}\r\nExpect: 100-continue\r\n\r\n"
            )
            connection.sendall(head.encode())
            first = connection.recv(65536)
            if not first.startswith(b"HTTP/1.1 100 "):
                return first
            connection.sendall(b"ab")
            return connection.recv(65536)

    assert answer("closed/x").startswith(b"HTTP/1.1 403 ")
    assert answer("vision/asked").startswith(b"HTTP/1.1 201 ")
    assert server.get(f"{OBJECTS}/vision/asked").body == b"ab"


def test_the_last_upload_to_end_wins_and_readers_go_on(server: CacheServer) -> None:
    path = f"{OBJECTS}/vision/shared"
    old, new, newest = (letter * (6 * MIB) for letter in (b"o", b"n", b"w"))
    assert server.put(path, old).status == 201
    reader = server.connection()
    reader.request("GET", path, headers={"Authorization": f"Bearer {server.token}"})
    reading = reader.getresponse()
    begin = reading.read(1000)
    with begun(server, "vision/shared", len(newest), newest[:1000]) as late:
        assert server.put(path, new).status == 201
        assert server.get(path).body == new
        late.sendall(newest[1000:])
        assert late.recv(65536).startswith(b"HTTP/1.1 201 ")
    assert server.get(path).body == newest
    assert begin + reading.read() == old
    reader.close()


def test_one_connection_carries_many_requests(server: CacheServer) -> None:
    connection = server.connection()
    headers = {"Authorization": f"Bearer {server.token}"}
    sockets = set()
    for method, path, body in [
        ("PUT", "vision/kept", b"1"),
        ("GET", "vision/kept", None),
        ("PUT", "closed/x", b"refused"),
        ("GET", "vision/no", None),
        ("GET", "vision/of-8388608", None),
        ("PUT", "vision/kept", b"2"),
    ]:
        connection.request(method, f"{OBJECTS}/{path}", body, headers)
        connection.getresponse().read()
        sockets.add(connection.sock)
    assert len(sockets) == 1
    connection.close()


# --- what it tells --------------------------------------------------------------------------------


def test_metrics_count_what_is_asked_for(server: CacheServer) -> None:
    hits, misses = 'cache_hits_total{bucket="open"}', 'cache_misses_total{bucket="open"}'
    sent = 'cache_sent_bytes_total{bucket="open"}'
    server.put(f"{OBJECTS}/open/counted", bytes(300 * KIB))
    before = {line: server.metric(line) for line in (hits, misses, sent)}
    server.get(f"{OBJECTS}/open/counted")
    server.get(f"{OBJECTS}/open/not-counted")
    after = {line: server.metric(line) for line in (hits, misses, sent)}
    grown = [after[line] - before[line] for line in (hits, misses, sent)]
    assert grown == [1, 1, 300 * KIB]
    assert server.metric('cache_quota_bytes{bucket="small"}') == 64 * KIB
    assert server.metric("cache_capacity_bytes") == 4 << 30


def test_metrics_have_no_label_that_a_client_chooses(server: CacheServer) -> None:
    server.request("BREW", f"{OBJECTS}/made-up/x")
    server.request("GET", f"{OBJECTS}/made-up/x")
    text = server.get("/metrics").body
    assert b"made-up" not in text
    assert b"BREW" not in text
    assert b'method="other"' in text


def test_a_token_is_in_no_log_and_no_answer(server: CacheServer) -> None:
    token = fake_token("team-a", salt="never-to-be-seen")
    broken = f"Authorization: Bearer {token}\x01\r\n".encode()
    for headers in (broken, b"X-Bad Name: " + broken, broken * 200):
        raw(server, b"GET /v1/objects/vision/x HTTP/1.1\r\nHost: a\r\n" + headers + b"\r\n")
    for shown in (token, token + "x", f"{token} {token}"):
        answer = server.get(f"{OBJECTS}/vision/no", shown)
        assert token not in str(answer)
    assert token not in server.log
    assert token.encode() not in server.get("/metrics").body


@pytest.mark.parametrize(
    "text", [b"\x00\x01\x02\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n"]
)
def test_rubbish_is_answered_and_the_server_goes_on(server: CacheServer, text: bytes) -> None:
    assert raw(server, text).startswith(b"HTTP/1.0 400 ")
    assert server.get("/healthz").status == 200


def test_a_head_of_a_large_object_sends_no_body(server: CacheServer) -> None:
    server.put(f"{OBJECTS}/open/large-head", bytes(MIB))
    connection = http.client.HTTPConnection("127.0.0.1", server.port)
    connection.request("HEAD", f"{OBJECTS}/open/large-head")
    assert connection.getresponse().headers["Content-Length"] == str(MIB)
    connection.close()
