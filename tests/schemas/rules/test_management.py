"""Files of management clusters: each fault at its place, alone and against the sites."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from schemas.load import load
from schemas.model.codes import Code
from schemas.rules.management import management_problems
from tests.invalid.faults import build
from tests.kit.management import FILE, put, vendor

CASES: dict[str, Any] = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text("utf-8"))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return build({"edit": []}, tmp_path)


def with_values(root: Path, vendored: str | None, values: dict[str, Any]) -> None:
    """The management file with other values at some paths."""
    manifests = vendor(root, *([vendored] if vendored else []))
    said = yaml.safe_load(FILE.read_text("utf-8"))
    said |= {"management": "trial", "manifests": manifests}
    for path, value in values.items():
        node: Any = said
        *steps, last = path.split(".")
        for step in steps:
            node = node[int(step) if step.isdigit() else step]
        node[last] = value
    put(root, "trial", **{key: said[key] for key in said if key != "management"})
    if (name := said["management"]) != "trial":
        file = root / "management/trial.yaml"
        file.write_text(file.read_text().replace("management: trial", f"management: {name}"))


@pytest.mark.parametrize("name", CASES)
def test_a_fault_is_found_at_its_place(root: Path, name: str) -> None:
    case = CASES[name]
    with_values(root, case.get("vendored"), case.get("set", {}))
    site = root / "sites/kyoto-1.yaml"
    for old, new in case.get("site", {}).items():
        text = site.read_text("utf-8")
        assert text.count(old) == 1, old
        site.write_text(text.replace(old, new), "utf-8")
    found = load(root, ["kyoto-1"])["kyoto-1"].problems
    every = sorted(f"{each.code.value} {each.path}" for each in found)
    assert every == sorted(case.get("expect", [])), [*map(str, found)]
    own = [each for each in found if each.file.startswith("management/")]
    assert sorted(own) == sorted(management_problems(root))
    assert all(each.line for each in found), found


def test_without_files_nothing_is_asked(root: Path) -> None:
    loaded = load(root, ["kyoto-1"])["kyoto-1"]
    assert loaded.site is not None
    assert loaded.site.managed is None


def test_a_cluster_that_has_no_file_is_not_guessed(root: Path) -> None:
    put(root, "mgmt-jp-wset")
    (found,) = load(root, ["kyoto-1"])["kyoto-1"].problems
    assert (found.code.value, found.line) == ("management-unknown", 4)
    assert "add the file" in found.fix


def test_an_older_management_cluster_is_refused(root: Path) -> None:
    put(root, "trial")
    folder = root / "catalogue/releases"
    folder.mkdir(parents=True)
    built_in = Path("schemas/catalogue/releases/2026.11.yaml").read_text("utf-8")
    newer = built_in.replace('release: "2026.11"', 'release: "2027.01-ours"')
    (folder / "2027.01-ours.yaml").write_text(newer.replace("core: v1.13.6", "core: v1.13.7"))
    site = root / "sites/kyoto-1.yaml"
    site.write_text(site.read_text().replace('"2026.11"', "2027.01-ours"))
    (found,) = load(root, ["kyoto-1"])["kyoto-1"].problems
    assert found.path == "release"
    assert "runs core v1.13.6" in found.message


@pytest.mark.parametrize(
    ("name", "text", "code"),
    [
        ("mgmt.yml", "management: mgmt", Code.FILE_MISSING),
        ("Mgmt_1.yaml", "management: x", Code("site-name-mismatch")),
        ("mgmt.yaml", "", Code.FILE_EMPTY),
        ("mgmt.yaml", "- a\n", Code.WRONG_TYPE),
        ("mgmt.yaml", "a: &a [*a]\n", Code("yaml-anchor")),
        ("mgmt.yaml", "a: " + "[" * 5000, Code("yaml-too-deep")),
    ],
)
def test_no_file_stops_the_reader(tmp_path: Path, name: str, text: str, code: Code) -> None:
    (tmp_path / "management").mkdir()
    (tmp_path / "management" / name).write_text(text)
    assert code in {each.code for each in management_problems(tmp_path)}


def test_a_link_is_not_followed(root: Path) -> None:
    put(root, "trial").unlink()
    (root / "management/trial.yaml").symlink_to("/etc/passwd")
    (found,) = management_problems(root)
    assert found.code is Code.FILE_UNREADABLE
