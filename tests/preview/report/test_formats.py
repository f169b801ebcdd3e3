"""Properties of every format of a report, and the guarantees of text and JSON."""

import json
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Any

import pytest
from hypothesis import given, settings

from components.effects.vocabulary import Action, Impact
from components.machines.installation import Installation
from preview import report
from preview.forge import Forge
from preview.gates import parse_allowances
from preview.report.headline import headline
from preview.report.phrase import plain
from preview.result import HostVerdict, Preview, SitePreview, State
from schemas.kubernetes.masking import mask
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


@pytest.mark.parametrize("name", ["unknown", "invalid", "mixed", "own code"])
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


@pytest.mark.parametrize("form", FOR_PEOPLE)
def test_problems_are_told_with_their_place_and_the_way_out(form: str) -> None:
    found = SAMPLES["invalid"]()
    text = said(FORMATS[form](found))
    for problem in (each for site in found.sites for each in site.problems):
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


def test_a_sentence_is_said_once_with_all_objects_that_it_is_said_of() -> None:
    site = SAMPLES["disruptive"]().sites[0]
    kinds = ("PodMonitor", "PodMonitor", "ConfigMap", "ServiceMonitor", "PrometheusRule")
    first = site.reasons[0]
    why = first.effect._replace(impact=Impact.NONE, hosts=(), path=(), why="it is not applied yet")
    reasons = tuple(
        first._replace(
            object=f"{kind} a/b-{number}", effect=why._replace(name=("m", f"{kind}{number}"))
        )
        for number, kind in enumerate(kinds)
    )
    text = report.text(preview(one(SitePreview("a", State.CHANGED, reasons=reasons))))
    assert text.count("it is not applied yet") == 1
    assert "2 PodMonitor, 1 ConfigMap, 1 ServiceMonitor, 1 PrometheusRule" in text


def test_an_object_that_is_replaced_says_nothing_of_its_fields() -> None:
    site = SAMPLES["disruptive"]().sites[0]
    first = site.reasons[0]
    beside = first.effect._replace(impact=Impact.NONE, hosts=(), why="a new one stands beside it")
    reasons = (
        first._replace(effect=beside._replace(action=Action.REPLACED)),
        first._replace(effect=beside._replace(why="part of the new one")),
    )
    text = report.text(preview(one(SitePreview("a", State.CHANGED, reasons=reasons))))
    assert "a new one stands beside it" in text and "part of the new one" not in text


@pytest.mark.parametrize("form", FOR_PEOPLE)
def test_zones_that_are_rolled_alike_are_one_row(form: str) -> None:
    site = SAMPLES["disruptive"]().sites[0]
    plans = tuple(site.plans[0]._replace(zone=zone) for zone in ("a", "b", "c"))
    text = said(FORMATS[form](preview(one(replace(site, plans=plans)))))
    assert text.count("v100 in each of 3 zones: a, b, c") == 1
    other = (*plans[:2], plans[2]._replace(waves=9))
    text = said(FORMATS[form](preview(one(replace(site, plans=other)))))
    assert "v100 in each of 2 zones: a, b" in text and "v100 in zone c" in text


@pytest.mark.parametrize("form", FOR_PEOPLE)
def test_a_new_site_is_a_line_a_component_and_says_how_long_it_takes(form: str) -> None:
    site = SAMPLES["unknown"]().sites[0]
    added = tuple(each._replace(action=Action.ADDED) for each in site.objects)
    pools = (
        Installation("control", "", 3, 0.0, 1.25, "", 0, True),
        Installation("gpu", "", 40, 0.4, 1.5, "V100", 320, False),
    )
    new = replace(site, state=State.ADDED, objects=added, installations=pools)
    text = said(FORMATS[form](preview(one(new))))
    assert "First installation: 1.9 h" in text and "320 V100" in text
    assert "added machines, 3 objects: 2 BareMetalHost, 1 Cluster" in text
    assert "What differs in each object" not in text


def test_an_edit_leads_to_its_line_at_the_forge() -> None:
    forge = Forge("https://forge.example/o/n/blob/b/", "https://forge.example/o/n/blob/h/")
    found = replace(SAMPLES["destructive"](), forge=forge)
    page = "https://forge.example/o/n/blob/b/sites/tsukuba-1.hosts.csv#L2"
    assert f"[`sites/tsukuba-1.hosts.csv:2:1`]({page})" in report.comment(found)
    assert f'<a href="{page}"><code class="short">sites/tsukuba-1.hosts.csv:2:1' in report.html(
        found
    )
    assert "https" not in report.text(found)
    assert "<a " not in report.html(SAMPLES["destructive"]())


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
@given(texts.filter(lambda text: mask(text) == text))
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
