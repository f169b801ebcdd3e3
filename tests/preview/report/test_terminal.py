"""The width of a terminal: nothing is wider, nothing is lost; a pipe gets what it always got."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from preview import report
from preview.wrapping import GAP, LEAST, fit_columns, fold, size, terminal_width, wrap
from tests.kit.preview_hostile import hostile, texts
from tests.kit.preview_samples import SAMPLES

ESCAPE = re.compile(r"\033\[[0-9;]*m")
WIDTHS = (80, 100, 160)


def letters(text: str) -> list[str]:
    """The characters of a text in any order, as columns of a table are read line by line."""
    return sorted(ESCAPE.sub("", text).replace(" ", "").replace("\n", ""))


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", SAMPLES)
def test_no_line_is_wider_than_the_terminal_and_nothing_is_lost(name: str, width: int) -> None:
    found = SAMPLES[name]()
    plain, coloured = (report.text(found, colour, width) for colour in (False, True))
    assert max(map(size, plain.split("\n"))) <= width
    assert ESCAPE.sub("", coloured) == plain
    whole = report.text(found)
    if whole.count("\n") == plain.count("\n"):
        assert plain == whole
    # The headline is said once more at the end of what is longer than a screen.
    assert set(letters(whole)) == set(letters(plain))


def test_words_of_one_style_share_their_escapes() -> None:
    """A wrapped headline has escapes once a line, not around each of its words."""
    lines = report.text(SAMPLES["mixed"](), True, 80).split("\n")
    assert [len(ESCAPE.findall(line)) for line in lines[:2]] == [2, 2]


@settings(max_examples=40)
@given(texts, st.sampled_from(WIDTHS))
def test_no_text_of_others_is_wider_than_the_terminal(text: str, width: int) -> None:
    assert max(map(size, report.text(hostile(text), width=width).split("\n"))) <= width


@pytest.mark.parametrize("width", WIDTHS)
def test_columns_stay_columns(width: int) -> None:
    """Each row of the pools begins where its heading does."""
    lines = report.text(SAMPLES["disruptive"](), width=width).split("\n")
    head = next(n for n, line in enumerate(lines) if line.lstrip().startswith("pool "))
    at = lines[head].index("out at")
    rows = [line for line in lines[head + 1 : head + 4] if line.lstrip().startswith("v100 ")]
    assert rows and all(line[at:].startswith("32 of") for line in rows)


STYLED = st.lists(st.tuples(st.text(max_size=9), st.sampled_from(["", "1"])))


@given(STYLED, st.integers(8, 40))
def test_wrapping_keeps_every_letter_and_its_style(
    pieces: list[tuple[str, str]], room: int
) -> None:
    lines = wrap(pieces, room)
    assert all(sum(size(text) for text, _ in line) <= room for line in lines)
    was, now = (
        [(c, style) for text, style in found for c in text if not c.isspace()]
        for found in (pieces, [piece for line in lines for piece in line])
    )
    assert was == now


@given(st.lists(st.integers(1, 90), min_size=1, max_size=9), st.integers(40, 200))
def test_columns_give_way_until_they_fit(widths: list[int], room: int) -> None:
    least = [min(each, 5) for each in widths]
    found = fit_columns(widths, least, room)
    assert all(1 <= now <= was for now, was in zip(found, widths, strict=True))
    gaps = GAP * (len(found) - 1)
    assert sum(found) + gaps <= max(room, len(found) + gaps)
    if sum(min(each, LEAST) for each in widths) + gaps <= room:
        assert all(now >= min(was, LEAST) for now, was in zip(found, widths, strict=True))
    assert fit_columns(widths, least, None) == widths


def test_a_text_keeps_its_indents_where_it_is_folded() -> None:
    text = "a: b\n  why: " + "word " * 20 + "\n"
    lines = fold(text, 40).split("\n")
    assert lines[0] == "a: b" and lines[1].startswith("  why: word")
    assert all(line.startswith("      word") for line in lines[2:-1])
    assert max(map(len, lines)) <= 40
    assert fold(text, None) == text


def test_a_pipe_has_no_width(capsys: pytest.CaptureFixture[str]) -> None:
    assert terminal_width() is None


def test_a_terminal_has_the_width_that_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "100")
    assert terminal_width() == 100
    monkeypatch.setenv("COLUMNS", "9")
    assert terminal_width() == 40
