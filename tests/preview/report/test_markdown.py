"""The Markdown of reports, as a real parser of CommonMark and GitHub's tables reads it."""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache

import pytest
from hypothesis import example, given, settings
from markdown_it import MarkdownIt
from markdown_it.token import Token

from preview import report
from preview.report.markdown import MARKER, SMALLEST, SUMMARY_LIMIT
from preview.result import Preview
from tests.kit.preview_hostile import hostile, texts
from tests.kit.preview_samples import SAMPLES, disruptive_site, mixed, one, preview, thousand_sites

PARSER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
OURS = re.compile(
    r"<details><summary>[^<>]*(<code>[^<>]*</code>[^<>]*)*</summary>\n|</details>\n"
    rf"|{re.escape(MARKER)}\n"
)
"""The HTML that the reports write."""
INLINE = {"text", "code_inline", "strong_open", "strong_close", "softbreak", "hardbreak"}
BLOCKS = {
    "heading", "paragraph", "bullet_list", "list_item", "blockquote",
    "table", "thead", "tbody", "tr", "th", "td", "fence", "html_block", "inline", "hr",
}  # fmt: skip
LOOSE = re.compile(r"[A-Za-z0-9 .,;:!?()'%→…\[\]-]*")
"""Text that may stand outside of code: words, numbers, and nothing that GitHub makes a link of."""
AUTOLINKED = re.compile(r"GH-\d|www\.|://|\b[0-9a-f]{7,40}\b|@|#")


def tokens(text: str) -> list[Token]:
    return PARSER.parse(text)


def kind(token: Token) -> str:
    return token.type.removesuffix("_open").removesuffix("_close")


def loose(text: str) -> Iterator[str]:
    """The text outside of code and HTML, a string for each run of inline text."""
    for token in tokens(text):
        for child in token.children or ():
            if child.type == "text":
                yield child.content


def skeleton(text: str) -> list[tuple[str, int]]:
    """The structure of blocks, whatever is written in them."""
    return [(token.type, token.level) for token in tokens(text)]


def masked(text: str) -> str:
    """A harmless text with as many characters and lines."""
    return "".join(c if c == "\n" else "x" for c in text)


def both(found: Preview) -> tuple[str, str]:
    return report.comment(found), report.summary(found)


@settings(max_examples=100)
@given(texts)
@example("`a` ``b``` | \\| \\")
@example("```\n</details>\n<!-- foresite-preview -->\n```")
@example("- 1. # > @octocat #1 fixes GH-1 www.e.example")
@example("")
def test_what_others_wrote_is_code_and_nothing_else(text: str) -> None:
    for written in both(hostile(text)):
        found = tokens(written)
        assert {kind(token) for token in found} <= BLOCKS
        assert all(OURS.fullmatch(t.content) for t in found if t.type == "html_block")
        inner = {child.type for token in found for child in token.children or ()}
        assert inner <= INLINE
        for run in loose(written):
            assert LOOSE.fullmatch(run) and not AUTOLINKED.search(run), run


@settings(max_examples=100)
@given(texts)
@example("```\n# a")  # the first of these lines stands unchanged in a compared text
@example(" ")
def test_what_others_wrote_does_not_change_the_structure(text: str) -> None:
    written, harmless = (report.comment(hostile(each)) for each in (text, masked(text)))
    assert skeleton(written) == skeleton(harmless)


@settings(max_examples=60)
@given(texts)
def test_a_value_can_be_read_in_its_code_span(text: str) -> None:
    """Also in a table, where a pipe is written with a backslash before it."""
    spans = {c.content for t in tokens(report.comment(hostile(f"a|{text}b"))) if t.children
             for c in t.children if c.type == "code_inline"}  # fmt: skip
    assert any(span.startswith("a|") for span in spans)
    assert not any(span.startswith("a\\|") for span in spans)


@settings(max_examples=60)
@given(texts)
def test_the_marker_is_in_the_first_line_only(text: str) -> None:
    written = report.comment(hostile(text))
    assert written.startswith(f"{MARKER}\n") and written.count("<!--") == 1
    assert "<!--" not in report.summary(hostile(text))


# --- what does not fit ----------------------------------------------------------------------------
LARGE: dict[str, Callable[[], Preview]] = {
    "long values": cache(lambda: hostile("\U0001f4a5" * 1000)),
    "many sites": cache(lambda: preview(*(one(disruptive_site(f"s-{n}")) for n in range(9)))),
    "many kinds": cache(mixed),
}


@pytest.mark.parametrize("name", LARGE)
@pytest.mark.parametrize("limit", [SMALLEST, *range(8_501, 9_000, 23), 60_000])
def test_a_comment_stays_within_its_limit_and_is_whole(name: str, limit: int) -> None:
    written = report.comment(LARGE[name](), limit)
    assert len(written.encode()) <= limit
    assert "\n## " in written and len(written.encode()) > min(limit, SMALLEST) // 2
    folds = Counter(re.findall(r"^</?details>", written, re.MULTILINE))
    assert folds["<details>"] == folds["</details>"]
    assert {t.type for t in tokens(written) if t.type == "html_block"} <= {"html_block"}
    assert all(run.count("`") == 0 for run in loose(written))  # a cut code span leaves some
    rows = [line for line in written.split("\n") if line.startswith("|")]
    assert all(row.endswith(" |") for row in rows)


@cache
def whole_comment() -> str:
    return report.comment(thousand_sites(), 100_000_000)


@cache
def large_comment() -> str:
    """On a thousand sites, within the usual limit."""
    return report.comment(thousand_sites())


@pytest.mark.proof
@pytest.mark.parametrize("limit", [SMALLEST, 12_345, 59_999])
def test_what_is_left_out_is_the_end_and_said_so(limit: int) -> None:
    whole = whole_comment()
    cut, _, notice = report.comment(thousand_sites(), limit).rpartition("\n---\n")
    left = re.search(r"Left out here, as it does not fit: ([0-9,]+) lines", notice)
    assert left and "artifact" in notice
    lines = cut.rstrip("\n").split("\n")
    assert lines == whole.split("\n")[: len(lines)]
    missing = whole.count("\n") - len(lines)
    # Blank lines and the marks of folds are no lines of a report.
    assert 0 < int(left[1].replace(",", "")) <= missing


def test_what_fits_has_no_notice() -> None:
    assert all("Left out" not in report.comment(make()) for make in SAMPLES.values())


def test_a_limit_without_room_for_a_headline_is_refused() -> None:
    with pytest.raises(ValueError, match="leaves no room"):
        report.comment(mixed(), SMALLEST - 1)


@pytest.mark.proof
def test_a_summary_is_below_what_github_takes() -> None:
    written = report.summary(thousand_sites())
    assert 60_000 < len(written.encode()) <= SUMMARY_LIMIT < 1024 * 1024


@pytest.mark.proof
def test_a_comment_on_a_thousand_sites_stays_within_its_limit() -> None:
    assert 50_000 < len(large_comment().encode()) <= 60_000


def test_many_sites_are_told_by_what_happens_there() -> None:
    rows = [line for line in large_comment().split("###")[0].split("\n")
            if line.startswith("| 250 sites")]  # fmt: skip
    assert [re.sub(r"[*]", "", row).split(" | ")[1] for row in rows] == [
        "removes 750 of 16,000 hosts, drains at most 500 hosts",
        "cannot predict what happens to 750 of 1,250 hosts, adds 500 hosts",
        "re-images 26,000 of 100,000 hosts",
        "nothing happens to any machine",
    ]
