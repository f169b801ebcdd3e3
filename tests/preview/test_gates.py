"""The gates of a pull request: losses that someone must acknowledge with a count."""

from dataclasses import replace
from pathlib import Path

import pytest

from components.effects.vocabulary import Action, Impact, ObjectChange
from components.making.manifest import Manifest
from preview.gates import FORBIDDABLE, gates, losses, parse_allowances
from preview.result import (
    Deletion,
    Entry,
    HostVerdict,
    ObjectVerdict,
    Preview,
    SitePreview,
    State,
)


def lost(*deletions: Deletion) -> Preview:
    site = SitePreview("a-1", State.CHANGED, deletions=deletions)
    return Preview("main", "work tree", 1, (Entry(("a-1",), site, (site,)),))


def test_losses_are_counted_over_all_sites() -> None:
    preview = lost(Deletion("hosts", 2), Deletion("Namespace", 1))
    assert losses([*preview.sites, *preview.sites]) == {"hosts": 4, "Namespace": 2}


@pytest.mark.parametrize(("allow", "passes"), [(0, False), (2, False), (3, True), (4, True)])
def test_a_loss_needs_its_number(allow: int, passes: bool) -> None:
    found = gates(lost(Deletion("hosts", 2), Deletion("Namespace", 1)), {"remove": allow}, ())
    assert (not found) == passes
    assert all("Foresite-Allow: remove=3" in gate.fix for gate in found)


def test_without_losses_nothing_needs_a_number() -> None:
    assert gates(lost(), {}, ()) == ()


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
        ("Foresite-Allow: remove=\uff13", 0),
        ("x" * 1_000_001 + "\nForesite-Allow: remove=3", 0),
    ],
)
def test_a_request_allows_by_a_line_of_its_own(request_text: str, number: int) -> None:
    assert parse_allowances([], request_text).get("remove", 0) == number


def test_a_flag_and_a_request_go_together() -> None:
    assert parse_allowances(["remove=7"], "Foresite-Allow: remove=3") == {"remove": 7}


@pytest.mark.parametrize("flag", ["remove", "remove=", "remove=x", "drain=3", "remove=1e3", ""])
def test_a_flag_that_is_none_is_refused(flag: str) -> None:
    with pytest.raises(ValueError, match="remove=3"):
        parse_allowances([flag], "")


@pytest.mark.parametrize("name", FORBIDDABLE)
@pytest.mark.parametrize("impact", Impact)
def test_what_a_team_forbids_fails_where_it_happens(name: str, impact: Impact) -> None:
    site = SitePreview("a-1", State.CHANGED, hosts=(HostVerdict("h", "p", impact, ()),))
    preview = Preview("main", "work tree", 1, (Entry(("a-1",), site, (site,)),))
    assert bool(gates(preview, {}, [name])) == (impact in FORBIDDABLE[name])


@pytest.mark.parametrize("action", Action)
def test_what_is_refused_fails_where_a_team_asks_for_that(action: Action) -> None:
    change = ObjectChange("teams", Manifest("x", {}), Manifest("x", {}))
    objects = (ObjectVerdict(change, action, ()),)
    site = SitePreview("a-1", State.CHANGED, objects=objects)
    preview = Preview("main", "work tree", 1, (Entry(("a-1",), site, (site,)),))
    assert bool(gates(preview, {}, ["refused"])) == (action is Action.REFUSED)
    assert gates(preview, {}, ["drain"]) == ()


def test_unknown_is_also_a_site_of_which_nothing_can_be_said_and_code_that_differs() -> None:
    site = SitePreview("a-1", State.INVALID)
    preview = Preview("main", "work tree", 1, (Entry(("a-1",), site, (site,)),))
    assert gates(preview, {}, ["unknown"])
    code = replace(preview, entries=(), code_changed=("components/making/dump.py",))
    assert gates(code, {}, ["unknown"])
    assert not gates(code, {}, ["reimage"])


def test_every_forbiddable_word_is_offered_by_the_command(tmp_path: Path) -> None:
    from foresite.arguments import parser

    text = parser().parse_args(["preview", "--fail-on", ",".join(FORBIDDABLE)])
    assert text.fail_on.split(",") == list(FORBIDDABLE)
