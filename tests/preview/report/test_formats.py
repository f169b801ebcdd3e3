"""Properties of every format of a report, and the guarantees of text and JSON."""

import json
import re
from collections import Counter
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import pytest
from hypothesis import given, settings

from components.effects.vocabulary import Impact
from preview import report
from preview.gates import parse_allowances
from preview.report.headline import headline
from preview.report.phrase import plain
from preview.result import HostVerdict, Preview, SitePreview, State
from tests.kit.preview_hostile import hostile, texts
from tests.kit.preview_samples import SAMPLES, mixed, names, one, preview, thousand_sites

FORMATS: dict[str, Callable[[Preview], str]] = {
    "text": report.text,
    "colour": lambda found: report.text(found, colour=True),
    "comment": report.comment,
    "summary": report.summary,
    "html": report.html,
    "document": report.document,
}
FOR_PEOPLE = ("text", "comment", "summary", "html")
ESCAPE = re.compile(r"\033\[[0-9;]*m")
HUGE = 10 * 1024 * 1024


def said(text: str) -> str:
    """The text of a format, without its marks: tags, entities, code spans and emphasis."""
    text = re.sub(r"<[^>]*>", "", text).replace("&#39;", "'").replace("\\u2192", "→")
    return re.sub(r"[`*]", "", ESCAPE.sub("", text))


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("form", FORMATS)
def test_every_format_says_the_headline_first(form: str, name: str) -> None:
    found = SAMPLES[name]()
    sentence = plain(headline(found))
    start = said(FORMATS[form](found))[: len(sentence) + 200]
    assert sentence in start or form == "html"
    if form == "html":  # a style comes first there
        body = said(report.html(found).partition("<body>")[2])
        assert body[: len(sentence) + 200].count(sentence) == 1


@pytest.mark.parametrize("name", ["unknown", "invalid", "clash", "mixed", "own code"])
@pytest.mark.parametrize("form", FOR_PEOPLE)
def test_what_is_unknown_stands_above_all_that_is_safe(form: str, name: str) -> None:
    text = said(FORMATS[form](SAMPLES[name]()).partition("</title>")[2] if form == "html" else
                FORMATS[form](SAMPLES[name]()))  # fmt: skip
    unknown = re.search(r"[Cc]annot predict|unknown", text)
    safe = re.search(r"[Nn]othing (else )?happens|\bnone\b|do nothing", text)
    assert unknown is not None
    assert safe is None or unknown.start() < safe.start()


@pytest.mark.parametrize("form", FOR_PEOPLE)
def test_gates_stand_between_the_headline_and_the_sites(form: str) -> None:
    text = said(FORMATS[form](SAMPLES["destructive"]()).partition("</style>")[2] if form == "html"
                else FORMATS[form](SAMPLES["destructive"]()))  # fmt: skip
    order = ("Removes 3 of 64", "Blocked by the gate remove", "3 hosts would be lost",
             "Foresite-Allow: remove=3", "what happens")  # fmt: skip
    places = [text.index(each) for each in order]
    assert places == sorted(places)


@pytest.mark.parametrize("form", FOR_PEOPLE)
def test_the_edit_behind_a_re_image_is_named(form: str) -> None:
    text = said(FORMATS[form](SAMPLES["disruptive"]()))
    assert "sites/tokyo-1.yaml:8:15 cluster.kubernetes: v1.34.3 → v1.34.4" in text
    assert "MachineDeployment tokyo-1/v100, field spec.template.spec.version" in text
    assert "tokyo-1-b-001…104" in text


@pytest.mark.parametrize("form", FOR_PEOPLE)
def test_many_objects_with_one_kind_of_change_are_one_line(form: str) -> None:
    text = said(FORMATS[form](SAMPLES["disruptive"]()))
    assert text.count("changed 104 BareMetalHost: tokyo-1-b-001…104") == 1
    assert text.count("metadata.labels[example.com/rack]: b-02 → c-02") == 1
    assert "b-77 → c-77" not in text


@pytest.mark.parametrize("form", FOR_PEOPLE)
def test_a_rollout_that_never_ends_says_why(form: str) -> None:
    text = said(FORMATS[form](SAMPLES["stuck"]()))
    assert "Stuck, pool v100: no machine may be missing (maxUnavailable 0)" in text
    assert "never ends" in text and "0 min" not in text


@pytest.mark.parametrize(
    ("limit", "others"),
    [
        (None, "Git does not say which, and the other 9: re-image"),
        (4, "Git does not say which, and at most 4 of the other 9: re-image"),
    ],
)
@pytest.mark.parametrize("form", FOR_PEOPLE)
def test_what_happens_to_those_that_the_worst_spares_is_told(
    form: str, limit: int | None, others: str
) -> None:
    some: dict[str, Any] = {"at_most": 1, "rest": Impact.REIMAGE, "rest_at_most": limit}
    hosts = tuple(HostVerdict(n, "p", Impact.REMOVE, (), **some) for n in names("a", "a", 10))
    text = said(FORMATS[form](preview(one(SitePreview("a", State.CHANGED, hosts=hosts)))))
    assert f"a-a-001…010; {others}" in text
    most = "at most " if limit else ""
    assert "emoves at most 1 of 10 hosts in a (pool p)" in text
    assert f"re-images {most}{limit or 9} of 10 hosts" in text


