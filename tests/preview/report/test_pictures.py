"""The pictures: every host at its place, every pool in its hours, in SVG and in text."""

import re
from dataclasses import replace

import pytest

from components.effects.vocabulary import Impact, Ledger
from components.machines.installation import Installation
from preview import report
from preview.report.drawings import _SIGNS, WIDTH, Drawing, drawings
from preview.report.scenes import MOST_CELLS, MOST_RACKS, Scene, scene
from preview.report.sketches import sketch
from preview.result import HostVerdict, SitePreview, State
from tests.kit.preview_samples import SAMPLES, V100_PLAN, disruptive_site, one, placed, preview

START = re.compile(r"M(-?[0-9.]+) (-?[0-9.]+)")
CONTROL = V100_PLAN._replace(
    pool="control", machines=3, waves=3, hours=1.5, drain_hours=3.0,
    out=Ledger("", 3, 0, 1, 0), control_plane=True,
)  # fmt: skip
AFTER = V100_PLAN._replace(wait_hours=1.5, wait_drain_hours=3.0)
ROLLED = replace(
    placed(disruptive_site()),
    plans=(AFTER, CONTROL),
    capacity=(Ledger("", 299, 0, 1, 0), V100_PLAN.out),
    guaranteed=(("V100", 816),),
)


def drawing(found: Scene, kind: str) -> Drawing:
    (each,) = [each for each in drawings(found) if each.kind == kind]
    return each


def shapes(found: Drawing, kind: str) -> str:
    return "".join(each.path for each in found.shapes if each.kind == kind)


# --- racks ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", SAMPLES)
def test_every_host_is_one_cell_and_each_kind_of_cell_is_explained(name: str) -> None:
    for site in SAMPLES[name]().sites:
        found = scene(site)
        if found.racks is None:
            assert site.impact in (Impact.NONE, Impact.UNKNOWN) or not site.hosts
            continue
        made = drawing(found, "racks")
        cells = [each for each in made.shapes if each.kind.startswith("cell ")]
        assert len(cells) == 2 * len(found.racks.key)  # drawn in the map, and in its key
        boxes = sum(each.path.count("z") for each in cells)
        assert boxes == len(site.hosts) + len(found.racks.key)
        assert sum(hosts for _, hosts, _ in found.racks.key) == len(site.hosts)
        for cell, hosts, _ in found.racks.key:
            assert any(cell.impact.value in word.text and f"{hosts:,}" in word.text
                       for word in made.words)  # fmt: skip


def test_no_two_cells_lie_on_each_other() -> None:
    made = drawing(scene(ROLLED), "racks")
    places = [at for each in made.shapes if each.kind.startswith("cell ")
              for at in START.findall(each.path)]  # fmt: skip
    assert len(places) == len(set(places))


def test_colour_is_never_the_only_sign() -> None:
    assert _SIGNS.keys() == set(Impact) - {Impact.NONE}
    assert len(set(_SIGNS.values())) == len(_SIGNS)


@pytest.mark.parametrize("name", [*SAMPLES, "rolled"])
def test_everything_lies_inside_of_its_picture(name: str) -> None:
    sites = [ROLLED] if name == "rolled" else SAMPLES[name]().sites
    for made in [each for site in sites for each in drawings(scene(site))]:
        points = [(float(x), float(y)) for each in made.shapes for x, y in START.findall(each.path)]
        points += [(word.x, word.y) for word in made.words]
        assert all(0 <= x <= WIDTH and 0 <= y <= made.height for x, y in points)
        assert made.title and made.description


def test_of_hosts_of_which_git_does_not_say_which_the_key_says_how_many() -> None:
    found = scene(next(s for s in SAMPLES["destructive"]().sites))
    words = [word.text for word in drawing(found, "racks").words]
    assert "drain: 2 of these 52 hosts" in words and "remove: 3 hosts" in words


def test_of_a_large_site_each_rack_is_a_cell_and_the_worst_stay() -> None:
    hosts = [HostVerdict(f"h{n}", "p", Impact.NONE, (), zone="a", rack=f"r{n // 4}")
             for n in range(4 * (MOST_RACKS + 50))]  # fmt: skip
    assert len(hosts) > MOST_CELLS
    hosts[-1] = hosts[-1]._replace(impact=Impact.REMOVE)
    found = scene(SitePreview("a", State.CHANGED, hosts=tuple(hosts)))
    assert found.racks and found.racks.whole_racks and found.racks.left_out == 50
    made = drawing(found, "racks")
    assert shapes(made, "cell tone-remove").count("z") == 2
    assert sum(len(each.path) for each in made.shapes) < 20_000


