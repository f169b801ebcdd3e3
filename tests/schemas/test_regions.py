"""A region says what its sites have alike: which value holds, where it stands, what is refused."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from components.site import site_objects
from foresite.cli import main
from schemas.load import load, load_site
from schemas.model.region import KEYS, RegionFile
from schemas.reading.catalogue import installed_files
from schemas.reading.regions import region_problems
from schemas.reading.tree import Tree
from schemas.resolve import Origin, resolve
from tests.invalid.faults import build
from tests.kit.repository import FLEET, ROOT, all_sites, with_examples

FILE = "regions/jp-west.yaml"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The sites kyoto-1 and nara-1, which say all themselves, in a region that says nothing."""
    (tmp_path / "regions").mkdir()
    return build({"edit": []}, tmp_path)


def edit(root: Path, site: str, old: str, new: str = "") -> None:
    path = root / f"sites/{site}.yaml"
    text = path.read_text("utf-8")
    assert text.count(old) == 1, old
    path.write_text(text.replace(old, new), "utf-8")


def explained(root: Path, site: str, path: str) -> Any:
    loaded = load_site(root, site)
    assert loaded.site and loaded.document, loaded.problems
    return resolve(loaded.site, loaded.document, "", path)


def test_the_example_sites_have_the_same_objects_as_when_each_says_all() -> None:
    loaded = load(FLEET)
    for name, site in all_sites().items():
        mine = loaded[name].site
        assert mine is not None, loaded[name].problems
        found, wanted = site_objects(mine), site_objects(site)
        assert [(key, [m.body for m in each]) for key, each in found.items()] == [
            (key, [m.body for m in each]) for key, each in wanted.items()
        ]


@with_examples
def test_a_site_of_400_hosts_takes_60_lines() -> None:
    lines = (ROOT / "sites/tokyo-1.yaml").read_text("utf-8").splitlines()
    assert len(lines) <= 60
    assert len([line for line in lines if len(line) > 120]) <= 3  # its teams


def test_the_value_of_a_site_replaces_that_of_its_region(root: Path) -> None:
    (root / FILE).write_text("first_boot:\n  ntp: [10.32.0.3, 10.32.0.4]\n")
    found = explained(root, "kyoto-1", "first_boot.ntp")
    assert (found.value, found.origin, found.by) == (["10.32.0.2"], Origin.SITE_FILE, "")
    assert found.replaces == f"{FILE}:2:8"
    edit(root, "kyoto-1", "  ntp: [10.32.0.2]\n")
    found = explained(root, "kyoto-1", "first_boot.ntp[1]")
    assert (found.value, found.origin, found.place) == ("10.32.0.4", Origin.REGION, f"{FILE}:2:20")
    assert (found.by, found.replaces) == ("sites/kyoto-1.yaml:2:9 region", "")


def test_nothing_is_merged(root: Path) -> None:
    (root / FILE).write_text(
        "first_boot: {proxy: {http: 'http://a.our-lan', exclude: [b.our-lan]}}\n"
    )
    assert load_site(root, "kyoto-1").site.file.first_boot.proxy.exclude == ["b.our-lan"]  # type: ignore[union-attr]
    edit(root, "kyoto-1", "  ca_cert", "  proxy: {http: 'http://c.our-lan'}\n  ca_cert")
    assert explained(root, "kyoto-1", "first_boot.proxy.exclude").value == []


def test_a_site_can_go_without_what_its_region_says(root: Path) -> None:
    (root / FILE).write_text("first_boot: {proxy: {http: 'http://a.our-lan'}}\n")
    edit(root, "kyoto-1", "  ca_cert", "  proxy: null\n  ca_cert")
    found = explained(root, "kyoto-1", "first_boot.proxy")
    assert (found.value, found.replaces) == (None, f"{FILE}:1:21")


ENTRY = "- {{name: {}, manifests: [extra/a.yaml], why: people read it, owner: net-team}}\n"
ALL = "regions/fleet.yaml"


def test_what_the_fleet_brings_is_there_beside_what_a_site_and_its_region_bring(root: Path) -> None:
    (root / "sites/extra").mkdir()
    note = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: b}\n"
    (root / "sites/extra/a.yaml").write_text(note)
    (root / ALL).write_text("extra:\n" + ENTRY.format("fleet"))
    (root / FILE).write_text("extra:\n" + ENTRY.format("region"))
    edit(root, "nara-1", "\npools:\n", "\nextra:\n" + ENTRY.format("site") + "\npools:\n")
    for site, first, place in (
        ("kyoto-1", "region", (Origin.REGION, f"{FILE}:2:10")),
        ("nara-1", "site", (Origin.SITE_FILE, "sites/nara-1.yaml:27:10")),
    ):
        found = explained(root, site, "extra[0].name")
        assert (found.value, (found.origin, found.place)) == (first, place)
        found = explained(root, site, "extra[1].name")
        assert (found.value, found.origin) == ("fleet", Origin.FLEET)
        assert (found.place, found.by) == (f"{ALL}:2:10", f"sites/{site}.yaml:1:7 site")


def test_the_fleet_brings_and_says_nothing_else(root: Path) -> None:
    (root / ALL).write_text("first_boot: {}\nextra: 3\n")
    problems = region_problems(root)
    assert [(e.line, e.code) for e in problems] == [(1, "unknown-field"), (2, "wrong-type")]
    (root / ALL).write_text("extra:\n" + ENTRY.format("fleet"))
    (problem,) = load_site(root, "nara-1").problems
    assert problem.file == ALL and "sites/nara-1.yaml:1:7 site" in problem.also
    assert "site's own file" not in problem.fix


