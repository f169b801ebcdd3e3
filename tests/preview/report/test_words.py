"""The words of reports: the headline, numbers, ranges of names, and text made safe to show."""

import re
import unicodedata
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.effects.vocabulary import ABSENT, Impact, Ledger
from components.object_cache.effects.consequences import Consequence
from preview.report.findings import findings
from preview.report.headline import LONGEST, clauses, figures, headline
from preview.report.hours import duration
from preview.report.phrase import Value, change, contrast, plain, prose, visible
from preview.report.reasons import group_reasons
from preview.report.words import doings, first_few, out_at_worst, ranges
from preview.result import HostVerdict, SitePreview, State
from tests.kit.preview_hostile import hostile, texts
from tests.kit.preview_samples import SAMPLES, disruptive_site, names, one, preview, stuck_site

HEADLINES = {
    "nothing": "Nothing happens to any machine.",
    "harmless": "Nothing happens to any machine: 1 object differs in tokyo-1.",
    "disruptive": "Re-images 104 of 400 hosts in tokyo-1 (pool v100); 32 of 832 V100 out.",
    "destructive": "Removes 3 of 64 hosts in tsukuba-1 (pool cpu); pulumi up stops at 1 refused "
    "object; drains at most 2 hosts.",
    "unknown": "Cannot predict what happens to 3 of 5 hosts in lab-1 (pool cpu); adds 2 of 5 "
    "hosts in lab-1 (pool cpu).",
    "stuck": "1 rollout never ends in tokyo-1; re-images 104 of 400 hosts in tokyo-1 (pool v100).",
    "invalid": "Cannot predict what happens to tokyo-1 (2 problems).",
    "cache": "Re-images 104 of 400 hosts in tokyo-1; 32 of 832 V100 out; "
    "26 % of the cache's objects are lost; 2 more below.",
    "mixed": "Cannot predict 1 site; removes 3 hosts; cannot predict 3 hosts; re-images 104 hosts; "
    "32 of 832 V100 out; 3 more below.",
    "equal sites": "Re-images 3,224 of 12,400 hosts in 31 sites (pool v100); 992 of 25,792 V100 "
    "out.",
    "own code": "Cannot predict what 1 changed file of Foresite's own code will do; nothing else "
    "happens to any machine.",
}


@pytest.mark.parametrize("name", SAMPLES)
def test_the_headline_says_what_will_happen(name: str) -> None:
    said = plain(headline(SAMPLES[name]()))
    assert said == HEADLINES[name]
    assert len(said) <= LONGEST


@given(texts)
def test_a_headline_is_short_whatever_names_others_chose(text: str) -> None:
    assert 0 < len(plain(headline(hostile(text * 40)))) <= LONGEST


@pytest.mark.parametrize("name", SAMPLES)
def test_what_the_headline_leaves_out_is_in_its_table(name: str) -> None:
    """A clause that is counted stands in a row, and rows are in the order of the clauses."""
    found = SAMPLES[name]()
    table = figures(found)
    rows = table.rows if table else ()
    more = re.search(r"([0-9]+) more below", plain(headline(found)))
    assert len(rows) >= len(clauses(found)) - 1 + int(more[1] if more else 0)
    ranks = [each.rank for each in findings(found)]
    assert ranks == sorted(ranks, reverse=True) and len(ranks) == len(rows)


def test_consequences_that_are_no_machines_are_told_where_they_rank() -> None:
    """Alerts that end are worse than pods that restart, and not as bad as hosts that are wiped."""
    ends = Consequence("all alerts end", "all alerts end: no PrometheusRule of the site is left")
    hosts = tuple(HostVerdict(n, "p", Impact.POD_RESTART, ()) for n in names("a", "a", 9))
    quiet = SitePreview("a", State.CHANGED, hosts=hosts, services=(ends,))
    assert plain(headline(preview(one(quiet)))).startswith("All alerts end in a; restarts pods on")
    wiped = replace(disruptive_site(), services=(ends,))
    said = plain(headline(preview(one(wiped))))
    assert said == (
        "Re-images 104 of 400 hosts in tokyo-1 (pool v100); 32 of 832 V100 out; "
        "all alerts end in tokyo-1."
    )
    later = replace(quiet, services=(ends._replace(applied=False),))
    assert "once the cluster is named: all alerts end" in plain(headline(preview(one(later))))


@pytest.mark.parametrize("impact", [impact for impact in Impact if impact is not Impact.NONE])
def test_an_impact_that_no_host_stands_for_is_told(impact: Impact) -> None:
    reason = disruptive_site().reasons[0]
    hostless = reason._replace(effect=reason.effect._replace(impact=impact, hosts=()))
    said = plain(headline(preview(one(SitePreview("a", State.CHANGED, reasons=(hostless,))))))
    assert "othing happens" not in said
    assert doings(SitePreview("a", State.CHANGED, reasons=(hostless,)))[0].impact is impact


