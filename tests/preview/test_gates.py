"""The gates of a pull request: losses that someone must acknowledge with a count."""

from dataclasses import replace

import pytest

from components.effects.vocabulary import Action, Effect, Impact, Ledger, ObjectChange
from components.making.manifest import Manifest
from preview.gates import FORBIDDABLE, NAMES, gates, losses, parse_allowances, parse_limits
from preview.result import (
    Deletion,
    Entry,
    HostVerdict,
    ObjectVerdict,
    Preview,
    Reason,
    SitePreview,
    State,
)
from schemas.refusal import UsageError
from tests.kit.repository import ROOT


def lost(*deletions: Deletion) -> Preview:
    site = SitePreview("a-1", State.CHANGED, deletions=deletions)
    return Preview("main", "work tree", 1, (Entry(("a-1",), site, (site,)),))


def test_losses_are_counted_over_all_sites() -> None:
    preview = lost(Deletion("hosts", 2), Deletion("Namespace", 1))
    assert losses([*preview.sites, *preview.sites]) == {"hosts": 4, "Namespace": 2}


@pytest.mark.parametrize(("allow", "passes"), [(0, False), (2, False), (3, True), (4, True)])
def test_a_loss_needs_its_number(allow: int, passes: bool) -> None:
    found = gates(lost(Deletion("hosts", 2), Deletion("Namespace", 1)), {"remove": allow}, {})
    assert (not found) == passes
    assert all("Foresite-Allow: remove=3" in gate.fix for gate in found)


def test_without_losses_nothing_needs_a_number() -> None:
    assert gates(lost(), {}, {}) == ()


@pytest.mark.parametrize(
    ("request_text", "number"),
    [
        ("Foresite-Allow: remove=3", 3),
        ("Drop a rack.\r\n\r\nForesite-Allow: remove=12\r\nbye", 12),
        ("Foresite-Allow: remove=3\nForesite-Allow: remove=5", 5),
        ("please, Foresite-Allow: remove=3", 0),
        ("> Foresite-Allow: remove=3", 0),
        ("foresite-allow: remove=3", 0),
        ("Foresite-Allow: remove=-3", 0),
        ("Foresite-Allow: remove=99999999", 0),
        ("Foresite-Allow: remove=3 or more", 0),
        ("Foresite-Allow: reimage=3", 0),
        ("Foresite-Allow: hosts=3", 0),
        ("Foresite-Allow: remove=\uff13", 0),
        ("<!--\nForesite-Allow: remove=3\n-->", 0),
        ("<!--\nForesite-Allow: remove=3", 0),
        ("<!-- x -->\nForesite-Allow: remove=3", 3),
        ("```\nForesite-Allow: remove=3\n```", 0),
        ("~~~ yaml\nForesite-Allow: remove=3\n", 0),
        ("```\nx\n```\nForesite-Allow: remove=3", 3),
        ("x" * 1_000_001 + "\nForesite-Allow: remove=3", 0),
    ],
)
def test_a_request_allows_by_a_line_of_its_own(request_text: str, number: int) -> None:
    assert parse_allowances([], request_text).get("remove", 0) == number


def test_a_flag_and_a_request_go_together() -> None:
    assert parse_allowances(["remove=7"], "Foresite-Allow: remove=3") == {"remove": 7}


@pytest.mark.parametrize("flag", ["remove", "remove=", "remove=x", "drains=3", "remove=1e3", ""])
def test_a_flag_that_is_none_is_refused(flag: str) -> None:
    with pytest.raises(UsageError, match="remove=3"):
        parse_allowances([flag], "")


@pytest.mark.parametrize("name", FORBIDDABLE)
@pytest.mark.parametrize("impact", Impact)
def test_what_a_team_forbids_fails_where_it_happens(name: str, impact: Impact) -> None:
    site = SitePreview("a-1", State.CHANGED, hosts=(HostVerdict("h", "p", impact, ()),))
    preview = Preview("main", "work tree", 1, (Entry(("a-1",), site, (site,)),))
    assert bool(gates(preview, {}, {name: 0})) == (impact in FORBIDDABLE[name])