# --- time and capacity ----------------------------------------------------------------------------
def test_the_control_plane_goes_first_and_the_last_pool_ends_the_picture() -> None:
    found = scene(ROLLED)
    assert found.timeline
    first, second = found.timeline.rows
    assert (first.name, first.start) == ("control", 0)
    assert (second.name, second.start) == ("v100", 4.5)
    assert found.timeline.hours == 4.5 + 13 + 52
    made = drawing(found, "time")
    assert "begins after 4.5 h" in made.description
    starts = [float(x) for x, _ in START.findall(shapes(made, "bar tone-re-image"))]
    assert starts == [0, round(WIDTH * 4.5 / 69.5, 1)]
    assert shapes(made, "hatch tone-drain").count("z") == 2
    assert shapes(made, "edge").count("M") == 25 + 2  # between 26 waves, and between 3


def test_a_rollout_that_never_ends_has_no_hours() -> None:
    found = scene(SAMPLES["stuck"]().sites[0])
    made = drawing(found, "time")
    assert any(word.text == "never ends" for word in made.words)
    assert not shapes(made, "bar tone-re-image") and shapes(made, "hatch tone-unknown")


def test_capacity_is_less_while_a_pool_is_rolled_and_says_what_is_guaranteed() -> None:
    level = scene(ROLLED).capacity[0]
    assert level.steps == ((0.0, 832), (4.5, 800), (69.5, 832))
    assert (level.least, level.total) == (800, 832)
    made = drawing(scene(ROLLED), "capacity")
    assert "16 fewer than teams are guaranteed" in made.description
    assert any(word.kind == "alarm" for word in made.words)
    enough = drawing(scene(replace(ROLLED, guaranteed=(("V100", 800),))), "capacity")
    assert not any(word.kind == "alarm" for word in enough.words)


def test_what_is_removed_is_out_for_good() -> None:
    gone = Ledger("V100", 104, 832, 6, 48)
    level = scene(replace(ROLLED, capacity=(gone,))).capacity[0]
    assert level.steps == ((0.0, 816), (4.5, 784), (69.5, 816))


def test_a_new_site_shows_when_each_pool_is_installed() -> None:
    pools = (
        Installation("control", "", 3, 0.0, 1.25, "", 0, True),
        Installation("gpu", "", 40, 0.5, 1.5, "V100", 320, False),
    )
    found = scene(SitePreview("a", State.ADDED, installations=pools))
    assert found.timeline and [row.start for row in found.timeline.rows] == [0, 0.5]
    assert found.timeline.hours == 2


def test_zones_that_are_rolled_alike_are_one_row() -> None:
    plans = tuple(V100_PLAN._replace(zone=zone) for zone in "abc")
    found = scene(replace(ROLLED, plans=plans))
    assert found.timeline and [row.name for row in found.timeline.rows] == ["v100, 3 zones"]


# --- reports --------------------------------------------------------------------------------------
def test_the_page_draws_the_worst_sites_and_has_a_name_for_each_picture() -> None:
    sites = [one(disruptive_site(f"s-{number}")) for number in range(20)]
    page = report.html(preview(*sites))
    assert page.count("<figure") == 18  # three of each of six sites
    names = re.findall(r'<title id="([a-z0-9-]+)">', page)
    labelled = re.findall(r'aria-labelledby="([a-z0-9-]+) [a-z0-9-]+"', page)
    assert names == labelled and len(set(names)) == 18


def test_a_comment_has_the_pictures_of_the_worst_site_as_text() -> None:
    written = report.comment(preview(one(ROLLED), one(disruptive_site("kyoto-1"))))
    (drawn,) = re.findall(r"^```text\n(.*?)^```$", written, re.MULTILINE | re.DOTALL)
    assert "Racks of tokyo-1" in drawn and "kyoto-1" not in drawn
    assert drawn.count("#") == 104 + 1 and drawn.count("·") == 296 + 1  # with the key


def test_text_shows_bars_in_their_order() -> None:
    lines = sketch(scene(ROLLED))
    at = next(n for n, line in enumerate(lines) if line.startswith("Time "))
    control, v100 = lines[at + 1 : at + 3]
    assert control.index("█") < v100.index("█") and v100.count("▒") > v100.count("█")
    assert any("16 fewer than teams are guaranteed" in line for line in lines)


def test_where_nothing_happens_nothing_is_drawn() -> None:
    assert "<figure" not in report.html(SAMPLES["harmless"]())
    assert "```text" not in report.comment(SAMPLES["harmless"]())
