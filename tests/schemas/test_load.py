"""From files to sites: what is judged of a faulty file, what is not, and what is never read."""

import copy
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schemas.kubernetes.manifests import MAX_VALUES, ManifestError, read_documents, read_manifests
from schemas.load import Loaded, load, load_site, site_names
from schemas.model.codes import Code
from schemas.model.problem import MAX_PROBLEMS, Problem, number_of
from schemas.model.site_file import SiteFile
from schemas.reading import site_files
from schemas.reading.bounded import read_regular
from schemas.reading.partial import Flaw, Hole, with_holes
from schemas.reading.tree import Refused
from schemas.reading.typed_document import parse
from schemas.reading.yaml_reader import read_yaml
from tests.invalid.faults import FOLDER
from tests.kit.repository import FLEET, ROOT

BASE: dict[str, Any] = yaml.safe_load((FOLDER / "base/sites/kyoto-1.yaml").read_text("utf-8"))
Steps = tuple[str | int, ...]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The base of the fault files, to be changed."""
    shutil.copytree(FOLDER / "base", tmp_path, dirs_exist_ok=True)
    return tmp_path


def problems(root: Path) -> list[Problem]:
    return [problem for each in load(root).values() for problem in each.problems]


# --- which sites there are -------------------------------------------------------------------


def test_the_sites_of_the_repository_have_no_problem() -> None:
    assert problems(ROOT) == problems(FLEET) == []


def test_a_repository_without_sites_has_none(tmp_path: Path) -> None:
    assert load(tmp_path) == {}
    (tmp_path / "sites").mkdir()
    assert load(tmp_path) == {}
    (problem,) = load_site(tmp_path, "tokyo-1").problems
    assert (problem.code, problem.fix) == (Code("site-unknown"), "known sites: none")


def test_sites_that_is_a_file_has_none(tmp_path: Path) -> None:
    (tmp_path / "sites").write_text("")
    assert load(tmp_path) == {}


def test_only_what_is_asked_for_is_given_once_in_that_order(root: Path) -> None:
    assert list(load(root, ["nara-1", "kyoto-1", "nara-1"])) == ["nara-1", "kyoto-1"]
    assert list(load(root, [])) == []


def test_files_of_editors_and_folders_are_no_sites(root: Path) -> None:
    for name in (".#nara-1.yaml", ".nara-1.yaml.swp", "README.md", "nara-1.yaml~"):
        (root / "sites" / name).write_text("")
    (root / "sites" / ".#kyoto-1.yaml").symlink_to("someone@host.123")
    assert site_names(root) == ["kyoto-1", "nara-1"]


@pytest.mark.parametrize(
    "made", ["x.yaml", "x.yml", "x.hosts.csv", ".x.yaml", ".yaml", "x", "x.csv"]
)
def test_one_site_is_there_as_among_all(root: Path, made: str) -> None:
    (root / "sites" / made).symlink_to("nowhere")
    known = set(site_names(root))
    tried = {*known, "", "x", ".x", "../sites/nara-1", "pod-network", "nara", "n" * 5000, "a\0b"}
    assert {name for name in tried if site_files.has_site(root / "sites", name)} == known


def test_a_state_that_was_read_before_another_is_not_taken_for_it(root: Path) -> None:
    hosts = root / "sites/nara-1.hosts.csv"
    text = hosts.read_text()
    sides = [text, text.replace(",", ",x", 1), text]
    found = []
    for each in sides:
        hosts.write_text(each)
        found.append(
            (load(root, ["nara-1"], ())["nara-1"].problems, load_site(root, "nara-1")[1:3])
        )
    assert found[0] == found[2] == ((), (load_site(root, "nara-1").site, ()))
    assert found[1][0] == found[1][1][1] != ()


@pytest.mark.parametrize("name", ["a\nb", "\u202etxt", "x" * 200, "ü", "a b", os.fsdecode(b"\xff")])
def test_a_file_may_have_any_name(root: Path, name: str) -> None:
    shutil.copy(root / "sites/nara-1.yaml", root / "sites" / f"{name}.yaml")
    (root / "sites" / f"{name}.hosts.csv").mkdir()
    found = load(root)[name]
    assert Code("site-name-mismatch") in {problem.code for problem in found.problems}
    for problem in found.problems:
        assert str(problem).replace("\n", "").isprintable()
        str(problem).encode()


@pytest.mark.parametrize("name", ["../x", "/etc/passwd", "", "nara-1\x1b[2J", "n" * 5000])
def test_a_site_of_any_name_can_be_asked_for(root: Path, name: str) -> None:
    (problem,) = load_site(root, name).problems
    assert problem.code is Code("site-unknown")
    assert str(problem).replace("\n", "").isprintable()


# --- files that cannot be had ----------------------------------------------------------------


@pytest.mark.parametrize(
    "error", [PermissionError(13, "Permission denied"), OSError(5, "I/O error")]
)
def test_a_file_that_may_not_be_read_is_a_problem(
    root: Path, error: OSError, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, most: int, *, links: bool) -> bytes:
        if path.is_relative_to(root):
            raise error
        return read_regular(path, most, links=links)

    monkeypatch.setattr(site_files, "read_regular", refuse)
    files = sorted((problem.file, problem.code) for problem in problems(root))
    assert files == [
        (f"sites/{site}{end}", Code.FILE_UNREADABLE)
        for site in ("kyoto-1", "nara-1")
        for end in (".hosts.csv", ".yaml")
    ]


def test_a_pipe_is_not_waited_for(root: Path) -> None:
    (root / "sites/nara-1.hosts.csv").unlink()
    os.mkfifo(root / "sites/nara-1.hosts.csv")
    (problem,) = problems(root)
    assert problem.code is Code.FILE_UNREADABLE


@pytest.mark.parametrize(
    ("link", "target"), [("sites/ca.pem", "pod-network/x"), ("sites/pod-network", "elsewhere")]
)
def test_no_link_below_the_folder_is_followed(root: Path, link: str, target: str) -> None:
    (root / link).rename((root / link).parent / target)
    (root / link).symlink_to(target)
    found = {(each.code, "is a link" in each.message) for each in problems(root)}
    assert found == {(Code.FILE_UNREADABLE, True)}


def test_the_folder_may_be_a_link_itself(
    root: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = tmp_path_factory.mktemp("other")
    (other / "sites").symlink_to(root / "sites")
    assert problems(other) == []


def test_a_file_as_large_as_a_disk_is_not_read(root: Path) -> None:
    with open(root / "sites/nara-1.yaml", "wb") as file:
        file.truncate(10**12)  # takes no room
    (problem,) = problems(root)
    assert (problem.code, problem.file) == (Code("file-too-large"), "sites/nara-1.yaml")
    assert "1000000000000" in problem.message


def test_reading_says_what_hinders_it(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    assert site_files.read(tmp_path, "file") == b"x"
    missing = site_files.read(tmp_path, "file/below")
    assert isinstance(missing, Refused)
    assert missing.code is Code.FILE_MISSING


# --- values ----------------------------------------------------------------------------------


def paths(value: Any, path: Steps = ()) -> Iterator[Steps]:
    """The path of everything in a document, but the whole."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for step, item in items:
        yield (*path, step)
        if isinstance(item, dict | list):
            yield from paths(item, (*path, step))


