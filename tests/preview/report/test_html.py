"""The HTML report as a parser reads it: complete, without anything to load or to run."""

import base64
import hashlib
import re
from collections import Counter
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings

from preview import report
from tests.kit.preview_hostile import hostile, texts
from tests.kit.preview_samples import SAMPLES

VOID = {"meta"}
ATTRIBUTES = {
    "lang", "charset", "http-equiv", "content", "name", "class", "scope", "data-head",
    "viewbox", "x", "y",
    "role", "aria-labelledby", "id", "d",
}  # fmt: skip
"""None of them loads or runs anything."""
BY_TEXT = {"code", "span", "del", "ins"}
"""Elements of which there are more or fewer, as the words need quotes or not."""


class Page(HTMLParser):
    """Elements, attributes and texts of a page; fails where one is not closed in turn."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: Counter[str] = Counter()
        self.attributes: set[tuple[str, str | None]] = set()
        self.texts: dict[str, list[str]] = {}
        self.classes: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements[tag] += 1
        self.attributes |= set(attrs)
        if tag not in VOID:
            self.open.append(tag)
            self.classes.append(dict(attrs).get("class") or "")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag
        self.classes.pop()

    def handle_data(self, data: str) -> None:
        self.texts.setdefault(self.open[-1] if self.open else "", []).append(data)
        if any(each.startswith("names") for each in self.classes) and self.open[-1] == "p":
            self.texts.setdefault("hosts", []).append(data)


def masked(text: str) -> str:
    """A harmless text with as many characters and lines."""
    return "".join(c if c == "\n" else "x" for c in text)


@settings(max_examples=150)
@given(texts)
def test_what_others_wrote_adds_no_element_and_no_attribute(text: str) -> None:
    found, harmless = Page(report.html(hostile(text))), Page(report.html(hostile(masked(text))))
    assert {k: v for k, v in found.elements.items() if k not in BY_TEXT} == {
        k: v for k, v in harmless.elements.items() if k not in BY_TEXT
    }
    assert found.attributes == harmless.attributes | {("class", "short")}


@pytest.mark.parametrize("name", SAMPLES)
def test_the_page_loads_and_runs_nothing(name: str) -> None:
    page = Page(report.html(SAMPLES[name]()))
    assert {key for key, _ in page.attributes} <= ATTRIBUTES
    assert not page.elements.keys() & {"script", "link", "img", "iframe", "object", "base", "form"}
    assert not re.search(r"url\(|@import|@font-face", "".join(page.texts["style"]))


def test_the_policy_allows_our_style_and_nothing_else() -> None:
    page = Page(report.html(SAMPLES["mixed"]()))
    (style,) = page.texts["style"]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    contents = {str(value) for key, value in page.attributes if key == "content"}
    (policy,) = {each for each in contents if "src" in each}
    assert policy == (
        f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    )


@pytest.mark.parametrize("name", SAMPLES)
def test_every_host_is_named_once_in_full(name: str) -> None:
    found = SAMPLES[name]()
    listed = " ".join(Page(report.html(found)).texts.get("hosts", [])).split()
    assert sorted(listed) == sorted(host.host for site in found.sites for host in site.hosts)


def test_every_kind_of_cell_has_its_heading_for_a_narrow_screen() -> None:
    page = Page(report.html(SAMPLES["mixed"]()))
    heads = {text for text in page.texts["th"] if text.strip()}
    assert {value for key, value in page.attributes if key == "data-head"} == heads


def test_every_impact_has_a_colour_in_light_and_dark() -> None:
    html = report.html(SAMPLES["mixed"]())
    used = set(re.findall(r'class="(?:[a-z-]+ )?tone-([a-z-]+)"', html))
    assert {"remove", "unknown", "re-image", "drain", "add", "none"} <= used
    for tone in used:
        assert f".tone-{tone} {{ --tone: var(--{tone}); }}" in html
        assert html.count(f"--{tone}: #") == 3  # light, dark, and print
