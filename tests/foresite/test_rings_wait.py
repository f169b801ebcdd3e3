"""A ring waits: for the soak, as long as a site may take, for alerts; with a clock of its own, and
a Prometheus that is a small HTTP server here."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest

from components.making.manifest import Manifest
from foresite.delivery.rings import look as look_module
from foresite.delivery.rings import wait as wait_module
from foresite.delivery.rings.health import CLUSTER, Health, Seen, Verdict, Wanted
from foresite.delivery.rings.look import SERVERS, VARIABLE
from foresite.delivery.rings.wait import Waiting, wait
from foresite.delivery.servers.apiserver import NoAnswerError, RefusedError
from schemas.model.fleet import Rings
from tests.kit.repository import all_sites
from tests.kit.web import Handler, listening

HEALTHY, WAITING, FAILED = Verdict
SERVER: Any = None
"""A management cluster that nobody asks."""
RINGS = Rings(soak_minutes=30, late_minutes=60)
START, MINUTE, FOREVER = 1_000_000.0, 60.0, float("inf")

SILENT = Health(WAITING, "it does not say")


class Clock:
    """Time that passes only while somebody sleeps."""

    def __init__(self) -> None:
        self.now = START

    def time(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(wait_module, "time", found)
    return found


Story = Sequence[tuple[float, Health]]


class Told(Waiting):
    """A site that is as a story says, from so many minutes after the start on."""

    def __init__(self, clock: Clock, management: str, story: Story) -> None:
        of: Any = SimpleNamespace(name="lab-1", file=SimpleNamespace(management=management))
        self.site, self.moved, self._bound, self._turn = of, START, 60 * MINUTE, 40 * MINUTE
        self.kubectl, self._clock, self._story = None, clock, story

    def _found(self, *_: object) -> Health:
        past = (self._clock.now - START) / MINUTE
        return [each for minute, each in self._story if minute <= past][-1]


def site(clock: Clock, *story: tuple[float, Health], management: str = "") -> Waiting:
    return Told(clock, management, story)


def healthy(minute: float) -> Health:
    return Health(HEALTHY, "", 3, 3, START + minute * MINUTE)


def busy(done: int, of: int = 3, hours: float = 1.0) -> Health:
    return Health(WAITING, "machines are missing", done, of, START, hours, 0.0)


def minutes(clock: Clock) -> float:
    return round((clock.now - START) / MINUTE)


def test_a_ring_is_passed_when_all_were_healthy_for_the_soak(clock: Clock) -> None:
    lines: list[str] = []
    sites = [site(clock, (0, healthy(0))), site(clock, (0, busy(1)), (20, healthy(20)))]
    assert wait(sites, RINGS, FOREVER, lines.append) is HEALTHY
    assert minutes(clock) == 50
    assert "lab-1: 1 of 3 machines, expected by 1970-01-12 14:46 UTC" in lines[1]
    # The site that waits is said again after five minutes.
    assert len(lines) == 1 + 4 + 1 + 1
    assert "the next ring begins at 1970-01-12 14:36 UTC" in lines[-1]


@pytest.mark.parametrize(
    ("soak", "story", "after"),
    [
        # It was over before the run, which was killed and started again: the objects say since
        # when. A run sees some minutes of it itself.
        (30, [(0, healthy(-40))], 5),
        # One healthy look passes no ring.
        (0, [(0, healthy(0)), (0.1, busy(1)), (9, healthy(0))], 9.25),
        # It was disturbed.
        (30, [(0, healthy(0)), (10, busy(3)), (15, healthy(0))], 44.75),
    ],
)
def test_when_a_soak_is_over(clock: Clock, soak: int, story: Story, after: float) -> None:
    rings = Rings(soak_minutes=soak, late_minutes=60)
    assert wait([site(clock, *story)], rings, FOREVER, print) is HEALTHY
    assert clock.now == START + after * MINUTE


def test_who_was_healthy_is_not_late_at_the_next_look(clock: Clock) -> None:
    """Another site of the ring takes 250 minutes."""
    lines: list[str] = []
    one = site(clock, (0, busy(1, hours=0.1)), (5, healthy(5)), (180, SILENT), (181, busy(2)),
               (182, healthy(182)))  # fmt: skip
    slow = site(clock, *((n * 50, busy(n, of=5, hours=9)) for n in range(5)), (250, healthy(250)))
    assert wait([one, slow], RINGS, FOREVER, lines.append) is HEALTHY
    assert minutes(clock) == 280


@pytest.mark.parametrize(
    ("story", "after", "words"),
    [
        ([(0, Health(FAILED, "a host fails", 1, 3))], 0, "a host fails"),
        # A turn is 40 minutes, and the bound 60: nothing has moved for so long.
        ([(0, busy(0, hours=9))], 100, "late: machines are missing"),
        ([(0, busy(0, hours=9)), (90, busy(1, hours=8))], 190, "late: "),
        # Each machine is in time, and all of them are not.
        ([(n * 50, busy(n, of=9, hours=1)) for n in range(9)], 120, "late: "),
        # A server that never answers.
        ([(0, SILENT)], 100, "late: it does not say"),
    ],
)
def test_a_site_that_fails_or_is_late_ends_it(
    clock: Clock, story: Story, after: int, words: str
) -> None:
    late, fine = site(clock, *story), site(clock, (0, healthy(0)), management="another")
    assert wait([fine, late], RINGS, FOREVER, print) is FAILED
    assert minutes(clock) == after
    assert words in late.health.why
    assert fine.health.verdict is HEALTHY


def test_sites_of_a_management_cluster_take_turns(clock: Clock) -> None:
    """The second begins when the first is over: one limit is for both."""
    first = [(n * 50, busy(n, of=9, hours=9)) for n in range(5)]
    second = [(0, busy(0, hours=9)), (290, healthy(290))]
    sites = [site(clock, *first, (250, healthy(250))), site(clock, *second)]
    assert wait(sites, RINGS, FOREVER, print) is HEALTHY
    # One that is healthy moves nothing for the other.
    for management, after in (("", 300), ("another", 100)):
        clock.now = START
        stuck = site(clock, (0, busy(0, hours=9)))
        sites = [site(clock, *first, (250, healthy(250)), management=management), stuck]
        assert wait(sites, RINGS, FOREVER, print) is FAILED
        assert minutes(clock) == after


@pytest.mark.parametrize("answers", [True, False])
def test_a_management_cluster_is_logged_in_to_once_for_all_its_sites(
    answers: bool, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, looked = list[str](), list[str]()

    @contextmanager
    def server(_: object, context: str) -> Iterator[str]:
        asked.append(context)
        if not answers:
            raise NoAnswerError("no route to host")
        yield context

    monkeypatch.setattr(wait_module, "ApiServer", server)
    monkeypatch.setattr(Told, "look", lambda _, server, __=0: looked.append(str(server)))
    sites = [site(clock, management=name) for name in ("a", "a", "b")]
    for each in sites:
        each.kubectl, each.health = SimpleNamespace(), healthy(-60)  # type: ignore[assignment]
    assert wait(sites, Rings(soak_minutes=0), START, print) is WAITING
    assert sorted(asked) == ["a", "b"]
    assert sorted(looked) == (["a", "a", "b"] if answers else ["no route to host"] * 3)


def test_what_was_seen_before_stands_while_nobody_answers(clock: Clock) -> None:
    one = site(clock, (0, busy(1)), (5, SILENT), (10, healthy(10)))
    for _ in range(25):
        one.look(OSError())
        clock.sleep(15)
    assert (one.health.done, one.health.of, one.health.why) == (1, 3, "it does not say")


def test_a_run_ends_before_its_time_is_over(clock: Clock) -> None:
    until = START + 10 * MINUTE
    assert wait([site(clock, (0, busy(1)))], RINGS, until, print) is WAITING
    assert clock.now <= until


# --- alerts ---------------------------------------------------------------------------------------


@contextmanager
def prometheus(answer: Any, status: int = 200) -> Iterator[tuple[str, list[str]]]:
    """A server that answers every question alike, without a status in bytes as they are; its URL,
    and the tokens that it got."""
    tokens: list[str] = []

    class Answers(Handler):
        def do_GET(self) -> None:
            tokens.append(f"{self.path} {self.headers.get('Authorization', '')}".strip())
            if status:
                self.answer(status, answer, {"Location": "http://127.0.0.1:1/"})
            else:
                self.wfile.write(answer)

    with listening(Answers) as url:
        yield url, tokens


def alert(name: str, since: str = "1970-01-12T15:00:00.5Z", **more: str) -> dict[str, Any]:
    labels = {"alertname": name, "site": "tokyo-1", "severity": "critical", **more}
    return {"labels": labels, "state": labels.pop("state", "firing"), "activeAt": since}


def answer(*alerts: Any) -> dict[str, Any]:
    """What Prometheus says of alerts, and of rules."""
    groups = [{"rules": [{"name": "x", "labels": {"site": "tokyo-1"}}]}]
    return {"status": "success", "data": {"alerts": [*alerts], "groups": groups}}


Look = Callable[..., Health]


@pytest.fixture
def look(monkeypatch: pytest.MonkeyPatch) -> Look:
    """A look at tokyo-1, whose machines are well, or whose server gives an error; it was changed
    long ago, and may have been applied again since."""
    tokyo = all_sites()["tokyo-1"]
    said = {"observedGeneration": 1, "conditions": [{"type": "Available", "status": "True"}]}
    body = {"apiVersion": "v1", "kind": CLUSTER, "metadata": {"name": "x", "generation": 1},
            "status": said}  # fmt: skip

    def look(url: str = "", error: Exception | None = None) -> Health:
        seen = Mock(return_value=Seen({(CLUSTER, "x"): body}, START, START), side_effect=error)
        monkeypatch.setattr(wait_module, "seen", seen)
        assert tokyo.file.monitoring
        asked = tokyo.file.monitoring.model_copy(update={"prometheus_url": url or None})
        file = tokyo.file.model_copy(update={"monitoring": asked})
        found = Waiting(replace(tokyo, file=file), RINGS, None, START + 9e6, START)
        found._wanted = [Wanted(Manifest("x", body))]
        return found._found(SERVER)

    return look


OLD = alert("Old", "1970-01-12T13:00:00Z", node="host-1")
OTHERS = [alert("Other", site="osaka-1"), alert("Slow", severity="warning"),
          alert("Soon", state="pending"), {"labels": "none"}, "text"]  # fmt: skip


@pytest.mark.parametrize(
    ("alerts", "verdict", "words"),
    [
        (OTHERS, HEALTHY, ""),
        ([OLD], HEALTHY, "fires since before it was changed: Old node=host-1"),
        # 30 s before it was changed, by a clock that may be behind.
        ([alert("Close", "1970-01-12T13:46:10Z")], WAITING, "critical alerts fire: Close"),
        ([OLD, alert("ApiServerDown"), *OTHERS], WAITING, "critical alerts fire: ApiServerDown"),
    ],
)
def test_a_critical_alert_of_the_site_holds_its_ring(
    alerts: list[Any], verdict: Verdict, words: str, look: Look
) -> None:
    with prometheus(answer(*alerts)) as (url, asked):
        found = look(url)
    assert asked == ["/api/v1/alerts", "/api/v1/rules?type=alert"]
    assert (found.verdict, len(found.notes)) == (verdict, int(OLD in alerts))
    assert found.why == words if verdict is WAITING else words in "".join(found.notes)
    assert look().verdict is HEALTHY, "without Prometheus"


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 200),
        (b"<html>", 200),
        (b"[]", 200),
        ({"status": "error"}, 200),
        ({"status": "success", "data": {}}, 200),
        ({"status": "success", "data": {"alerts": []}}, 200),
        # No rule is this site's: none of its alerts would ever fire.
        ({"status": "success", "data": {"alerts": [], "groups": []}}, 200),
        (answer(alert("x", "soon")), 200),
        (answer(), 302),
        (answer(), 500),
        (b"[" + b"1," * (5 << 20) + b"1]", 200),
        (b"SSH-2.0-x\r\n", 0),  # which is no HTTP
    ],
)
def test_a_prometheus_that_does_not_say_holds_it_too(body: Any, status: int, look: Look) -> None:
    with prometheus(body, status) as (url, _):
        found = look(url)
    assert (found.verdict, "Prometheus does not say" in found.why) == (WAITING, True)


def test_the_token_goes_over_tls_to_its_own_server(
    look: Look, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, "a-token")
    with prometheus(answer()) as (url, asked):
        found = look(url)
        # It is for a person to set, and does not pass by itself.
        assert (found.verdict, f"{SERVERS} does not say" in found.why) == (FAILED, True)
        monkeypatch.setenv(SERVERS, f"https://prometheus.example {url}/")
        assert look(f"{url}/x").verdict is HEALTHY
        monkeypatch.setenv(SERVERS, "https://prometheus.example")  # not this one's
        assert look(url).verdict is HEALTHY
        monkeypatch.setenv(VARIABLE, "")
        assert look(url).verdict is HEALTHY
    usual, mine = "/api/v1/alerts", "Bearer a-token"
    rules = "/api/v1/rules?type=alert"
    assert asked == [f"/x{usual} {mine}", f"/x{rules} {mine}", usual, rules, usual, rules]
    monkeypatch.setattr(look_module, "ask", None)  # nothing is asked
    for token, server, words in (
        ("a-token", "http://prometheus.example", "over https only"),
        (" ", "https://prometheus.example", "is not set"),
    ):
        monkeypatch.setenv(VARIABLE, token)
        monkeypatch.setenv(SERVERS, server)
        found = look(server)
        assert (found.verdict, words in found.why) == (FAILED, True)


def test_a_list_in_parts_is_read_to_its_end() -> None:
    more = [{"metadata": {"continue": f"a+{n}"}, "items": [{}]} for n in range(1, 999)]
    server = Mock(get=Mock(side_effect=[*more[:2], {"metadata": {}, "items": [{}]}]))
    assert len([*look_module._list(server, "x/machinesets", "labelSelector=a")]) == 3
    part = "/apis/x/machinesets?limit=500&labelSelector=a&continue=a%2B2"
    assert server.get.call_args.args == (part,)
    endless = Mock(get=Mock(side_effect=more))
    with pytest.raises(NoAnswerError, match="more than 20000 machinesets"):
        list(look_module._list(endless, "x/machinesets", ""))


@pytest.mark.parametrize(
    ("error", "verdict"),
    [
        (NoAnswerError("no route to host"), WAITING),
        (RefusedError(500, "HTTP 500"), WAITING),
        (RefusedError(403, "HTTP 403: no"), FAILED),  # this does not pass by itself
        (RefusedError(401, "HTTP 401: no"), FAILED),
        (FileNotFoundError("no kubectl"), FAILED),
        (BlockingIOError("no process"), WAITING),
    ],
)
def test_a_management_cluster_that_does_not_answer_is_no_healthy_site(
    error: Exception, verdict: Verdict, look: Look
) -> None:
    found = look(error=error)
    assert (found.verdict, found.why) == (verdict, f"mgmt-jp-east does not say: {error}")
