"""Every fault file gives exactly its problems, each at its place, true, and with a way out."""

import re
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schemas.kubernetes.masking import shorten
from schemas.load import load
from schemas.model.codes import Code
from schemas.model.problem import Problem
from tests.invalid.faults import FOLDER, build, fault_files, read_fault

FAULTS = {path.stem: path for path in fault_files()}
NOT_BY_FILES = {
    Code.MORE_PROBLEMS: "what a hundred other problems lead to; tests/foresite/test_hostile.py",
    Code.FORESITE_VERSION: "what pyproject.toml says; tests/foresite/test_init.py",
    Code.POLICY_VIOLATED: "what files lead to; tests/policies/test_check.py",
    Code.IMAGE_ARCHITECTURE: "what objects lead to; tests/components/machines/test_network_data.py",
    Code.THIRD_PARTY_DANGER: "what objects lead to; tests/policies/test_third_party.py",
    Code("host-source"): "what an inventory leads to; tests/foresite/test_hosts_import.py",
    Code("host-differs"): "what an inspection leads to; tests/foresite/test_hosts_verify.py",
    Code("host-unseen"): "what an inspection leads to; tests/foresite/test_hosts_verify.py",
    Code.EXCEPTION_EXPIRED: "what the day leads to; tests/policies/test_check.py",
    Code.PATCH_UNUSED: "what objects lead to; tests/components/making/test_patches.py",
    Code.PATCH_FAILED: "what objects lead to; tests/components/making/test_patches.py",
    Code.PATCH_REFUSED: "what objects lead to; tests/components/making/test_patches.py",
    Code.PATCH_EXPIRED: "what the day leads to; tests/components/making/test_patches.py",
}
"""Codes that no file below sites/ can have, each with the reason."""

JARGON = re.compile(
    r"pydantic|[Ii]nput should|validation|\bNone\b|\bTrue\b|\bFalse\b|\bdict|instance of"
    r"|\bstr\b|\bint\b|\bregex|Traceback|Error\b|\[type="
)
LITERAL_FIX = re.compile(
    r"write (?!one\b|an?\b|the\b|at\b|its\b|each\b)(\S+?)(?=$|[,;] | or | and | without )"
)
"""A fix that says to the letter what to write in place of the value, with or without its field."""

every_fault = pytest.mark.parametrize("name", FAULTS)


@cache
def problems_of(name: str, folder: Path) -> tuple[Problem, ...]:
    """The problems and hints of a fault's repository, each once, sorted. Two sites may share a
    file's."""
    fault = read_fault(FAULTS[name])
    loaded = load(build(fault, folder), fault.get("load"))
    for each in loaded.values():
        assert (each.site is None) == bool(each.problems)
        assert list(each.problems) == sorted(set(each.problems))
        assert {problem.code.hint for problem in each.problems} <= {False}
        for problem in (*each.problems, *each.hints):
            texts: tuple[object, ...] = (problem.message, problem.fix)
            assert all(isinstance(text, str) and text for text in texts), problem.code
    found = {p for each in loaded.values() for p in (*each.problems, *each.hints)}
    # Hosts of .example stand in many files for what does not matter there.
    shown = {p for p in found if p.code is not Code("placeholder") or name == "placeholder-left"}
    return tuple(sorted(shown))