def test_an_eviction_at_once_is_told_beside_the_roll_of_the_same_hosts() -> None:
    site = disruptive_site()
    first = site.reasons[0]
    evicts = first._replace(effect=first.effect._replace(impact=Impact.DRAIN))
    said = plain(headline(preview(one(replace(site, reasons=(*site.reasons, evicts))))))
    assert said.endswith("32 of 832 V100 out; evicts pods on 104 hosts at once in tokyo-1.")


@pytest.mark.parametrize("impact", [Impact.REMOVE, Impact.UNKNOWN])
def test_a_rollout_that_never_ends_is_told_whatever_else_happens(impact: Impact) -> None:
    site = stuck_site()
    every = tuple(host._replace(impact=impact) for host in site.hosts)
    for hosts in (every, every[:1] + site.hosts[1:]):
        said = plain(headline(preview(one(replace(site, hosts=hosts)))))
        assert "1 rollout never ends" in said


def test_hosts_of_which_only_some_are_concerned_are_said_to_be_at_most_so_many() -> None:
    hosts = tuple(HostVerdict(n, "p", Impact.DRAIN, (), at_most=2) for n in names("a", "a", 52))
    said = plain(headline(preview(one(SitePreview("a", State.CHANGED, hosts=hosts)))))
    assert said == "Drains at most 2 of 52 hosts in a (pool p)."


@pytest.mark.parametrize(
    ("state", "impact", "words"),
    [
        (State.REMOVED, Impact.NONE, "Ends a, decommissioned before: nothing is deleted, 52 hosts"),
        (State.VANISHED, Impact.NONE, "The file is gone of a, not decommissioned: no tool would"),
        (State.DECOMMISSIONED, Impact.REMOVE, "Decommissions a: the cluster is deleted with all"),
    ],
)
def test_a_site_that_ends_or_has_no_file_is_told_first(
    state: State, impact: Impact, words: str
) -> None:
    hosts = tuple(HostVerdict(n, "p", impact, ()) for n in names("a", "a", 52))
    said = plain(headline(preview(one(SitePreview("a", state, hosts=hosts)))))
    assert said.startswith(words)
    assert "removes" not in said and said.count("52 hosts") == 1


@pytest.mark.parametrize(
    ("hours", "words"),
    [
        (0, "0 min"),
        (0.75, "45 min"),
        (0.751, "46 min"),
        (4 / 3, "80 min"),
        (1.5, "1.5 h"),
        (13.0, "13 h"),
        (13.01, "13.1 h"),
        (26 * 0.5, "13 h"),
        (100.2, "101 h"),
        (1234, "1,234 h"),
    ],
)
def test_a_duration_is_never_said_to_be_shorter_than_it_is(hours: float, words: str) -> None:
    assert duration(hours) == words


def test_ledgers_of_sites_are_summed_up_by_model() -> None:
    ledgers = [Ledger("", 9, 0, 1, 0), Ledger("A", 10, 80, 1, 8), Ledger("A", 5, 40, 1, 8)]
    said = plain(out_at_worst([*ledgers, Ledger("B", 10, 160, 2, 32), Ledger("C", 10, 80, 0, 0)]))
    assert said == "32 of 160 B, 16 of 120 A and 1 of 9 other hosts"


# --- names ----------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("given_names", "expected"),
    [
        (names("t", "a", 26), ["t-a-001…026"]),
        (["n9", "n10", "n11"], ["n9", "n10…11"]),
        (["n1", "n3", "n2", "m"], ["m", "n1…3"]),
        (["a", "a", "b"], ["a", "b"]),
        (["n08", "n9"], ["n9", "n08"]),
        (["n1234567890", "n1234567891"], ["n1234567890", "n1234567891"]),
    ],
)
def test_names_in_a_row_are_a_range(given_names: list[str], expected: list[str]) -> None:
    assert ranges(given_names) == expected


@given(st.lists(st.builds("{}{:0{}}".format, st.sampled_from("ab-"), st.integers(0, 30),
                          st.integers(1, 3))))  # fmt: skip
def test_ranges_stand_for_every_name_once(given_names: list[str]) -> None:
    found: list[str] = []
    for each in ranges(given_names):
        start, _, last = each.partition("…")
        first = int(start[1:])
        end = int(last) if last else first
        found += [f"{start[0]}{n:0{len(start) - 1}}" for n in range(first, end + 1)]
    assert sorted(found) == sorted(set(given_names))


@pytest.mark.parametrize(("length", "shown"), [(0, 0), (3, 3), (4, 4), (5, 3), (100, 3)])
def test_one_more_is_shown_and_not_counted(length: int, shown: int) -> None:
    some, more = first_few(range(length))
    assert (len(some), len(some) + more) == (shown, length)


NOTHING_SAID = "nothing is said"