def replaced(path: Steps, value: Any) -> dict[str, Any]:
    """The base with another value at a path; ``...`` deletes it."""
    changed = copy.deepcopy(BASE)
    parent: Any = changed
    for step in path[:-1]:
        parent = parent[step]
    if value is ...:
        del parent[path[-1]]
    else:
        parent[path[-1]] = value
    return changed


def load_with(root: Path, document: Any) -> Loaded:
    (root / "sites/kyoto-1.yaml").write_text(json.dumps(document))
    return load(root)["kyoto-1"]


WRONG: tuple[Any, ...] = (True, -7, 1.5, "?!", "TODO: later", [[]])


@pytest.mark.parametrize("path", list(paths(BASE)), ids=lambda path: ".".join(map(str, path)))
def test_a_wrong_value_anywhere_is_one_problem_there(root: Path, path: Steps) -> None:
    """Nothing else is said: what is not known is not judged by a guess."""
    for wrong in WRONG:
        (problem,) = (found := load_with(root, replaced(path, wrong))).problems
        assert found.document is not None
        places = (found.document.position(path), found.document.position((*path, 0)))
        assert (problem.line, problem.column) in places


@pytest.mark.parametrize(
    "path",
    [
        path
        for path in paths(BASE)
        if isinstance(path[-1], str)
        and path[-1] not in ("labels", "rollout", "role", "ca_certificates", "max_unavailable")
        and "labels" not in path
    ],
    ids=lambda path: ".".join(map(str, path)),
)
def test_a_missing_value_is_one_problem(root: Path, path: Steps) -> None:
    (problem,) = load_with(root, replaced(path, ...)).problems
    assert problem.code is Code("missing-field")
    assert problem.message == f"{path[-1]} is missing"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(-9, 9) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.text(max_size=5) | st.sampled_from([*SiteFile.model_fields, "[key]", "name"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@settings(
    max_examples=150,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(document=json_values, path=st.sampled_from(list(paths(BASE))))
def test_no_data_is_an_exception(tmp_path: Path, document: Any, path: Steps) -> None:
    for value in (document, replaced(path, document)):
        read, unreadable = read_yaml(json.dumps(value).encode(), "s.yaml")
        if read is not None:
            made, found = parse(SiteFile, read)
            assert found or made is not None
            for problem in found:
                assert problem.message.isprintable()
                assert problem.fix.isprintable()
                assert "pydantic" not in str(problem)
        else:
            assert unreadable


def test_a_hole_is_not_to_be_looked_into() -> None:
    hole: Any = Hole()
    for look in (
        lambda: hole.name,
        lambda: hole["name"],
        lambda: "name" in hole,
        lambda: list(hole),
        lambda: bool(hole),
    ):
        with pytest.raises(AttributeError):
            look()


def test_data_with_holes_keeps_what_is_right() -> None:
    changed = replaced(("zones", 1, "network"), 7)
    read, _ = read_yaml(json.dumps(changed).encode(), "s.yaml")
    assert read is not None
    made, _ = parse(SiteFile, read)
    assert made is not None
    assert made.zones[0].network == "10.32.0.0/24"
    assert made.zones[1].gateway == "10.32.1.1"
    with pytest.raises(AttributeError):
        _ = made.zones[1].network


def test_nothing_is_left_of_what_is_no_map() -> None:
    assert with_holes(SiteFile, [], [((), Flaw.VALUE)]) is None


def test_a_site_that_has_a_problem_is_not_given(root: Path) -> None:
    for wrong in (replaced(("region",), 7), replaced(("cluster", "endpoint"), "10.33.0.10")):
        found = load_with(root, wrong)
        assert found.problems
        assert found.site is None
        assert found.document is not None


# --- time ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        "!{0},!,!,!,!,!,!,!",
        "h-{0},nope-{0},a,r,10.1.1.1,52:54:00:00:00:01,10.1.1.1,S",
        "same,v100,a,r,10.40.0.99,52:54:00:00:00:01,10.32.0.99,S",
        "",
        "short,line",
    ],
    ids=["every cell", "unknown pool and other network", "the same host", "empty", "short"],
)
def test_four_hundred_bad_lines_are_all_counted(root: Path, line: str) -> None:
    path = root / "sites/kyoto-1.hosts.csv"
    header = path.read_text().split("\n")[0]
    path.write_text("\n".join([header, *map(line.format, range(400)), ""]))
    found = load(root)["kyoto-1"].problems
    assert number_of(found) >= 399
    assert len(found) == MAX_PROBLEMS + 1


@pytest.mark.parametrize(
    "extra",
    [
        "".join(f"k{number}: 1\n" for number in range(4500)),
        "labels: {" + ", ".join(f"-{number}: a" for number in range(4000)) + "}\n",
        "hardware:\n" + "".join(f"  p{number}: {{}}\n" for number in range(2000)),
        "".join(f"  - {{name: p{number}, hardware: cpu-1x}}\n" for number in range(98)),
    ],
    ids=["unknown fields", "unknown map", "empty profiles", "pools without hosts"],
)
def test_a_crowded_site_file_has_problems_and_an_end(root: Path, extra: str) -> None:
    with open(root / "sites/kyoto-1.yaml", "a") as file:
        file.write(extra)
    assert load(root)["kyoto-1"].problems


# --- manifests -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value"), [("yes", True), ("0644", 420), ("'yes'", "yes"), ("!!str yes", "yes"),
                        ("! 5", "5")],
)  # fmt: skip
def test_a_scalar_means_what_it_means_to_kubectl(text: str, value: Any) -> None:
    ((found, _),) = read_documents(f"key: {text}\n")
    assert found == {"key": value}
    assert type(found["key"]) is type(value)


