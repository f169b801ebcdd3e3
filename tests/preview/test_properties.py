"""Properties of every preview, whatever was edited."""

import os
import random
import shutil
import subprocess
import sys
from functools import cache
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from bench.fleet import SMALLEST, make
from components.effects.vocabulary import Impact
from preview.report import document
from preview.result import Preview, SitePreview, State
from preview.states.snapshot import at
from preview.survey import survey
from schemas.load import load
from tests.kit.preview_repository import Repository
from tests.kit.preview_sides import long_way, shared_sides
from tests.kit.proof import landings
from tests.kit.repository import ROOT
from tests.verdicts import ROWS
from tests.verdicts.applying import Table, apply
from tests.verdicts.edits import DIGEST, RELEASE, swap
from tests.verdicts.row import Expected, Row, Verdict

SITE = "tsukuba-1"
SOME = random.Random(landings()).sample(ROWS, 12)
"""Examples of all kinds, other ones in each landing; the table itself goes through every row."""
SEVERE = {Impact.REIMAGE, Impact.UNKNOWN, Impact.REBOOT, Impact.POD_RESTART}


def adds_up(row: Row) -> bool:
    """True if a row's edits make nothing milder. Edits on the number of machines, and on when they
    are replaced, can do so for others."""
    expected = row.sites.get(SITE)
    if row.base or len(row.sites) != 1 or not isinstance(expected, Expected):
        return False
    verdicts = [one for one in expected.pools.values() if isinstance(one, Verdict)]
    severe = {one.impact for one in verdicts} <= SEVERE and len(verdicts) == len(expected.pools)
    return severe and not expected.deletions and "OnDelete" not in row.name


BY_NAME = {row.name: row for row in ROWS}
PAIRS = [*combinations([row for row in ROWS if adds_up(row)], 2)]


@pytest.mark.parametrize("row", SOME, ids=[row.name for row in SOME])
def test_a_state_with_itself_is_empty(row: Row, repository: Table) -> None:
    apply(row, repository)
    repository.commit("edited")
    for head in (None, "HEAD"):
        found = repository.preview(head=head)
        assert (found.entries, found.gates) == ((), ())
        assert found.impact is Impact.NONE
        assert found.certain


@pytest.mark.parametrize("row", SOME[::2], ids=[row.name for row in SOME[::2]])
def test_what_is_kept_from_one_side_for_the_other_changes_no_report(
    row: Row, repository: Table
) -> None:
    apply(row, repository)
    found = document(repository.preview())
    with long_way():
        assert document(repository.preview()) == found


def test_sites_that_share_what_is_kept_are_judged_as_alone(tmp_path: Path) -> None:
    make(tmp_path / "repository", 3, SMALLEST)
    repository = Repository(tmp_path / "whole")
    shutil.copytree(tmp_path / "repository/sites", repository.root / "sites", dirs_exist_ok=True)
    repository.commit("fleet")
    hardware = "schemas/catalogue/hardware.yaml"
    text = repository.text(hardware)
    start = text.index("v100-sxm2-32gb-x8:")
    changed = text[start:].replace("0000:00:17.0-ata-1", "0000:00:17.0-ata-2", 1)
    repository.write(hardware, text[:start] + changed)
    repository.replace("sites/site-002.yaml", "max_unavailable: 2", "max_unavailable: 3")
    found = repository.preview()
    assert {"site-001", "site-002", "site-003"} <= {site.name for site in found.sites}
    with long_way():
        assert document(repository.preview()) == document(found)


@pytest.mark.parametrize("row", SOME, ids=[row.name for row in SOME])
def test_the_way_back_touches_the_same_objects(row: Row, repository: Table) -> None:
    apply(row, repository)
    before = at(repository.root, "HEAD")
    after = at(repository.root, repository.commit("edited"))
    with shared_sides():
        there, back = survey(before, after), survey(after, before)
    invalid = {each.name for each in (*there.sites, *back.sites) if each.state is State.INVALID}
    assert objects(there, invalid) == objects(back, invalid)


def objects(preview: Preview, but: set[str]) -> dict[str, set[object]]:
    return {
        site.name: {each.change.name for each in site.objects}
        for site in preview.sites
        if site.name not in but
    }


# The hosts of one site are those of another before.
MOVED = [row for row in ROWS if row.name == "another name for a site" and row not in SOME]


@pytest.mark.parametrize("row", [*SOME, *MOVED], ids=[row.name for row in [*SOME, *MOVED]])
def test_a_site_is_judged_alike_alone_and_among_others(row: Row, repository: Table) -> None:
    apply(row, repository)
    whole = {site.name: site for site in repository.preview().sites}
    for name in whole.keys() | {"lab-1", SITE}:
        if name in {path.stem for path in (repository.root / "sites").glob("*.yaml")}:
            alone = repository.preview(name).sites
            assert list(alone) == ([whole[name]] if name in whole else [])


