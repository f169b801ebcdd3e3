"""``foresite doctor``: each answer of a server, and of what does not answer, is what it is."""

import json
import re
import socket
import socketserver
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from components.making.manifest import Json, Target
from controlplane import ControlPlane
from controlplane.ports import free_port
from foresite.cli import main
from foresite.delivery.servers import media
from foresite.delivery.servers.apiserver import ApiServer, Kubectl, RefusedError, clock_ahead
from foresite.delivery.servers.doctor import STATES, TOLD, Finding, _held, ask_cluster
from foresite.delivery.servers.media import ask_bmcs, ask_images
from schemas.facts.site import Site
from schemas.model.hardware import BmcProtocol
from tests.kit.faulty_api import Fault, faulty_api
from tests.kit.issuer import Issuer
from tests.kit.repository import FLEET, all_sites
from tests.kit.web import Handler, listening
from tools.toolchain import locate

LAB = all_sites()["lab-1"]
DIGEST = LAB.os_image(LAB.file.pools[0]).sha256
ROOT = b'{"RedfishVersion": "1.15.1"}'
BIG = {"Content-Length": str(2 << 30)}
Answer = tuple[int, dict[str, str], bytes]


@pytest.fixture
def web() -> Iterator[Callable[..., str]]:
    """Start servers whose answers are functions of a method and a path; they end with the test."""
    with ExitStack() as running:

        def start(answer: Callable[[str, str], Answer], certificate: Path | None = None) -> str:
            class Answers(Handler):
                def do_GET(self) -> None:
                    status, head, body = answer(self.command, self.path)
                    self.answer(status, body, head)

                do_HEAD = do_GET

            tls = (certificate, certificate.with_suffix(".key")) if certificate else None
            url = running.enter_context(listening(Answers, free_port(), tls))
            return url.partition("//")[2]

        yield start


@pytest.fixture
def raw() -> Iterator[Callable[[bytes], str]]:
    """Start servers that accept, and send the same for ever, or nothing, while the test lasts."""
    over = threading.Event()

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with suppress(OSError):
                while not over.wait(0.05):
                    self.request.sendall(getattr(self.server, "endless", b""))

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads, request_queue_size = True, 500

    with ExitStack() as running:

        def start(endless: bytes) -> str:
            server = running.enter_context(Server(("127.0.0.1", free_port()), Handler))
            vars(server)["endless"] = endless
            threading.Thread(target=server.serve_forever, args=(0.02,)).start()
            running.callback(server.shutdown)
            running.callback(over.set)
            return f"127.0.0.1:{server.server_address[1]}"

        yield start


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(media, "SECONDS", 0.5)


def site(protocol: BmcProtocol, *bmcs: str) -> Site:
    """lab-1 with a host for each BMC."""
    pool = LAB.file.pools[0]
    profile = LAB.profile(pool)
    bmc = profile.bmc.model_copy(update={"protocol": protocol})
    hosts = (LAB.hosts[0]._replace(name=f"h{n}", bmc=each) for n, each in enumerate(bmcs))
    hardware = {pool.hardware: profile.model_copy(update={"bmc": bmc})}
    return replace(LAB, hosts=tuple(hosts), hardware=hardware)


def images(url: str, mirror: str | None = None) -> list[Finding]:
    sources = LAB.file.sources.model_copy(update={"os_images": url, "registry_mirror": mirror})
    return list(ask_images(replace(LAB, file=LAB.file.model_copy(update={"sources": sources}))))


def image(method: str, path: str, head: dict[str, str] = BIG, beside: str = "") -> Answer:
    if path.endswith(".sha256"):
        return (200, {}, f"{beside}  image.qcow2\n".encode()) if beside else (404, {}, b"")
    return 200, head, b"" if method == "HEAD" else b"x" * 99


@pytest.mark.parametrize(
    ("answer", "state", "says"),
    [
        (image, "ok", "only Ironic compares"),
        (lambda m, p: image(m, p, beside=DIGEST), "ok", "is the release's"),
        (lambda m, p: image(m, p, beside="0" * 64), "problem", "the release has"),
        (lambda m, p: (405, {}, b"") if m == "HEAD" else image(m, p), "ok", "2147483648 bytes"),
        (lambda *_: (404, {}, b""), "problem", "HTTP 404"),
        (lambda *_: (200, {"Content-Type": "text/html"}, b"log in"), "problem", "text/html"),
        (lambda *_: (200, {"Content-Length": "0"}, b""), "problem", "0 bytes"),
        (lambda *_: (302, {"Location": "/again"}, b""), "problem", "address to address"),
        (lambda *_: (302, {"Location": "ftp://127.0.0.1/"}, b""), "problem", "the protocol"),
        (lambda *_: (200, {"Content-Length": "9" * 5000}, b""), "ok", "answers"),
    ],
)
def test_the_answer_of_an_image_server_is_judged(
    web: Callable[..., str], answer: Callable[[str, str], Answer], state: str, says: str
) -> None:
    (found,) = images(f"http://{web(answer)}/os")
    assert (found.state, says in found.text) == (state, True), found
    assert bool(found.next) == (state != "ok")