def test_a_key_is_text_as_in_json() -> None:
    assert read_documents("on: 1\n1: 2\n") == (({"true": 1, "1": 2}, 1),)


def test_a_list_is_taken_apart_and_empty_documents_are_left_out() -> None:
    item = "{apiVersion: v1, kind: Pod, metadata: {name: %s}}"
    text = f"---\n---\n{item % 'a'}\n---\nkind: List\nitems: [{item % 'b'}, {item % 'c'}]\n---\n"
    assert [each["metadata"]["name"] for each in read_manifests(text)] == ["a", "b", "c"]


def test_labels_that_are_null_are_none() -> None:
    text = "{apiVersion: v1, kind: Pod, metadata: {name: a, labels: null}}"
    assert read_manifests(text)[0]["metadata"] == {"name": "a"}


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("a: [\n", 2, 1),
        ("a: &x 1\n", 1, 4),
        ("a: 1\nb: *x\n", 2, 4),
        ("a: !!binary aGk=\n", 1, 4),
        ("a: {<<: {b: 1}}\n", 1, 5),
        ("a: 1\na: 2\n", 2, 1),
        ("? [a]\n: 1\n", 1, 3),
        ("a: .inf\n", 1, 4),
        ("[" * 500_000, 1, 101),
        ("- " * 500_000, 1, 201),
        ("a:\n" + "- b\n" * (MAX_VALUES + 1), MAX_VALUES - 1, 3),
        ("a: \x00\n", 1, 1),
        ("--- 5\n", 1, 1),
        ("apiVersion: v1\nkind: Pod\n", 1, 1),
        ("kind: List\nitems: [7]\n", 1, 1),
        ("kind: Pod\nmetadata: {name: a}\n", 1, 1),
        ("{apiVersion: v1, kind: Pod, metadata: {name: a, labels: [b]}}\n", 1, 1),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_manifests_that_cannot_be_read_say_where(text: str, line: int, column: int) -> None:
    with pytest.raises(ManifestError) as caught:
        read_manifests(text)
    assert (caught.value.line, caught.value.column) == (line, column)
    assert caught.value.fix


@settings(max_examples=150, database=None)
@given(st.text(alphabet="[]{}&*!|>-:,'\"#%@ \nabc0.<~", max_size=60))
def test_no_text_of_manifests_is_another_exception(text: str) -> None:
    try:
        found = read_manifests(text)
    except ManifestError:
        return
    json.dumps(found, allow_nan=False)