@pytest.mark.parametrize("row", SOME, ids=[row.name for row in SOME])
def test_every_host_of_both_sides_is_there_once_and_the_counts_add_up(
    row: Row, repository: Table
) -> None:
    apply(row, repository)
    names = [hosts(repository.root)]
    after = repository.preview()
    repository.git("reset", "-q", "--hard", "HEAD")
    repository.git("clean", "-fdq")
    names.append(hosts(repository.root))
    for site in after.sites:
        if site.state is State.INVALID:
            assert (site.hosts, site.reasons, site.objects) == ((), (), ())
            continue
        both = names[0].get(site.name, set()) | names[1].get(site.name, set())
        assert sorted(host.host for host in site.hosts) == sorted(both)
        consistent(site)


def hosts(root: Path) -> dict[str, set[str]]:
    """The names of the hosts of each site that can be read, as the loader sees them."""
    sites = {name: each.site for name, each in load(root).items()}
    return {name: {h.name for h in site.hosts} for name, site in sites.items() if site is not None}


def consistent(site: SitePreview) -> None:
    """Hosts, reasons, objects and counts of one site refer to each other rightly."""
    counts = site.counts
    for impact in Impact:
        mine = [host for host in site.hosts if host.impact is impact]
        certain = [host for host in mine if host.at_most is None]
        assert len(certain) <= counts.get(impact, 0) or not certain
    if all(host.at_most is None for host in site.hosts):
        assert sum(counts.values()) == len(site.hosts)
    assert sum(counts.values()) <= len(site.hosts)
    for host in site.hosts:
        effects = [site.reasons[index].effect for index in host.reasons]
        assert all(host.host in effect.hosts for effect in effects)
        assert host.impact is max(
            (effect.impact for effect in effects), key=lambda i: i.rank, default=Impact.NONE
        )
    concerned = {(i, name) for i, r in enumerate(site.reasons) for name in r.effect.hosts}
    assert concerned == {(i, host.host) for host in site.hosts for i in host.reasons}
    assert site.impact.rank >= max((host.impact.rank for host in site.hosts), default=0)


@pytest.mark.proof
@settings(
    max_examples=40,
    derandomize=True,
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
)
@given(pair=st.sampled_from(PAIRS))
def test_two_edits_are_at_least_as_severe_as_each(table: Table, pair: tuple[Row, Row]) -> None:
    names = [row.name for row in pair]
    alone = [severity(table, name) for name in names]
    try:
        both = severity(table, *names)
    except AssertionError:
        both = None  # the second finds its text no more
    assume(both is not None)
    assert both is not None
    for one in alone:
        assert one is not None
        assert {name for name, rank in one.items() if rank > both.get(name, 0)} == set()


@cache
def severity(table: Table, *names: str) -> dict[str, int] | None:
    """The rank of what happens to each host of the site; None where the edits make no valid one."""
    table.restore()
    for name in names:
        apply(BY_NAME[name], table)
    (site,) = table.preview().sites or (SitePreview(SITE, State.CHANGED),)
    if site.state is State.INVALID:
        return None
    return {host.host: host.impact.rank for host in site.hosts}


@pytest.mark.proof
def test_the_same_edits_give_the_same_bytes(repository: Table) -> None:
    swap(RELEASE, "d7fe3a27", "d7fe3a28")(repository)
    repository.hosts(SITE, lambda rows: rows.pop(5))
    repository.commit("edited")
    command = [sys.executable, "-m", "foresite", "--root", str(repository.root), "preview"]
    command += ["--base", "start", "--head", "HEAD", "--format", "json"]
    found = []
    for seed, zone, language in (("0", "UTC", "C.UTF-8"), ("1", "Asia/Tokyo", "C")):
        place = {"PYTHONHASHSEED": seed, "TZ": zone, "LC_ALL": language}
        done = subprocess.run(
            command, cwd=ROOT, env={**os.environ, **place}, capture_output=True, check=False
        )
        assert (done.stderr, done.returncode) == (b"", 1)  # the gate, as a host goes
        found.append(done.stdout)
    assert found[0] == found[1]


@pytest.mark.proof
def test_many_sites_that_change_alike_are_one_entry(tmp_path: Path) -> None:
    fleet = Repository(tmp_path)
    shutil.rmtree(tmp_path / "sites")
    names = make(tmp_path, 31, SMALLEST)
    fleet.commit("fleet")
    swap(RELEASE, "d7fe3a2712446891ae0618d3a4c3c3e36c105b2f6cd9ff60e17a7eea4b7b1da6", DIGEST)(fleet)
    found = fleet.preview()
    (entry,) = found.entries
    assert list(entry.sites) == sorted(names)
    assert [site.name for site in entry.members] == sorted(names)
    assert {host.impact for site in found.sites for host in site.hosts} == {Impact.REIMAGE}
    assert sum(len(site.hosts) for site in found.sites) == 31 * SMALLEST
    # One that differs in what happens is shown for itself, and the others stay together.
    name = names[6]
    fleet.replace(f"sites/{name}.yaml", "region: jp-east", "region: jp-west")
    apart = fleet.preview()
    assert sorted(map(len, (each.sites for each in apart.entries))) == [1, 30]
    assert next(each.sites for each in apart.entries if len(each.sites) == 1) == (name,)
