"""The HTML report in a real browser: shown whole, on any screen, with nothing loaded or run."""

import contextlib
import fcntl
import itertools
import json
import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import pytest

from preview import report
from preview.report.headline import headline
from preview.report.phrase import plain
from preview.result import Preview
from tests.kit.preview_hostile import PIECES, hostile
from tests.kit.preview_samples import SAMPLES

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on PATH"),
]
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-extensions", "--remote-debugging-pipe",
)  # fmt: skip
SCREENS = {"desktop": (1280, 900), "tablet": (800, 1000), "phone": (360, 740)}


class Browser:
    """Chromium, asked over a pipe by its own protocol; what it reports meanwhile is kept."""

    def __init__(self, folder: Path) -> None:
        self._numbers = itertools.count(1)
        self._buffer = b""
        self.events: list[dict[str, Any]] = []
        asked, self._ask = os.pipe()
        self._answer, answered = os.pipe()
        theirs = [fcntl.fcntl(each, fcntl.F_DUPFD, 20) for each in (asked, answered)]
        log = os.open(folder / "log", os.O_CREAT | os.O_WRONLY)
        self._process = os.posix_spawn(
            str(CHROMIUM),
            [str(CHROMIUM), *FLAGS, f"--user-data-dir={folder}"],
            os.environ,
            # Chromium reads its orders from 3 and answers to 4.
            file_actions=[
                (os.POSIX_SPAWN_DUP2, log, 1),
                (os.POSIX_SPAWN_DUP2, log, 2),
                (os.POSIX_SPAWN_DUP2, theirs[0], 3),
                (os.POSIX_SPAWN_DUP2, theirs[1], 4),
            ],
            setpgroup=0,
        )
        for each in (asked, answered, log, *theirs):
            os.close(each)
        self._session: str | None = None
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        attached = self.ask("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.ask(f"{domain}.enable")

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._ask, json.dumps(message).encode() + b"\0")
        return next(got for got in self._messages() if got.get("id") == number)["result"]  # type: ignore[no-any-return]

    def _messages(self) -> Iterator[dict[str, Any]]:
        while True:
            while b"\0" not in self._buffer:
                data = os.read(self._answer, 1 << 20)
                assert data, "Chromium ended"
                self._buffer += data
            text, _, self._buffer = self._buffer.partition(b"\0")
            message = json.loads(text)
            if "method" in message:
                self.events.append(message)
            yield message

    def open(self, file: Path, screen: str = "desktop", scheme: str = "light") -> Self:
        width, height = SCREENS[screen]
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height,
                 deviceScaleFactor=1, mobile=screen == "phone")  # fmt: skip
        media = [{"name": "prefers-color-scheme", "value": scheme}]
        self.ask("Emulation.setEmulatedMedia", features=media)
        self.events.clear()
        self.ask("Page.navigate", url=file.as_uri())
        if not any(event["method"] == "Page.loadEventFired" for event in self.events):
            next(got for got in self._messages() if got.get("method") == "Page.loadEventFired")
        return self

    def run(self, script: str) -> Any:
        """The result of a script of ours on the page."""
        found = self.ask("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def loaded(self) -> list[str]:
        """The addresses that the page asked for, itself included."""
        return [event["params"]["request"]["url"] for event in self.events
                if event["method"] == "Network.requestWillBeSent"]  # fmt: skip

    def complaints(self) -> list[dict[str, Any]]:
        """The messages of the console, refusals by the policy among them, and any dialog."""
        wanted = {"Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown",
                  "Page.javascriptDialogOpening"}  # fmt: skip
        return [event for event in self.events if event["method"] in wanted]

    def close(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process, signal.SIGKILL)
        os.waitpid(self._process, 0)
        for each in (self._ask, self._answer):
            os.close(each)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with contextlib.closing(Browser(tmp_path_factory.mktemp("chromium"))) as found:
        yield found


def page(folder: Path, found: Preview) -> Path:
    file = folder / "report.html"
    file.write_text(report.html(found), encoding="utf-8")
    return file


@pytest.mark.parametrize("name", SAMPLES)
def test_the_page_shows_the_headline_and_loads_nothing(
    browser: Browser, tmp_path: Path, name: str
) -> None:
    file = page(tmp_path, SAMPLES[name]())
    browser.open(file)
    said = browser.run("document.querySelector('h1').innerText")
    assert said == plain(headline(SAMPLES[name]()))
    styled = "getComputedStyle(document.querySelector('header')).borderLeftStyle"
    assert browser.run(styled) == "solid"
    assert browser.loaded() == [file.as_uri()]
    assert browser.complaints() == []


def test_hosts_are_there_once_a_reader_unfolds_them(browser: Browser, tmp_path: Path) -> None:
    browser.open(page(tmp_path, SAMPLES["disruptive"]()))
    assert "tokyo-1-b-077" not in browser.run("document.body.innerText")
    browser.run("document.querySelectorAll('summary').forEach(each => each.click())")
    text = browser.run("document.body.innerText")
    assert all(text.count(f"tokyo-1-b-{number:03}\n") >= 1 for number in range(2, 104))


def test_print_shows_what_is_folded(browser: Browser, tmp_path: Path) -> None:
    browser.open(page(tmp_path, SAMPLES["disruptive"]()))
    height = "document.querySelector('details.every-host').offsetHeight"
    folded = browser.run(height)
    browser.ask("Emulation.setEmulatedMedia", media="print")
    unfolded = browser.run(height)
    browser.ask("Emulation.setEmulatedMedia", media="")
    assert unfolded > 2 * folded


@pytest.mark.parametrize("name", ["mixed", "equal sites", "stuck"])
@pytest.mark.parametrize("screen", SCREENS)
def test_no_screen_has_to_be_scrolled_sideways(
    browser: Browser, tmp_path: Path, screen: str, name: str
) -> None:
    browser.open(page(tmp_path, SAMPLES[name]()), screen)
    browser.run("document.querySelectorAll('details').forEach(each => each.open = true)")
    assert browser.run("document.documentElement.scrollWidth") <= SCREENS[screen][0]
    if screen == "phone":
        tables = "[...document.querySelectorAll('.scroll')]"
        assert browser.run(f"{tables}.filter(e => e.scrollWidth > e.clientWidth).length") == 0


INSIDE = """
(() => {
  const bad = [];
  for (const svg of document.querySelectorAll('.picture svg')) {
    const frame = svg.getBoundingClientRect();
    const [title, text] = svg.getAttribute('aria-labelledby').split(' ')
      .map(id => document.getElementById(id).textContent);
    if (svg.getAttribute('role') !== 'img' || !title || !text) bad.push('no name');
    for (const word of svg.querySelectorAll('text')) {
      const box = word.getBoundingClientRect();
      const size = parseFloat(getComputedStyle(word).fontSize) * frame.width / 340;
      if (box.left < frame.left - 1 || box.right > frame.right + 1) bad.push(word.textContent);
      if (box.top < frame.top - 1 || box.bottom > frame.bottom + 2) bad.push(word.textContent);
      if (size < 9) bad.push(`${word.textContent}: ${size}`);
    }
  }
  return bad;
})()
"""
"""Pictures without a name, and words that leave their picture or are too small to read."""


@pytest.mark.parametrize("name", ["disruptive", "mixed", "stuck"])
@pytest.mark.parametrize("screen", SCREENS)
def test_pictures_can_be_read_on_every_screen(
    browser: Browser, tmp_path: Path, screen: str, name: str
) -> None:
    browser.open(page(tmp_path, SAMPLES[name]()), screen)
    assert browser.run("document.querySelectorAll('.picture svg').length") >= 3
    assert browser.run(INSIDE) == []
    assert browser.run("document.querySelectorAll('script').length") == 0


SHAPES = """
(() => {
  const seen = new Set();
  for (const path of document.querySelectorAll('.picture path')) {
    const style = getComputedStyle(path);
    if (style.fill === 'none' && style.stroke === 'none') seen.add(path.getAttribute('class'));
  }
  return [...seen];
})()
"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_shape_of_a_picture_is_visible(browser: Browser, tmp_path: Path, scheme: str) -> None:
    for name in ("mixed", "stuck", "unknown"):
        browser.open(page(tmp_path, SAMPLES[name]()), scheme=scheme)
        assert browser.run(SHAPES) == []


CONTRASTS = """
(() => {
  const channel = c => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  const parts = text => text.match(/[0-9.]+/g).map(Number);
  const weights = [0.2126, 0.7152, 0.0722];
  const light = colour =>
    weights.reduce((sum, weight, i) => sum + weight * channel(colour[i] / 255), 0);
  const behind = element => {
    for (let each = element; each; each = each.parentElement) {
      const found = parts(getComputedStyle(each).backgroundColor);
      if (found.length < 4 || found[3] > 0) return found;
    }
    return [255, 255, 255];
  };
  const low = [];
  for (const element of document.body.querySelectorAll(':not(title, desc)')) {
    if (![...element.childNodes].some(each => each.nodeType === 3 && each.data.trim())) continue;
    const style = getComputedStyle(element);
    const ink = parts(element.closest('svg') ? style.fill : style.color);
    const [one, other] = [ink, behind(element)].map(light);
    const ratio = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    if (ratio < 4.5) low.push([element.tagName, element.textContent.slice(0, 30), ratio]);
  }
  return low;
})()
"""
"""Texts of too little contrast. Source: WCAG 2.2, success criterion 1.4.3, level AA."""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_text_stands_out_from_its_ground(browser: Browser, tmp_path: Path, scheme: str) -> None:
    browser.open(page(tmp_path, SAMPLES["mixed"]()), scheme=scheme)
    browser.run("document.querySelectorAll('details').forEach(each => each.open = true)")
    ground = browser.run("getComputedStyle(document.body).backgroundColor")
    assert (ground == "rgb(255, 255, 255)") == (scheme == "light")
    assert browser.run(CONTRASTS) == []


@pytest.mark.proof
@pytest.mark.parametrize("screen", ["desktop", "phone"])
def test_what_others_wrote_runs_and_loads_nothing(
    browser: Browser, tmp_path: Path, screen: str
) -> None:
    for number, piece in enumerate((*PIECES, "".join(PIECES))):
        folder = tmp_path / str(number)
        folder.mkdir()
        file = page(folder, hostile(f"{piece}<script>document.title='gone'</script>"))
        browser.open(file, screen)
        assert browser.run("document.title").startswith("Cannot predict ")
        assert browser.run("document.querySelectorAll('script, img, a, iframe').length") == 0
        assert browser.loaded() == [file.as_uri()]
        assert browser.complaints() == []
        assert browser.run("document.documentElement.scrollWidth") <= SCREENS[screen][0]
