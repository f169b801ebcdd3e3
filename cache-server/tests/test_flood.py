"""Many tokens at once: bad ones keep no good one waiting, and the API server is not pressed."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from cache_server import tokens
from cache_server.claims import never_good
from cache_server.metrics import Metrics
from cache_server.refusals import Refusal
from cache_server.review import Unavailable
from cache_server.tokens import Policy, Tokens
from cache_server_kit.process import OBJECTS, CacheServer, bucket
from cache_server_kit.reviews import (
    FakeTokenReviews,
    fake_token,
    fake_token_reviews,
    forged,
    signed,
)

PATH = f"{OBJECTS}/abc/x"
NO_ACCOUNT = "it is no token of a ServiceAccount"


@pytest.fixture(scope="module")
def fake() -> Iterator[FakeTokenReviews]:
    with fake_token_reviews() as fake:
        yield fake


@pytest.fixture(scope="module")
def server(
    fake: FakeTokenReviews, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[CacheServer]:
    made = CacheServer(tmp_path_factory.mktemp("cache"), fake.url)
    with made.configure(bucket("abc", namespaces=["team-a"])) as running:
        yield running


TOKENS = [
    ("rubbish", NO_ACCOUNT),
    ("a.b", NO_ACCOUNT),
    ("e30.!!!.c2ln", NO_ACCOUNT),
    ("e30.\u00e9.c2ln", NO_ACCOUNT),
    (signed([1]), NO_ACCOUNT),
    (fake_token("team-a") + ".more", NO_ACCOUNT),
    (fake_token("team-a", sub=None), NO_ACCOUNT),
    (fake_token("team-a", sub="system:node:a"), NO_ACCOUNT),
    (fake_token("team-a", sub=["system:serviceaccount:a:b"]), NO_ACCOUNT),
    (fake_token("team-a", audience="other"), "it is for another audience"),
    (fake_token("team-a", aud="caches"), "it is for another audience"),
    (fake_token("team-a", aud=7), "it is for another audience"),
    (fake_token("team-a", seconds=-120), "it has expired"),
    (fake_token("team-a", exp=-(10**400)), "it has expired"),
    # These are for the API server to judge.
    (fake_token("team-a"), None),
    (fake_token("team-a", aud="cache"), None),
    (fake_token("team-a", aud=["other", "cache"]), None),
    (fake_token("team-a", aud=None), None),
    (fake_token("team-a", exp=None), None),
    (fake_token("team-a", exp=10**400), None),
    (forged("team-a"), None),
]


# A token holds the time of its making, which is no name for a test.
@pytest.mark.parametrize(("token", "reason"), TOKENS, ids=range(len(TOKENS)))
def test_what_cannot_be_good_is_seen(token: str, reason: str | None) -> None:
    assert never_good(token, "cache") == reason


def test_what_cannot_be_good_is_not_asked_about(
    server: CacheServer, fake: FakeTokenReviews
) -> None:
    asked = fake.reviews
    answer = server.get(PATH, fake_token("team-a", seconds=-120))
    assert (answer.status, answer.headers["WWW-Authenticate"]) == (401, "Bearer")
    assert answer.body == b"the token does not count here: it has expired\n"
    assert fake.reviews == asked
    assert server.metric("cache_token_reviews_spared_total") == 1
    assert "refused: GET of bucket abc: 401 the token does not count here: it has" in server.log


def test_clocks_may_differ_by_seconds() -> None:
    """Made here: a token of the parameters above is minutes old when its turn comes."""
    assert never_good(fake_token("team-a", seconds=-5), "cache") is None


@pytest.mark.parametrize("retry_after", ["", "1"])
def test_a_busy_api_server_is_asked_again(
    server: CacheServer, fake: FakeTokenReviews, retry_after: str
) -> None:
    fake.busy, fake.retry_after = 1, retry_after
    assert server.get(PATH, fake_token("team-a", salt=f"busy {retry_after}")).status == 404


def test_a_busy_api_server_is_not_waited_for_beyond_patience(
    server: CacheServer, fake: FakeTokenReviews
) -> None:
    fake.busy, fake.retry_after = 1, "30"
    asked = fake.reviews
    answer = server.get(PATH, fake_token("team-a", salt="late"))
    assert (answer.status, answer.headers["Retry-After"]) == (503, "1")
    assert fake.reviews == asked + 1


class FakeJudge:
    """Judges when it is let; tokens of team-a are good."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.asked = 0

    async def namespace(self, token: str) -> str | None:
        self.asked += 1
        await self.gate.wait()
        return "team-a" if token.endswith(".c2ln") else None


def test_only_so_many_tokens_wait() -> None:
    async def flood() -> list[Any]:
        judge = FakeJudge()
        judged = Tokens(judge.namespace, Policy("cache", 300, 10), Metrics())
        waiting = [
            asyncio.create_task(judged.namespace(fake_token("team-a", salt=str(number))))
            for number in range(tokens.WAITING)
        ]
        await asyncio.sleep(0)
        with pytest.raises(Unavailable):
            await judged.namespace(fake_token("team-a", salt="one more"))
        judge.gate.set()
        answers = await asyncio.gather(*waiting)
        answers.append(await judged.namespace(fake_token("team-a", salt="one more")))
        return answers

    assert asyncio.run(flood()) == ["team-a"] * (tokens.WAITING + 1)


def test_refusals_push_no_good_token_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "_REFUSED", 3)
    monkeypatch.setattr(tokens, "_ACCEPTED", 3)

    async def flood() -> tuple[int, int]:
        judge = FakeJudge()
        judge.gate.set()
        judged = Tokens(judge.namespace, Policy("cache", 300, 300), Metrics())
        good = fake_token("team-a")
        assert await judged.namespace(good) == "team-a"
        for number in range(10):
            with pytest.raises(Refusal):
                await judged.namespace(forged("team-a", str(number)))
        before = judge.asked
        assert await judged.namespace(good) == "team-a"
        return before, judge.asked

    assert asyncio.run(flood()) == (11, 11)
