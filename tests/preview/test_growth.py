"""How much may grow before somebody has to say by how much."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from components.effects.vocabulary import Name, ObjectChange, SiteChange
from components.machines.fleet import from_site, side_of
from components.making.manifest import Manifest
from foresite.cli import main
from preview.gates import ALLOWABLE, GROW, gates, parse_allowances
from preview.report import document, text
from preview.result import Entry, Growth, Preview, SitePreview, State, Swollen
from preview.verdict.growth import LARGE, MORE, TIMES, TIMES_SIZE, growth, size
from schemas.facts.site import Site
from schemas.model.site_file import Decommission
from tests.kit.preview_repository import Repository
from tests.kit.repository import all_sites

SITE = all_sites()["lab-1"]


def objects(count: int, **bodies: Any) -> dict[Name, Manifest]:
    """So many objects, of which those that are named have content."""
    names = [*bodies, *(f"o{index}" for index in range(count - len(bodies)))]
    return {
        ("teams", name): Manifest(
            name,
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name},
             "data": bodies.get(name, {})},
        )
        for name in names
    }  # fmt: skip


def change(
    before: dict[Name, Manifest] | None, after: dict[Name, Manifest] | None, site: Site = SITE
) -> SiteChange:
    sides = [None if each is None else side_of(site, each) for each in (before, after)]
    differing = {
        name: ObjectChange("teams", (before or {}).get(name), (after or {}).get(name))
        for name in {*(before or {}), *(after or {})}
        if (before or {}).get(name) != (after or {}).get(name)
    }
    return SiteChange("lab-1", sides[0], sides[1], differing)


@pytest.mark.parametrize(
    ("before", "after", "more"),
    [
        (300, 300 * TIMES + 1, 300 * TIMES + 1 - 300),
        (300, 300 * TIMES, 0),
        (10, 10 + MORE, 0),
        (10, 11 + MORE, 1 + MORE),
        (1000, 1000 + 2 * MORE, 0),
        (900, 300, 0),
    ],
)
def test_a_site_grows_by_much_where_it_doubles_and_by_many(
    before: int, after: int, more: int
) -> None:
    found = growth(change(objects(before), objects(after)))
    assert (found.more if found else 0) == more
    assert found is None or (found.before, found.after, found.total) == (before, after, more)


def text_of(length: int) -> dict[str, str]:
    """Data with which a ConfigMap is so many bytes long."""
    empty = size(objects(1, big={"x": ""})["teams", "big"])
    return {"x": "y" * (length - empty)}


@pytest.mark.parametrize(
    ("before", "after", "swollen"),
    [
        (LARGE // TIMES_SIZE, LARGE + 10, True),
        (LARGE // TIMES_SIZE, LARGE, False),
        (LARGE, TIMES_SIZE * LARGE, False),
        (LARGE, TIMES_SIZE * LARGE + 1, True),
        (1_000, LARGE - 1, False),
        (10 * LARGE, 1_000, False),
    ],
)
def test_an_object_swells_where_it_is_tenfold_and_large(
    before: int, after: int, *, swollen: bool
) -> None:
    sides = [objects(5, big=text_of(length)) for length in (before, after)]
    found = growth(change(sides[0], sides[1]))
    assert bool(found) == swollen
    if found:
        assert found == Growth(5, 5, 0, (Swollen("ConfigMap big", before, after),))
        assert found.total == 1


def test_bytes_are_counted_and_not_characters() -> None:
    ascii_, wide = (objects(1, big={"x": each * 10})["teams", "big"] for each in ("y", "界"))
    assert size(wide) - size(ascii_) == 20


@pytest.mark.parametrize("side", ["before", "after"])
def test_a_site_that_comes_or_goes_has_not_grown(side: str) -> None:
    many = objects(10 * MORE, big=text_of(LARGE + 1))
    before, after = (None, many) if side == "before" else (objects(1), None)
    assert growth(change(before, after)) is None


def test_a_site_that_comes_back_from_its_end_has_not_grown() -> None:
    end = Decommission(reason="The hall is given back.")
    ended = replace(SITE, file=SITE.file.model_copy(update={"decommission": end}))
    found = change(objects(4), objects(10 * MORE))
    assert growth(found) is not None
    assert found.before is not None
    assert growth(replace(found, before=replace(found.before, fleet=from_site(ended)))) is None


def grown(*counts: int) -> Preview:
    sites = tuple(
        SitePreview(f"s-{n}", State.CHANGED, growth=Growth(300, 300 + n, n)) for n in counts
    )
    return Preview("a", "b", 2, tuple(Entry((each.name,), each, (each,)) for each in sites))


@pytest.mark.parametrize(("allow", "passes"), [(0, False), (700, False), (701, True), (9999, True)])
def test_growth_needs_its_number_over_all_sites(allow: int, *, passes: bool) -> None:
    found = gates(grown(301, 400), {GROW: allow, "remove": 9999}, {})
    assert (not found) == passes
    for gate in found:
        assert gate.name == GROW
        assert "Foresite-Allow: grow=701" in gate.fix
        assert "s-301" in gate.message and "s-400" in gate.message


def test_growth_is_allowed_by_the_same_words_as_losses() -> None:
    said = parse_allowances(
        ["grow=3", "remove=2"], "Foresite-Allow: grow=5\nForesite-Allow: remove=1\n"
    )
    assert said == {"grow": 5, "remove": 2}
    assert set(said) < set(ALLOWABLE)


def test_a_site_that_is_written_as_it_should_not_be_is_stopped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Four teams more, and each of their namespaces has objects of its own."""
    repository = Repository(tmp_path)
    team = "{name: trials, namespaces: [trials], accelerators: {t4-pcie-16gb: 2}}"
    others = "".join(
        f", {{name: team-{a}, namespaces: [{', '.join(f'{a}-{n:02d}' for n in range(50))}]}}"
        for a in "abcd"
    )
    repository.replace("sites/lab-1.yaml", team, team + others)
    (site,) = repository.preview().sites
    assert site.problems == () and site.growth is not None
    number = site.growth.total
    assert number > MORE
    root = ["--root", str(tmp_path), "preview", "--base", "HEAD"]
    assert main(root) == 1
    assert f"Foresite-Allow: grow={number}" in capsys.readouterr().out
    assert main([*root, "--allow", f"grow={number - 1}"]) == 1
    assert main([*root, "--allow", f"grow={number}"]) == 0


def test_reports_say_what_has_grown() -> None:
    preview = grown(301)
    preview = replace(preview, gates=gates(preview, {}, {}))
    assert "300 to 601 objects" in text(preview)
    assert '"growth":{"before":300,"after":601,"more":301,"swollen":[]}' in document(preview)