@pytest.mark.parametrize("action", Action)
def test_what_is_refused_fails_where_a_team_asks_for_that(action: Action) -> None:
    change = ObjectChange("teams", Manifest("x", {}), Manifest("x", {}))
    objects = (ObjectVerdict(change, action, ()),)
    site = SitePreview("a-1", State.CHANGED, objects=objects)
    preview = Preview("main", "work tree", 1, (Entry(("a-1",), site, (site,)),))
    assert bool(gates(preview, {}, {"refused": 0})) == (action is Action.REFUSED)
    assert gates(preview, {"refused": 1}, {"refused": 0}) == ()
    # What is deleted is a loss, which has a gate of its own.
    gone = replace(site, objects=(ObjectVerdict(change._replace(after=None), action, ()),))
    assert (
        gates(replace(preview, entries=(Entry(("a-1",), gone, (gone,)),)), {}, {"refused": 0}) == ()
    )
    assert gates(preview, {}, {"drain": 0}) == ()


def test_unknown_is_also_a_site_of_which_nothing_can_be_said_and_code_that_differs() -> None:
    site = SitePreview("a-1", State.INVALID)
    preview = Preview("main", "work tree", 1, (Entry(("a-1",), site, (site,)),))
    assert gates(preview, {}, {"unknown": 0})
    code = replace(preview, entries=(), code_changed=("components/making/dump.py",))
    assert gates(code, {}, {"unknown": 0})
    assert not gates(code, {}, {"reimage": 0})


def test_every_forbiddable_word_is_offered_by_the_command() -> None:
    from foresite.arguments import parser

    text = parser().parse_args(["preview", "--fail-on", ",".join(NAMES)])
    assert parse_limits(text.fail_on) == dict.fromkeys(NAMES, 0)


def a_site(name: str, hosts: int, reimaged: int, at_most: int | None = None) -> SitePreview:
    """A site with so many hosts, of which some are re-imaged."""
    verdicts = tuple(
        HostVerdict(f"h{n}", "p", Impact.REIMAGE if n < reimaged else Impact.NONE, (), at_most)
        for n in range(hosts)
    )
    return SitePreview(name, State.CHANGED, hosts=verdicts)


def a_preview(*sites: SitePreview) -> Preview:
    return Preview("main", "work tree", 9, tuple(Entry((s.name,), s, (s,)) for s in sites))


@pytest.mark.parametrize(
    ("sites", "limit", "allow", "passes"),
    [
        ([("a-1", 400, 40)], "reimage>10%", 0, True),
        ([("a-1", 400, 41)], "reimage>10%", 0, False),
        ([("a-1", 400, 41)], "reimage>10%", 40, False),
        ([("a-1", 400, 41)], "reimage>10%", 41, True),
        ([("a-1", 400, 1)], "reimage", 0, False),
        ([("a-1", 400, 1)], "reimage", 1, True),
        ([("a-1", 400, 1)], "drain>5%", 0, True),
        # A share of each site: a small one that goes whole does not hide behind a large one.
        ([("a-1", 400, 0), ("b-1", 3, 3)], "reimage>10%", 0, False),
        ([("a-1", 400, 40), ("b-1", 3, 3)], "reimage>10%", 3, False),
        ([("a-1", 400, 40), ("b-1", 3, 3)], "reimage>10%", 43, True),
    ],
)
def test_a_share_of_each_site_or_a_count_of_all(
    sites: list[tuple[str, int, int]], limit: str, allow: int, passes: bool
) -> None:
    preview = a_preview(*(a_site(*each) for each in sites))
    found = gates(preview, {"reimage": allow}, parse_limits(limit))
    assert (not found) == passes
    total = sum(reimaged for *_, reimaged in sites)
    for gate in found:
        assert f"Foresite-Allow: reimage={total}" in gate.fix
        assert "the author" in gate.fix
        assert "owner" in gate.fix
        assert "\n" not in gate.fix
        assert gates(preview, parse_allowances((), gate.fix.partition(": ")[2]), {}) == ()


