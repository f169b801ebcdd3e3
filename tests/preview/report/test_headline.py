"""What the headline has room for: every effect on hosts, in few words, before any other thing."""

import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.effects.vocabulary import Action, Impact
from components.object_cache.effects.consequences import Consequence
from preview.report.headline import LONGEST, clauses, figures, headline
from preview.report.phrase import plain
from preview.result import Deletion, HostVerdict, SitePreview, State
from tests.kit.preview_samples import disruptive_site, one, preview

SHORTEST = {
    "invalid": "cannot predict {:,} sites",
    "vanished": "{:,} sites' files gone",
    "decommissioned": "decommissions {:,} sites",
    "remove": "removes {:,} hosts",
    "unknown": "cannot predict {:,} hosts",
    "re-image": "re-images {:,} hosts",
    "reboot": "reboots {:,} hosts",
    "drain": "drains {:,} hosts",
}
"""Findings that concern hosts, worst first, and the fewest words for several."""
KINDS = {
    "invalid": r"cannot predict (?!.* hosts)",
    "vanished": "file",
    "decommissioned": "decommissions",
    "remove": "removes",
    "unknown": "cannot predict .*host",
    "re-image": "re-images",
    "reboot": "reboots",
    "drain": "drains",
}


def sites_of(numbers: dict[str, int], name: str = "s") -> list[SitePreview]:
    """So many sites of the states, and one whose hosts the impacts concern."""
    states = [State.INVALID, State.VANISHED, State.DECOMMISSIONED]
    sites = [
        SitePreview(f"{name}-{state}-{n}", state, hosts=_hosts_of(state, n))
        for state in states
        for n in range(numbers.get(state.value, 0))
    ]
    hosts = tuple(
        HostVerdict(f"h-{impact}-{n}", "p", impact, ())
        for impact in Impact
        for n in range(numbers.get(impact.value, 0))
    )
    return [*sites, SitePreview(name, State.CHANGED, hosts=hosts)]


def _hosts_of(state: State, number: int) -> tuple[HostVerdict, ...]:
    gone = HostVerdict(f"{state}-{number}", "p", Impact.REMOVE, ())
    return (gone,) if state is State.DECOMMISSIONED else ()


@settings(max_examples=60)
@given(
    st.fixed_dictionaries({kind: st.sampled_from([0, 2, 40]) for kind in SHORTEST}),
    st.sampled_from(["s", "s" * 30, "s" * 63]),
    st.booleans(),
)
def test_no_effect_on_hosts_is_left_out_while_the_fewest_words_fit(
    numbers: dict[str, int], name: str, refused: bool
) -> None:
    """The worst are named, in order, and nothing that is less displaces them."""
    sites = sites_of(numbers, name)
    if refused:
        ends = Consequence("all alerts end", "all alerts end: no rule is left")
        sites[-1] = replace(sites[-1], services=(ends,))
    found = preview(*map(one, sites))
    said = [plain(clause).lower() for clause in clauses(found)]
    kinds = [kind for clause in said for kind in KINDS if re.match(f".*{KINDS[kind]}", clause)]
    expected = [kind for kind in SHORTEST if numbers[kind]]
    assert kinds == expected[: len(kinds)]
    assert len(plain(headline(found))) <= LONGEST
    if rest := len(expected) - len(kinds):
        short = [SHORTEST[kind].format(numbers[kind]) for kind in expected[: len(kinds) + 1]]
        more = [f"{rest - 1 + refused} more below"] if rest - 1 + refused else []
        assert len("; ".join([*short, *more])) + 1 > LONGEST
    if any(numbers.values()):
        assert "nothing happens" not in " ".join(said)


@pytest.mark.parametrize(
    ("numbers", "name", "words"),
    [
        (
            {"invalid": 1000, "vanished": 1000, "remove": 1000, "re-image": 1000},
            "s",
            (
                "Cannot predict 1,000 sites; 1,000 sites' files gone; "
                "removes 1,000 of 2,000 hosts in s (pool p); re-images 1,000 hosts."
            ),
        ),
        (
            {"invalid": 2, "remove": 1, "re-image": 300},
            "very-long-name-of-a-site-in-a-town-of-a-country",
            (
                "Cannot predict what happens to 2 sites (0 problems); "
                "removes 1 of 301 hosts in 1 site; re-images 300 hosts."
            ),
        ),
        (
            {"decommissioned": 300, "re-image": 1000},
            "s",
            (
                "Decommissions 300 sites: the cluster is deleted with all that runs on 300 hosts; "
                "re-images 1,000 of 1,000 hosts in s."
            ),
        ),
    ],
)
def test_short_words_for_the_worst_leave_room_for_what_is_next(
    numbers: dict[str, int], name: str, words: str
) -> None:
    assert plain(headline(preview(*map(one, sites_of(numbers, name))))) == words


def test_what_is_refused_comes_after_what_hosts_lose() -> None:
    """A rename of a pool: its hosts are installed again, which the request must acknowledge."""
    site = disruptive_site()
    refused = replace(
        site,
        objects=(*site.objects, site.objects[0]._replace(action=Action.REFUSED)),
        deletions=(Deletion("hosts", 1),),
    )
    found = preview(one(refused))
    said = plain(headline(found))
    assert said == (
        "Re-images 104 hosts; 32 of 832 V100 out; pulumi up stops at 1 refused object; "
        "losses must be acknowledged."
    )
    table = figures(found)
    assert table and "1 host" in [plain(row.cells[1]) for row in table.rows]


def test_each_way_that_machines_wait_for_has_a_row_of_its_own() -> None:
    first = disruptive_site().reasons[0]
    sites = [
        SitePreview(f"s-{way}", State.CHANGED, reasons=(first._replace(
            effect=first.effect._replace(waits=True, way=f"write {way}, and apply it again")
        ),))
        for way in ("this", "that", "this too")
    ]  # fmt: skip
    table = figures(preview(*map(one, [*sites, replace(sites[0], name="s-other")])))
    rows = [[plain(cell) for cell in row.cells] for row in (table.rows if table else ())]
    waits = "refused now, and waits"
    assert [row for row in rows if row[0] == waits] == [
        [waits, "208 machines", "s-this and s-other; write this, and apply it again"],
        [waits, "104 machines", "s-that; write that, and apply it again"],
        [waits, "104 machines", "s-this too; write this too, and apply it again"],
    ]