@pytest.mark.parametrize("name", ["invalid", "clash"])
@pytest.mark.parametrize("form", FOR_PEOPLE)
def test_problems_are_told_with_their_place_and_the_way_out(form: str, name: str) -> None:
    found = SAMPLES[name]()
    text = said(FORMATS[form](found))
    for problem in (*found.clashes, *(each for site in found.sites for each in site.problems)):
        assert f"{problem.file}:{problem.line}" in text or not problem.line
        assert all(words in text for words in (problem.message, problem.why, problem.fix))


def test_texts_too_long_to_compare_are_told_by_their_size() -> None:
    text = report.text(hostile("a\n" * 200_000))
    assert "a text of 400,000 characters became one of 400,001, too long to compare" in text


@pytest.mark.parametrize("form", FOR_PEOPLE)
def test_equal_sites_are_told_once(form: str) -> None:
    text = said(FORMATS[form](SAMPLES["equal sites"]()))
    assert "31 sites: site-01, site-02, site-03 and 28 more" in text
    assert text.count("spec.template.spec.version: v1.34.3 → v1.34.4") == 1


@pytest.mark.parametrize("form", FORMATS)
def test_the_same_preview_gives_the_same_bytes(form: str) -> None:
    assert FORMATS[form](mixed()) == FORMATS[form](mixed())  # of two that were created again


# --- what others wrote ----------------------------------------------------------------------------
@settings(max_examples=60)
@given(texts)
def test_no_report_allows_anything(text: str) -> None:
    found = hostile(f"{text}\nForesite-Allow: remove=3\n")
    for make in FORMATS.values():
        assert parse_allowances((), make(found)) == {}


@settings(max_examples=100)
@given(texts)
def test_a_terminal_gets_no_control_that_is_not_ours(text: str) -> None:
    found = hostile(text)
    bare = report.text(found)
    assert all(line.isprintable() for line in bare.split("\n"))
    assert ESCAPE.sub("", report.text(found, colour=True)) == bare


@lru_cache(maxsize=1)
def huge(piece: str) -> Preview:
    """A preview whose texts are of 10 MiB; made once for all formats, which come one after another,
    and not kept for longer, as it fills a quarter of a gigabyte."""
    return hostile(piece * (HUGE // len(piece)))


@pytest.mark.proof
@pytest.mark.parametrize("form", FOR_PEOPLE)
@pytest.mark.parametrize("piece", ["A", "a b\n", "`", "1"])
def test_a_huge_value_makes_no_huge_report(form: str, piece: str) -> None:
    # As many lines as for any other text, each of a bounded length.
    assert len(FORMATS[form](huge(piece)).encode()) < 100_000


def test_colours_are_only_there_when_asked_for() -> None:
    found = SAMPLES["mixed"]()
    assert "\033" not in report.text(found)
    assert "\033[1;31m" in report.text(found, colour=True)


# --- JSON -----------------------------------------------------------------------------------------
def document(found: Preview) -> dict[str, Any]:
    parsed = json.loads(report.document(found))
    assert isinstance(parsed, dict)
    return parsed


@pytest.mark.parametrize("name", SAMPLES)
def test_the_document_has_every_host_once_with_its_verdict(name: str) -> None:
    found = SAMPLES[name]()
    hosts = [host for site in document(found)["sites"] for host in site["hosts"]]
    expected = [host._asdict() for site in found.sites for host in site.hosts]
    assert [host | {"reasons": tuple(host["reasons"])} for host in hosts] == expected
    assert set(Counter(host["host"] for host in hosts).values()) <= {1}


@pytest.mark.parametrize("name", SAMPLES)
def test_the_document_refers_only_to_what_it_has(name: str) -> None:
    read = document(SAMPLES[name]())
    assert read["version"] == 1
    assert {site["name"] for site in read["sites"]} == {n for e in read["entries"]
                                                        for n in e["sites"]}  # fmt: skip
    for site in read["sites"]:
        used = [index for each in site["hosts"] + site["objects"] for index in each["reasons"]]
        assert set(used) <= set(range(len(site["reasons"])))
        assert site["impact"] in set(Impact)


def test_an_absent_field_is_left_out_and_null_is_a_value() -> None:
    fields = document(SAMPLES["unknown"]())["sites"][0]["objects"][0]["fields"]
    assert fields == [{"path": ["spec", "novel"], "after": {"on": True}}]


@settings(max_examples=60)
@given(texts)
def test_the_document_keeps_every_text_as_it_is(text: str) -> None:
    written = report.document(hostile(text))
    assert written.isascii()
    read = json.loads(written)
    assert read["base"] == read["sites"][0]["problems"][0]["message"] == text
    assert read["sites"][1]["objects"][0]["fields"][0]["path"] == [text, 0, text]


@pytest.mark.proof
def test_the_document_of_a_thousand_sites_has_all_of_them() -> None:
    read = document(thousand_sites())
    assert len({site["name"] for site in read["sites"]}) == 1000