@pytest.fixture(scope="module")
def repositories(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("repositories")


def at(problem: Problem) -> str:
    """A problem as a fault file expects it."""
    place = f":{problem.line}:{problem.column}" if problem.line else ""
    return f"{problem.code.value} {problem.file}{place}"


def test_the_base_has_no_problem() -> None:
    loaded = load(FOLDER / "base")
    assert loaded.keys() == {"kyoto-1", "nara-1"}
    assert [problem for each in loaded.values() for problem in each.problems] == []


@every_fault
def test_a_fault_gives_exactly_its_problems(name: str, repositories: Path) -> None:
    found = problems_of(name, repositories / name)
    assert [at(problem) for problem in found] == read_fault(FAULTS[name])["expect"]


@every_fault
def test_a_place_lies_in_its_file(name: str, repositories: Path) -> None:
    for problem in problems_of(name, repositories / name):
        assert (problem.line == 0) == (problem.column == 0)
        path = repositories / name / problem.file
        if problem.line == 0 or not path.exists():
            continue
        lines = path.read_bytes().decode("utf-8", "replace").split("\n")
        assert problem.line <= len(lines)
        assert problem.column <= len(lines[problem.line - 1]) + 1


@every_fault
def test_a_problem_speaks_to_a_person(name: str, repositories: Path) -> None:
    for problem in problems_of(name, repositories / name):
        for text, limit in ((problem.message, 160), (problem.why, 100), (problem.fix, 200)):
            assert text
            assert len(text) <= limit, text
            assert text.isprintable()
            assert not text.endswith(".")
        assert not JARGON.search(f"{problem.message} {problem.fix} {problem.value}")
        assert "hunter2" not in str(problem.as_dict())


@every_fault
def test_what_the_fix_says_to_the_letter_mends_the_fault(
    name: str, repositories: Path, tmp_path: Path
) -> None:
    fault = read_fault(FAULTS[name])
    for number, problem in enumerate(problems_of(name, repositories / name)):
        field = problem.path.rpartition(".")[2]
        literal = LITERAL_FIX.match(problem.fix.replace(f"write {field}: ", "write ", 1))
        if not literal or not problem.value or problem.line == 0:
            continue
        root = build(fault, tmp_path / str(number))
        _write(root / problem.file, problem, literal[1])
        after = {at(p) for site in load(root).values() for p in (*site.problems, *site.hints)}
        assert at(problem) not in after, problem.fix


def _write(path: Path, problem: Problem, text: str) -> None:
    """Put a text in place of a problem's value, with the quotes around it."""
    lines = path.read_text("utf-8").split("\n")
    line, start = lines[problem.line - 1], problem.column - 1
    end = start
    for end in range(start, len(line) + 1):
        if shorten(line[start:end]).strip("\"' ") == problem.value.strip("\"' ") and end > start:
            break
    else:
        pytest.fail(f"{problem.value!r} is not at the place of the problem")
    while line[end : end + 1] == '"':
        end += 1
    lines[problem.line - 1] = line[:start] + text + line[end:]
    path.write_text("\n".join(lines), "utf-8")


def test_every_code_has_a_fault_file() -> None:
    expected = {line.split()[0] for path in FAULTS.values() for line in read_fault(path)["expect"]}
    assert expected == {code.value for code in Code} - {code.value for code in NOT_BY_FILES}


def test_fault_files_are_named_after_their_fault() -> None:
    said = Counter(read_fault(path)["what"] for path in FAULTS.values())
    assert len(FAULTS) >= 50
    assert said.most_common(1)[0][1] == 1
    for name, path in FAULTS.items():
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", name)
        assert re.fullmatch(r"[A-Zyh].*\.", read_fault(path)["what"])


def test_nothing_is_read_outside_the_repository(repositories: Path) -> None:
    for name in ("site-file-leads-out-of-the-repository", "file-leads-out-of-the-repository"):
        shown = " ".join(
            str(problem.as_dict()) for problem in problems_of(name, repositories / name)
        )
        assert "root:" not in shown


def test_ten_faults_of_one_site_come_in_one_run(repositories: Path) -> None:
    name = "ten-faults-at-once"
    found = problems_of(name, repositories / name)
    assert len({problem.code for problem in found}) >= 10
    assert {problem.file for problem in found} == {"sites/kyoto-1.yaml", "sites/kyoto-1.hosts.csv"}


TOKENS = (
    "", "null", "[]", "{}", "-", "7", "1.5", "true", "TODO", '"', "10.32.0.0/24", "10.32.0.10", "a",
    "v100", "spares: 1", "~", "\u202e", ",", "\n", ": ", "#", "&a ", "*a", "!!x ", "external", "\0",
)  # fmt: skip
EDITED = ("kyoto-1.yaml", "kyoto-1.hosts.csv", "nara-1.hosts.csv", "pod-network/example.yaml")


@settings(
    max_examples=60, database=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(EDITED), st.floats(0, 1), st.integers(0, 12), st.sampled_from(TOKENS)
        ),
        min_size=1,
        max_size=4,
    )
)
def test_no_slip_of_a_hand_is_an_exception(
    tmp_path: Path, slips: list[tuple[str, float, int, str]]
) -> None:
    build({"edit": []}, tmp_path)
    for name, where, length, token in slips:
        path = tmp_path / "sites" / name
        text = path.read_text("utf-8")
        start = int(where * len(text))
        path.write_text(text[:start] + token + text[start + length :], "utf-8")
    for loaded in load(tmp_path).values():
        assert (loaded.site is None) == bool(loaded.problems)
        for problem in loaded.problems:
            assert str(problem).replace("\n", "").isprintable()
            assert not JARGON.search(f"{problem.message} {problem.fix}")


def test_sites_that_clash_are_valid_alone(repositories: Path, tmp_path: Path) -> None:
    clashing = [
        name
        for name, path in FAULTS.items()
        if {line.split()[0] for line in read_fault(path)["expect"]} == {"sites-clash"}
        and "load" not in read_fault(path)
    ]
    assert len(clashing) >= 6
    for name in clashing:
        told = {
            problem.file.split("/")[1].split(".")[0]
            for problem in problems_of(name, repositories / name)
        }
        assert told == {"kyoto-1", "nara-1"}
        for site, other in (("kyoto-1", "nara-1"), ("nara-1", "kyoto-1")):
            root = build(read_fault(FAULTS[name]), tmp_path / name / site)
            for path in (root / "sites").glob(f"{other}.*"):
                path.unlink()
            assert load(root)[site].problems == ()