def test_what_does_not_answer_is_not_taken_for_an_answer(
    web: Callable[..., str], raw: Callable[[bytes], str], tmp_path: Path
) -> None:
    own = web(image, Issuer(tmp_path).certificate)
    began = time.monotonic()
    for url, state, says in (
        (f"http://127.0.0.1:{free_port()}", "problem", "refused"),
        (f"http://{raw(b'')}", "not asked", "nothing comes back"),
        (f"http://{raw(b'H')}", "not asked", "nothing comes back"),
        (f"http://{raw(b'no HTTP' * 9999)}", "problem", "the protocol"),
        (f"https://{raw(b'')}", "not asked", "nothing comes back"),
        (f"https://{own}", "not asked", "does not trust"),
    ):
        (found,) = images(url)
        assert (found.state, says in found.text) == (state, True), found
    assert time.monotonic() - began < 10
    for status, state in ((200, "ok"), (401, "ok"), (502, "problem")):
        *_, found = images(f"http://{own}", f"http://{web(lambda *_, s=status: (s, {}, b''))}/")
        assert found.state == state, found


def test_a_bmc_is_one_only_if_it_says_so(
    web: Callable[..., str], raw: Callable[[bytes], str], tmp_path: Path
) -> None:
    redfish = web(lambda *_: (200, {}, ROOT), Issuer(tmp_path).certificate)
    good, login = (web(lambda *_, b=body: (200, {}, b)) for body in (ROOT, b"<html>"))
    (found,) = ask_bmcs(site(BmcProtocol.REDFISH, f"{redfish}/redfish/v1/Systems/2"))
    assert (found.state, found.names) == ("ok", (f"h0 ({redfish}/redfish/v1/Systems/2)",))
    dead = f"127.0.0.1:{free_port()}"
    bad, silent = raw(b"SSH-2.0" * 9999), raw(b"")
    found_all = list(ask_bmcs(site(BmcProtocol.REDFISH_HTTP, good, login, dead, bad, silent)))
    assert [(each.state, len(each.names)) for each in found_all] == [("ok", 1)] + 4 * [
        ("problem", 1)
    ]
    said = " ".join(each.text for each in found_all)
    assert all(word in said for word in ("no Redfish", "refused", "the protocol", "nothing comes"))


@pytest.mark.parametrize(
    ("answer", "state"),
    [("0600ff06000011be40000010", "ok"), ("0600ff06000011be10", "problem"), ("", "not asked")],
)
def test_a_bmc_by_ipmi_answers_a_ping(answer: str, state: str) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as line:
        line.bind(("127.0.0.1", 0))

        def serve() -> None:
            asked, sender = line.recvfrom(99)
            if answer and asked[8] == 0x80:
                line.sendto(bytes.fromhex(answer), sender)

        threading.Thread(target=serve, daemon=True).start()
        (found,) = ask_bmcs(site(BmcProtocol.IPMI, f"127.0.0.1:{line.getsockname()[1]}"))
    assert found.state == state, found


