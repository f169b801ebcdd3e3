"""Whose token it is: asked of the API server, remembered for a while, and never guessed."""

import concurrent.futures
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cache_server_kit.process import OBJECTS, CacheServer, bucket, until
from cache_server_kit.reviews import FakeTokenReviews, fake_token, fake_token_reviews, forged

PATH = f"{OBJECTS}/abc/x"
BUCKETS = [bucket("abc", namespaces=["team-a"]), bucket("open", public=True)]


@pytest.fixture
def fake() -> Iterator[FakeTokenReviews]:
    with fake_token_reviews() as fake:
        yield fake


@pytest.fixture
def server(fake: FakeTokenReviews, tmp_path: Path) -> Iterator[CacheServer]:
    with CacheServer(tmp_path, fake.url).configure(*BUCKETS) as running:
        yield running


@pytest.fixture(scope="module")
def shared(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[CacheServer, FakeTokenReviews]]:
    """One server for tests that show it tokens of their own."""
    with fake_token_reviews() as fake:
        made = CacheServer(tmp_path_factory.mktemp("cache"), fake.url).configure(*BUCKETS)
        with made as running:
            yield running, fake


@pytest.fixture
def judged(
    shared: tuple[CacheServer, FakeTokenReviews],
) -> Iterator[tuple[CacheServer, FakeTokenReviews]]:
    """The shared server; what a test makes its fake answer is taken back."""
    yield shared
    shared[1].answer, shared[1].status = None, 201


# --- remembered (with the fake: only it can be counted, held back and ended at will) --------------


def test_a_token_is_asked_about_once(server: CacheServer, fake: FakeTokenReviews) -> None:
    good, bad = fake_token("team-a"), forged("team-a")
    for _ in range(3):
        assert server.get(PATH, good).status == 404
        assert server.get(PATH, bad).status == 401
    assert fake.reviews == 2
    assert server.metric('cache_token_reviews_total{result="accepted"}') == 1
    assert server.metric('cache_token_reviews_total{result="refused"}') == 1
    assert server.metric("cache_token_cache_hits_total") == 4


def test_requests_at_once_ask_once(server: CacheServer, fake: FakeTokenReviews) -> None:
    token = fake_token("team-a")
    fake.gate.clear()
    with concurrent.futures.ThreadPoolExecutor(10) as pool:
        answers = [pool.submit(server.get, PATH, token) for _ in range(10)]
        until(lambda: fake.reviews > 0)
        # Requests without a token are answered meanwhile, so those with one are all in by now.
        for _ in range(20):
            assert server.get(f"{OBJECTS}/open/x").status == 404
        fake.gate.set()
        assert {answer.result().status for answer in answers} == {404}
    assert fake.reviews == 1


def test_an_accepted_token_is_asked_about_again(fake: FakeTokenReviews, tmp_path: Path) -> None:
    flags = {"review-seconds": "0.05", "refused-seconds": "600"}
    with CacheServer(tmp_path, fake.url, flags).configure(*BUCKETS) as server:
        token = fake_token("team-a")
        assert server.get(PATH, token).status == 404
        # As when the pod is gone.
        fake.answer = {"authenticated": False}
        until(lambda: server.get(PATH, token).status == 401)
        asked = fake.reviews
        fake.answer = None
        assert server.get(PATH, token).status == 401, "a refusal is remembered too"
        assert fake.reviews == asked


def test_no_token_is_remembered_beyond_its_end(fake: FakeTokenReviews, tmp_path: Path) -> None:
    flags = {"review-seconds": "600"}
    with CacheServer(tmp_path, fake.url, flags).configure(*BUCKETS) as server:
        token = fake_token("team-a", seconds=2.0)
        until(lambda: server.get(PATH, token).status == 401)


def test_a_token_whose_end_is_unknown_is_not_remembered(
    server: CacheServer, fake: FakeTokenReviews
) -> None:
    user = {"username": "system:serviceaccount:team-a:default"}
    fake.answer = {"authenticated": True, "user": user, "audiences": ["cache"]}
    for _ in range(2):
        assert server.get(PATH, fake_token("team-a", exp=None)).status == 404
    assert fake.reviews == 2


def status(**changes: Any) -> dict[str, Any]:
    user = {"username": "system:serviceaccount:team-a:default"}
    return {"authenticated": True, "user": user, "audiences": ["cache"], **changes}


@pytest.mark.parametrize(
    ("judgement", "expected"),
    [
        (status(), 404),
        (status(audiences=["other", "cache"]), 404),
        (status(authenticated=False), 401),
        (status(authenticated="true"), 401),
        # An API server that does not know of audiences leaves them out.
        (status(audiences=None), 401),
        (status(audiences=[]), 401),
        (status(audiences=["other"]), 401),
        (status(audiences="cache"), 401),
        (status(user={"username": "system:node:team-a"}), 401),
        (status(user={"username": "system:serviceaccount:team-a"}), 401),
        (status(user={"username": "x:system:serviceaccount:team-a:b"}), 401),
        (status(user={"username": "system:serviceaccount:team-b:team-a"}), 403),
        (status(user=None), 401),
        ({}, 401),
    ],
)
def test_only_a_whole_yes_is_a_yes(
    judged: tuple[CacheServer, FakeTokenReviews], judgement: dict[str, Any], expected: int
) -> None:
    server, fake = judged
    fake.answer = judgement
    assert server.get(PATH, fake_token("team-a")).status == expected


# --- the API server is away -----------------------------------------------------------------------


@pytest.mark.parametrize("code", [200, 301, 400, 401, 403, 404, 429, 500, 503])
def test_an_error_of_the_api_server_is_never_a_yes(
    judged: tuple[CacheServer, FakeTokenReviews], code: int
) -> None:
    server, fake = judged
    fake.status = code
    token = fake_token("team-a")
    assert server.get(PATH, token).status == (404 if code == 200 else 503)
    assert server.get(f"{OBJECTS}/open/x", token).status == 404, "a public bucket needs nobody"
    fake.status = 201
    assert server.get(PATH, token).status == 404, "an error is not remembered"


def test_an_outage_spares_tokens_that_are_known(tmp_path: Path) -> None:
    with fake_token_reviews() as fake:
        made = CacheServer(tmp_path, fake.url).configure(*BUCKETS)
        with made as server:
            known, new = fake_token("team-a"), fake_token("team-a", salt="new")
            assert server.get(PATH, known).status == 404
            fake.status = 500
            assert server.get(PATH, known).status == 404
            answer = server.get(PATH, new)
            assert (answer.status, answer.headers["Retry-After"]) == (503, "1")
            assert server.get("/healthz").status == 200, "another server would help nobody"


def test_an_api_server_that_is_not_there_is_never_a_yes(tmp_path: Path) -> None:
    with fake_token_reviews() as fake:
        url = fake.url
    with CacheServer(tmp_path, url).configure(*BUCKETS) as server:
        assert server.get(PATH, fake_token("team-a")).status == 503
        assert server.metric('cache_token_reviews_total{result="error"}') == 1


def test_its_own_token_is_read_again(server: CacheServer, fake: FakeTokenReviews) -> None:
    server.get(PATH, fake_token("team-a"))
    server.own_token.write_text("rotated\n")
    server.get(PATH, fake_token("team-a", salt="other"))
    assert fake.own_tokens == ["own", "rotated"]