def test_hosts_of_which_git_does_not_say_which_count_as_many_as_can_be() -> None:
    found = gates(a_preview(a_site("a-1", 100, 100, at_most=11)), {}, {"reimage": 10})
    assert "a-1: 11 of 100" in found[0].message
    assert gates(a_preview(a_site("a-1", 100, 100, at_most=10)), {}, {"reimage": 10}) == ()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("reimages", "did you mean reimage"),
        ("reimage>", "write one of"),
        ("reimage>100%", "write one of"),
        ("reimage>-1%", "write one of"),
        ("reimage>1.5%", "write one of"),
        ("reimage<10%", "did you mean reimage"),
        ("unknown>10%", "counts no hosts"),
        ("refused>1%", "counts no hosts"),
        ("\x1b[2J", "write one of"),
    ],
)
def test_a_limit_that_is_none_says_what_to_write(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said) as error:
        parse_limits(text)
    assert str(error.value).isprintable()


def test_of_two_limits_the_stricter_counts() -> None:
    assert parse_limits("reimage>10%, reimage > 5% ,drain,") == {"reimage": 5, "drain": 0}


def test_the_shipped_workflow_stops_large_reimages_refusals_and_the_unknown() -> None:
    text = (ROOT / ".github/workflows/preview.yml").read_text()
    limits = parse_limits(text.partition('--fail-on "')[2].partition('"')[0])
    assert limits == {"reimage": 10, "refused": 0, "unknown": 0}


def a_reason(impact: Impact, at_most: int | None = None) -> Reason:
    effect = Effect(impact, ("machines", "x"), (), "why", "source", (), at_most)
    return Reason(effect, "MachineDeployment x", ())


@pytest.mark.parametrize(("at_most", "count"), [(None, 40), (7, 7)])
def test_what_is_not_known_hides_no_reimage(at_most: int | None, count: int) -> None:
    hosts = tuple(HostVerdict(f"h{n}", "p", Impact.UNKNOWN, (0, 1)) for n in range(40))
    reasons = (a_reason(Impact.UNKNOWN), a_reason(Impact.REIMAGE, at_most))
    site = SitePreview("a-1", State.CHANGED, hosts=hosts, reasons=reasons)
    (gate,) = gates(a_preview(site), {"unknown": 40}, {"unknown": 0, "reimage": 10})
    assert f"Foresite-Allow: reimage={count}" in gate.fix
    (gate,) = gates(a_preview(site), {"reimage": 40}, {"unknown": 0, "reimage": 10})
    assert "Foresite-Allow: unknown=40" in gate.fix


def test_machines_that_wait_are_reimages_to_come() -> None:
    waits = a_reason(Impact.NONE)
    names = tuple(f"h{n}" for n in range(3, 400))
    waits = waits._replace(effect=waits.effect._replace(waits=True, hosts=names))
    site = replace(a_site("a-1", 400, 3), reasons=(waits,))
    (gate,) = gates(a_preview(site), {}, {"reimage": 10})
    assert "Foresite-Allow: reimage=400" in gate.fix


def test_lines_that_are_added_do_not_make_a_share_smaller() -> None:
    site = replace(a_site("a-1", 1100, 100), capacity=(Ledger("", 100, 0, 100, 0),))
    (gate,) = gates(a_preview(site), {}, {"reimage": 10})
    assert "a-1: 100 of 100" in gate.message


def test_only_sites_beyond_the_share_are_named() -> None:
    (gate,) = gates(a_preview(a_site("a-1", 400, 40), a_site("b-1", 3, 3)), {}, {"reimage": 10})
    assert "43 hosts re-imaged (more than 10 % of b-1: 3 of 3)" in gate.message


def test_no_count_allows_a_site_that_cannot_be_read() -> None:
    (gate,) = gates(a_preview(SitePreview("a-1", State.INVALID)), {"unknown": 9}, {"unknown": 0})
    assert "Foresite-Allow" not in gate.fix