# --- text of others -------------------------------------------------------------------------------
@given(texts, st.integers(2, 100))
def test_what_is_shown_is_one_line_of_bounded_length_in_which_all_can_be_seen(
    text: str, limit: int
) -> None:
    shown = visible(text, limit)
    assert len(shown) <= limit and shown.isprintable()
    assert not {unicodedata.category(c) for c in shown} & {"Mn", "Me", "Cf"}
    assert not {unicodedata.bidirectional(c) for c in shown} & {"R", "AL", "AN", "RLO", "RLE"}


@pytest.mark.parametrize(
    "character", "\x00\x1b\x7f\x9b\xad\u0301\u061c\u0661\u05d0\u115f\u200b\u202e\u2066\u2028\u2800"
    "\u3164\ud800\ufe0f\ufeff\U000e0041"
)  # fmt: skip
def test_what_cannot_be_seen_or_turns_a_line_round_is_an_escape(character: str) -> None:
    assert visible(f"a{character}b") == f"a\\u{ord(character):04x}b"


def test_what_can_be_seen_stays_as_it_is() -> None:
    text = "a\\u202e Grüße 東京 é → … \U0001f4a5"
    assert visible(text) == text


def test_what_is_too_long_shows_that_it_goes_on() -> None:
    assert visible("a" * 9, 8) == "aaaaaaa…"
    assert visible("\n" * 9, 8) == "\\n\\n\\n…"  # seven characters hold three escapes


@given(texts)
def test_a_sentence_quotes_all_that_is_more_than_a_word(text: str) -> None:
    phrase = prose(text)
    said = " ".join(visible(text, 600).split()) or NOTHING_SAID
    # Backticks that quote are gone, as the words between them are quoted anyhow.
    found = plain(phrase)
    assert found.replace("`", "").split() == said.replace("`", "").split()
    loose = "".join(each for each in phrase if isinstance(each, str))
    assert not set(loose) & set("`@#<>[]&*_~|$\\/{}=") and "://" not in loose
    assert "www." not in loose and "GH-" not in loose and "-Allow" not in loose


@pytest.mark.parametrize(
    ("sentence", "quoted"),
    [
        ("max_surge: 3 needs as many spare hosts, the pool keeps 2", ["max_surge"]),
        ("write this: Foresite-Allow: remove=3", ["Foresite-Allow: remove=3"]),
        ("it's Cluster API's, (re-imaged) at once.", []),
        ("1. of all", ["1"]),
        ("in the preview of `pulumi up`, and (`x`).", ["pulumi up", "x"]),
        ("an odd ` and ``", ["`", "``"]),
        ("see GH-12, #12 and deadbeef.", ["GH-12, #12", "deadbeef"]),
    ],
)
def test_sentences_stay_readable(sentence: str, quoted: list[str]) -> None:
    assert [each.text for each in prose(sentence) if isinstance(each, Value)] == quoted


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("v1", "v2", "v1 → v2"),
        (1, "1", '1 → "1"'),
        (True, "true", 'true → "true"'),
        (None, "", 'null → ""'),
        (" a", "a", '" a" → a'),
        (ABSENT, None, "new: null"),
        ({"a": [1]}, ABSENT, 'gone: {"a": [1]}'),
    ],
)
def test_values_of_different_types_look_different(before: object, after: object, said: str) -> None:
    assert plain(change(before, after)) == said


def test_of_long_values_the_part_where_they_differ_is_shown() -> None:
    same = "registry.example/" * 20
    old, new = (p for p in contrast(f"{same}v1.34.3", f"{same}v1.34.4", 40) if p != " → ")
    assert isinstance(old, Value) and old.text.startswith("…") and old.text.endswith("v1.34.3")
    assert isinstance(new, Value) and new.text.endswith("v1.34.4")


# --- reasons --------------------------------------------------------------------------------------
def test_reasons_with_the_same_edit_are_told_once_and_what_differs_is_left_open() -> None:
    site = disruptive_site()
    first = site.reasons[0]
    whys = (
        "the image of Template/a changed",
        "the image of Template/b changed",
        "the disks of Template/b changed",
        "a new version",
    )
    reasons = tuple(
        first._replace(
            object=f"MachineDeployment tokyo-1/{n}",
            effect=first.effect._replace(why=why, hosts=(f"h{n}",)),
        )
        for n, why in enumerate(whys)
    )
    (found,) = group_reasons(SitePreview("tokyo-1", State.CHANGED, reasons=reasons))
    assert [each.sentence for each in found.whys] == ["the image of … changed", *whys[2:]]
    assert found.hosts == ("h0", "h1", "h2", "h3")
    assert found.causes == first.causes


def test_limits_of_two_objects_are_never_one_limit() -> None:
    first = disruptive_site().reasons[0]
    vague = first.effect._replace(at_most=2)
    reasons = tuple(first._replace(effect=vague._replace(name=("m", name))) for name in "ab")
    found = group_reasons(SitePreview("tokyo-1", State.CHANGED, reasons=reasons))
    assert [each.at_most for each in found] == [2, 2]