def test_no_region_gives_a_site_a_section(root: Path) -> None:
    (root / FILE).write_text("monitoring: {labels: {a: b}}\nremediation: {repair_image: null}\n")
    site = load_site(root, "kyoto-1").site
    assert site is not None and site.file.monitoring is None and site.file.remediation is None


def test_a_required_section_may_come_of_the_region_alone(root: Path) -> None:
    (root / FILE).write_text("sources: {os_images: 'http://images.our-lan/os'}\n")
    edit(root, "kyoto-1", "sources:\n  os_images: http://images.kyoto-1.our-lan/os\n")
    found = explained(root, "kyoto-1", "sources")
    assert (found.origin, found.place) == (Origin.REGION, f"{FILE}:1:10")


def test_a_bundle_is_found_where_it_stands(root: Path) -> None:
    (root / FILE).write_text("bundles: {priorities: {two: [{name: high, value: 9}]}}\n")
    edit(root, "kyoto-1", "pools:\n", "scheduling: {priorities: two}\n\npools:\n")
    found = explained(root, "kyoto-1", "scheduling.priorities.high.value")
    assert (found.value, found.place) == (9, f"{FILE}:1:50")
    assert found.by == "sites/kyoto-1.yaml:28:26 scheduling.priorities"


def test_a_region_in_memory_is_read_as_one_on_disk(root: Path) -> None:
    (root / FILE).write_text("management: trial\n")
    edit(root, "nara-1", "management: trial\n")
    files = (path for path in root.rglob("*") if path.is_file())
    texts = {path.relative_to(root).as_posix(): path.read_bytes() for path in files}
    tree = Tree({**installed_files(), **texts})
    site = load_site(tree, "nara-1").site
    assert site is not None and site.file.management == "trial"


def test_a_fault_is_told_once_with_all_its_sites(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (root / FILE).write_text("first_boot: {ca_certificates: [other.pem]}\nmanagement: 5\n")
    for site in ("kyoto-1", "nara-1"):
        text = (root / f"sites/{site}.yaml").read_text("utf-8")
        kept = (line for line in text.splitlines(True) if "ca_certificates" not in line)
        (root / f"sites/{site}.yaml").write_text("".join(kept), "utf-8")
    assert main(["--root", str(root), "check"]) == 1
    said = capsys.readouterr().out
    assert said.count("wrong-type") == said.count("file-missing") == 1
    assert "also: sites/kyoto-1.yaml:2:9 region, sites/nara-1.yaml:2:9 region" in said


def test_what_does_nothing_at_one_site_is_no_problem_there(root: Path) -> None:
    image = f"registry.our-lan/node-repair:v1@sha256:{'a' * 64}"
    (root / FILE).write_text(f"remediation: {{repair_image: {image}}}\n")
    edit(root, "kyoto-1", "pools:\n", "remediation: {}\n\npools:\n")
    assert load_site(root, "kyoto-1").problems == ()


ODD: dict[str, Callable[[Path], object]] = {
    "file-missing": lambda folder: (folder / "a.yml").write_text("management: a\n"),
    "site-name-mismatch": lambda folder: (folder / "Not a name.yaml").write_text("management: a\n"),
    "file-unreadable": lambda folder: (folder / "loop.yaml").symlink_to("loop.yaml"),
    "yaml-too-deep": lambda folder: (folder / "deep.yaml").write_text("a: " + "[" * 40 + "]" * 40),
    "file-encoding": lambda folder: (folder / "latin.yaml").write_bytes(b"management: \xe4\n"),
    "wrong-type": lambda folder: (folder / "list.yaml").write_text("[management]\n"),
    "yaml-duplicate-key": lambda folder: (folder / "two.yaml").write_text("access: 1\naccess: 2\n"),
    "yaml-merge-key": lambda folder: (folder / "merge.yaml").write_text("<<: {management: a}\n"),
    "todo-left": lambda folder: (folder / "todo.yaml").write_text("management: 'TODO: write'\n"),
    "yaml-key-type": lambda folder: (folder / "key.yaml").write_text("1: management\n"),
    "secret-in-file": lambda folder: (folder / "secret.yaml").write_text(
        "# -----BEGIN " + "OPENSSH PRIVATE KEY-----\nmanagement: a\n"
    ),
}


@pytest.mark.parametrize("code", ODD)
def test_files_that_no_site_names_are_judged_too(root: Path, code: str) -> None:
    assert region_problems(root) == []
    ODD[code](root / "regions")
    assert {each.code.value for each in region_problems(root)} == {code}
    assert load_site(root, "kyoto-1").problems == ()


@pytest.mark.parametrize("name", ["../sites/nara-1", "a/b", "..", "", "5", "JP-WEST", "a" * 300])
def test_a_name_that_is_no_region_reads_no_file(root: Path, name: str) -> None:
    (root / FILE).write_text("management: trial\n")
    edit(root, "kyoto-1", "region: jp-west", f'region: "{name}"')
    found = load_site(root, "kyoto-1").problems
    assert {(each.file, each.path) for each in found} <= {("sites/kyoto-1.yaml", "region")}


def test_a_region_says_nothing_by_which_sites_clash() -> None:
    own = {("cluster", "endpoint"), ("cluster", "context"), ("bmc",), ("zones",), ("pools",)}
    assert not own & {key[:size] for key in KEYS for size in (1, 2)}
    assert "region" not in RegionFile.model_fields
