"""BMCs that lead elsewhere, or answer what is no Redfish: sushy asks servers that play them."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from controlplane.ports import free_port
from foresite.command import UsageError
from foresite.inventory import redfish
from foresite.inventory.records import Intake, read_rules
from tests.kit.web import Handler, listening

Bmc = Callable[[dict[str, Any]], str]
ROOT, SYSTEMS = "/redfish/v1", "/redfish/v1/Systems"


@pytest.fixture
def asked() -> list[str]:
    """What the servers were asked."""
    return []


@pytest.fixture
def bmc(asked: list[str]) -> Iterator[Bmc]:
    """Start BMCs of answers by path: bytes, JSON, or a text that redirects; all have one system."""
    with ExitStack() as running:

        def start(more: dict[str, Any]) -> str:
            nics, system = {"@odata.id": f"{SYSTEMS}/1/n"}, {"@odata.id": f"{SYSTEMS}/1"}
            answers = {
                ROOT: {"RedfishVersion": "1.15.1", "Systems": {"@odata.id": SYSTEMS}},
                SYSTEMS: {"Members": [system]},
                f"{SYSTEMS}/1": {"SerialNumber": "S31", "EthernetInterfaces": nics},
                f"{SYSTEMS}/1/n": {"Members": [{"@odata.id": f"{SYSTEMS}/1/n/1"}]},
                f"{SYSTEMS}/1/n/1": {"PermanentMACAddress": "52:54:00:03:00:31"}, **more,
            }  # fmt: skip
            named = {"Id": "1", "Name": "n"}

            class Answers(Handler):
                def do_GET(self) -> None:
                    asked.append(f"{url.rpartition(':')[2]}{self.path}")
                    body = answers[self.path.rstrip("/")]
                    body = {**named, **body} if isinstance(body, dict) else body
                    if isinstance(body, str):
                        self.answer(302, body, {"Location": body})
                    else:
                        self.answer(200, body)

            url = running.enter_context(listening(Answers, free_port()))
            return url

        yield start


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Intake]:
    """Read a BMC, in an environment that names a proxy."""
    monkeypatch.setenv("REDFISH_USERNAME", "admin")
    monkeypatch.setenv("REDFISH_PASSWORD", "pass word")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    return lambda url: redfish.read([url], read_rules("redfish", None))


def test_a_bmc_is_read(bmc: Bmc, read: Callable[[str], Intake]) -> None:
    (found,) = read(bmc({})).records
    assert (found.key("serial"), found.key("mac")) == ("s31", "52:54:00:03:00:31")


@pytest.mark.parametrize(
    ("path", "leads"),
    [
        (ROOT, lambda other: {"Systems": {"@odata.id": f"//{other}{SYSTEMS}"}}),
        (SYSTEMS, lambda other: {"Members": [{"@odata.id": f"http://{other}{SYSTEMS}/1"}]}),
        (SYSTEMS, lambda other: f"http://{other}{SYSTEMS}"),
        (SYSTEMS, lambda other: {"Members": [{"@odata.id": f"http://0@{other}{SYSTEMS}/1"}]}),
    ],
)
def test_no_other_host_gets_the_account(
    bmc: Bmc, read: Callable[[str], Intake], asked: list[str], path: str, leads: Any
) -> None:
    other = bmc({}).removeprefix("http://")
    intake = read(bmc({path: leads(other)}))
    (problem,) = intake.problems
    assert "which was not asked" in problem.message and not intake.records
    assert not [each for each in asked if each.startswith(other.partition(":")[2])]


@pytest.mark.parametrize(
    ("path", "answer", "says"),
    [
        (ROOT, b"[" * 100_000, "nested too deep"),
        (ROOT, b"<html>", "Expecting value"),
        (ROOT, b" " * (redfish.MAX_BYTES + 1), "more than 4194304 bytes"),
        (SYSTEMS, SYSTEMS, "it redirects"),
        (SYSTEMS, {"Members": [None, 5]}, "no Redfish"),
        (SYSTEMS, [1], "no Redfish"),
    ],
)
def test_what_is_no_redfish_is_said(
    bmc: Bmc, read: Callable[[str], Intake], path: str, answer: Any, says: str
) -> None:
    (problem,) = read(bmc({path: answer})).problems
    assert says in problem.message


@pytest.mark.parametrize(("bound", "most"), [("SECONDS", 1.0), ("MAX_ANSWERS", 40)])
def test_a_bmc_that_never_ends_is_left(
    bmc: Bmc,
    read: Callable[[str], Intake],
    asked: list[str],
    monkeypatch: pytest.MonkeyPatch,
    bound: str,
    most: float,
) -> None:
    monkeypatch.setattr(redfish, bound, most)
    nics: dict[str, Any] = {f"{SYSTEMS}/1/n/1?{number}": {} for number in range(20_000)}
    members = [{"@odata.id": path} for path in nics]
    intake = read(bmc({f"{SYSTEMS}/1/n": {"Members": members}, **nics}))
    assert "it has not ended after" in intake.problems[0].message and not intake.records
    assert len(asked) == 40 or bound == "SECONDS"


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("PASSWORD", "grün", "not printable ASCII"),
        ("PASSWORD", "word\n", "begins or ends with white"),
        ("PASSWORD", " word", "begins or ends with white"),
        ("PASSWORD", " \n", "is not set"),
        ("USERNAME", "a:b", "has a colon"),
    ],
)
def test_an_account_is_sent_as_it_stands_or_not_at_all(
    read: Callable[[str], Intake],
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    value: str,
    says: str,
) -> None:
    monkeypatch.setenv(f"REDFISH_{name}", value)
    with pytest.raises(UsageError) as refused:
        read("https://127.0.0.1:9")
    assert says in str(refused.value) and value not in str(refused.value)