def test_400_silent_bmcs_end_in_time_and_are_not_sound(
    raw: Callable[[bytes], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(media, "BMC_SECONDS", 2.0)
    silent = site(BmcProtocol.REDFISH, *[raw(b"")] * 400)
    began = time.monotonic()
    (found,) = ask_bmcs(silent)
    assert time.monotonic() - began < 6
    assert (found.state, "none of 400" in found.text) == ("not asked", True)


def test_a_clock_is_off_only_by_what_the_date_shows() -> None:
    date = "Sat, 28 Nov 2026 12:00:00 GMT"
    then = 1795867200.0
    assert clock_ahead(date, then + 0.9, then + 1.2) == 0
    assert clock_ahead(date, then - 20, then - 19) == 19
    assert clock_ahead(date, then + 61, then + 62) == -60
    assert all(clock_ahead(odd, then, then) is None for odd in ("", "x", "9" * 999))


class Server:
    """An API server that has what its paths say; None refuses."""

    context, ahead = "mgmt-lab", 0.0

    def __init__(self, answers: dict[str, Json | None]) -> None:
        self.answers = answers

    def get(self, path: str, _accept: str = "") -> Json | None:
        path = path.rpartition("/")[2].partition("?")[0]
        if path in self.answers and self.answers[path] is None:
            raise RefusedError(403, "forbidden")
        return self.answers.get(path)


def host(number: int, state: str, error: str = "") -> Json:
    status = {"provisioning": {"state": state}, "errorMessage": error}
    return {"metadata": {"name": f"lab-1-lab-00{number}"}, "status": status}


def secrets(**keys: int) -> Json:
    names = ("f:username", "f:password")
    return {"rows": [{"object": {"metadata": {
        "name": f"lab-1-lab-{name}-bmc",
        "managedFields": [{"fieldsV1": {"f:data": {".": {}, key: {}}}} for key in names[:count]],
    }}} for name, count in keys.items()]}  # fmt: skip


BUSY = [host(1, "provisioned"), host(2, "provisioning"), host(3, "available")]
THREE = secrets(**{"001": 2, "002": 2, "003": 2})


@pytest.mark.parametrize(
    ("answers", "states"),
    [
        ({}, {"hosts": "later", "secrets": "later", "cluster": "later"}),
        ({"baremetalhosts": {"items": BUSY}, "lab-1": {}, "secrets": THREE},
         {"hosts": "later", "secrets": "ok", "cluster": "later"}),
        ({"baremetalhosts": {"items": [host(n, "available") for n in (1, 2, 3)]}}, {"hosts": "ok"}),
        ({"baremetalhosts": {"items": BUSY[:1]}}, {"hosts": "problem"}),
        ({"baremetalhosts": {"items": [*BUSY[:2], host(3, "registering", "no\x1b[31m login")]}},
         {"hosts": "problem"}),
        ({"baremetalhosts": None}, {"hosts": "not asked"}),
        ({"lab-1": {}, "secrets": None}, {"secrets": "not asked"}),
        ({"lab-1": {}, "secrets": secrets(**{"001": 2, "002": 0})}, {"secrets": "problem"}),
        ({"lab-1": {}, "secrets": secrets(**{"001": 2, "002": 0, "003": 2})},
         {"secrets": "not asked"}),
        ({"lab-1": {}, "secrets": secrets(**{"001": 2, "002": 2, "003": 1})},
         {"secrets": "problem"}),
    ],
)  # fmt: skip
def test_what_the_management_cluster_has_is_said(
    answers: dict[str, Json | None], states: dict[str, str]
) -> None:
    where = {"site": "lab-1", "context": "mgmt-lab", "cluster": "management"}
    where |= {"namespace": "lab-1", "name": "lab-1"}
    found = list(_held(LAB, cast(ApiServer, Server(answers)), where))
    urgent: dict[str, str] = {}
    for each in found:
        urgent[each.check] = min(each.state, urgent.get(each.check, "ok"), key=STATES.index)
        assert "\x1b" not in each.text
    assert states.items() <= urgent.items(), found


def test_every_finding_but_sound_ones_says_what_to_do() -> None:
    said = {key: each for key, each in TOLD._said.items() if key != "words"}
    assert all(each["state"] in STATES and each["text"] for each in said.values())
    silent = {key for key, each in said.items() if each["state"] != "ok" and not each.get("next")}
    assert silent == {"secrets-later"}  # hosts-none before it says the step


@pytest.mark.controlplane
def test_a_real_api_server_is_asked_and_no_secret_is_read(
    api: ControlPlane,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "lab-1"}}
    secret = {"apiVersion": "v1", "kind": "Secret", "stringData": {"password": "canary-4711"},
              "metadata": {"name": "lab-1-lab-001-bmc", "namespace": "lab-1"}}  # fmt: skip
    with api.client() as client:
        client.apply(space)
        client.apply(secret)
    path = locate(["controlplane"])["kubectl"].path
    monkeypatch.setattr("foresite.commands.doctor.ask_images", lambda _: [])
    monkeypatch.setattr("foresite.commands.doctor.ask_bmcs", lambda _: [])
    with faulty_api(api) as proxy:
        config = proxy.kubeconfig(tmp_path / "config", "mgmt-lab")
        kubectl = Kubectl(path, {"KUBECONFIG": str(config)})
        monkeypatch.setattr("foresite.commands.doctor.kubectl_of", lambda _: kubectl)
        assert main(["--root", str(FLEET), "doctor", "lab-1", "--format", "json"]) == 1
        said = capsys.readouterr().out
        found = json.loads(said)
        states = {each["check"]: each["state"] for each in found["findings"]}
        assert (states["clock"], states["hosts"], states["secrets"]) == ("ok", "later", "problem")
        assert "lab-1-lab-002-bmc" in found["next"] and "canary" not in said
        assert "lab-1-lab-001-bmc (without username)," in found["next"]
        assert not any("secrets/" in path or method not in ("GET", "POST")
                       for method, path, _ in proxy.seen)  # fmt: skip
        proxy.ahead = -3600
        assert main(["--root", str(FLEET), "doctor", "lab-1"]) == 1
        assert re.search("its clock is (3599|3600) s behind", capsys.readouterr().out)
        monkeypatch.setattr("foresite.delivery.servers.apiserver.PATIENCE", 1.0)
        proxy.rule = lambda *_: Fault(status=503)
        (only,) = ask_cluster(LAB, kubectl, Target.MANAGEMENT)
        assert only.state == "problem" and "does not answer" in only.text
        (only,) = ask_cluster(LAB, Kubectl(path, {"KUBECONFIG": "/nowhere"}), Target.MANAGEMENT)
        assert only.state == "problem" and "no context mgmt-lab" in only.text
    (only,) = ask_cluster(LAB, None, Target.MANAGEMENT)
    assert only.state == "problem" and "install kubectl" in only.next
    assert list(ask_cluster(LAB, None, Target.SITE)) == []
