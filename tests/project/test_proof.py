"""Long proofs in shares: each has its turn, and the summary says whose it was."""

import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.kit.preview_repository import Folder
from tests.kit.proof import (
    FEWER,
    FORGOTTEN,
    LANES,
    PARTS,
    RECORD,
    draw_fewer_examples,
    is_due,
    landings,
    lane,
)
from tests.kit.proof_shares import LIMIT, LONG, SHARES, Turn, find_row, loads, take_over, turns
from tests.kit.repository import ROOT
from tests.measure import proof as times

TESTS = """
import pytest

@pytest.mark.proof
@pytest.mark.parametrize("number", range(20))
def test_one_of_all(number): pass

def test_always(): pass
"""


def test_every_proof_is_run_once_in_its_number_of_landings() -> None:
    for share in range(SHARES):
        assert sum(is_due("share", landing, share) for landing in range(SHARES)) == 1
        assert is_due("all", 7, share) and not is_due("none", 7, share)


@pytest.mark.parametrize("share", [-1, SHARES])
def test_a_proof_that_would_wait_for_ever_is_refused(share: int) -> None:
    with pytest.raises(pytest.UsageError, match="proof"):
        is_due("share", 0, share)


def test_landings_are_those_recorded_and_ten_commits_that_nobody_recorded(tmp_path: Path) -> None:
    record = tmp_path / RECORD
    record.parent.mkdir(parents=True)
    record.write_text("{}\n{}\n")
    assert landings(tmp_path) == 2, "without Git"
    repository = Folder(tmp_path)
    repository.commit()
    assert landings(tmp_path) == 2
    for _ in range(FORGOTTEN):
        repository.commit()
    assert landings(tmp_path) == 3


def test_a_property_draws_fewer_examples_where_not_all_are_run() -> None:
    drawn = []

    @settings(max_examples=40, database=None)
    @given(st.integers())
    def every_time(number: int) -> None:
        drawn.append(number)

    draw_fewer_examples([every_time, every_time, None])
    every_time()
    assert len(drawn) == 40 // FEWER


def test_a_part_of_the_cases_is_another_in_each_landing(
    part_of: Callable[[Sequence[int], int], Sequence[int]], pytestconfig: pytest.Config
) -> None:
    whole = pytestconfig.getoption("--proof") == "all"
    assert list(part_of(range(10), 5)) in (
        [[*range(10)]] if whole else [[n, n + 5] for n in range(5)]
    )


def test_no_landing_gets_more_than_its_limit_of_long_proofs() -> None:
    assert max(loads(turns())) <= LIMIT
    assert {name for name, turn in turns().items() if not 0 <= turn.share < SHARES} == set()


def test_every_row_of_the_shares_is_a_test_that_is_there() -> None:
    """One that has another name now would be dealt with the short ones."""
    for name in turns():
        file, _, test = name.partition("::")
        text = (ROOT / file).read_text("utf-8")
        assert "mark.proof" in text
        assert not test or f"def {test.partition('[')[0]}(" in text, name


def test_a_test_has_the_row_of_its_case_its_function_or_its_file() -> None:
    rows = ["a.py", "b.py::test_b", "b.py::test_b[2]"]
    names = ["a.py::test_a[1]", "b.py::test_b[1]", "b.py::test_b[2]", "b.py::test_c"]
    assert [find_row(name, rows) for name in names] == [*rows, None]


def test_proofs_keep_their_share_until_it_is_too_long() -> None:
    rows = {"a": Turn(0, 100), "b": Turn(0, 400), "c": Turn(1, 300)}
    assert take_over(rows, [("c", 20.4)]) == {**rows, "c": Turn(1, 20)}
    assert take_over(rows, [("b[1]", LIMIT - 90), ("b[2]", 40)]) == {
        **rows, "a": Turn(2, 100), "b": Turn(0, LIMIT - 50)
    }  # fmt: skip
    assert take_over(rows, [("d", LONG), ("e", LONG - 1)]) == {**rows, "d": Turn(2, LONG)}
    alone = {"a": Turn(0, LIMIT + 100)}
    assert take_over(alone, []) == alone


def run(folder: Path, *arguments: str) -> str:
    (folder / "test_long.py").write_text(TESTS)
    (folder / "pytest.ini").write_text("[pytest]\nmarkers =\n proof\naddopts = -rs\n")
    command = [sys.executable, "-m", "pytest", "-p", "xdist", "-p", "tests.kit.proof"]
    more = ["--rootdir", str(folder), "-c", str(folder / "pytest.ini"), str(folder), *arguments]
    environment = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # they take long to load
    return subprocess.run(
        [*command, *more], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    ).stdout


@pytest.mark.parametrize("workers", [[], ["-n", "2", "--dist", "loadfile"]], ids=["one", "two"])
def test_what_ran_and_what_did_not_is_said_and_timed(tmp_path: Path, workers: list[str]) -> None:
    results = tmp_path / "real.xml"
    said = run(tmp_path, "--proof=share", f"--junitxml={results}", *workers)
    assert "2 passed, 19 skipped" in said
    assert re.search(r"^run: test_long.py::test_one_of_all, 1$", said, re.MULTILINE)
    assert re.search(r"^left to other.*: test_long.py::test_one_of_all, 19$", said, re.MULTILINE)
    part = times.read(results)
    assert sorted(case.command for case in part.cases) == ["fast", *SHARES * ["proof"]]
    lines = list(times.summary_lines([part]))
    assert sum("test_long.py::" in line for line in lines) == times.SLOWEST
    assert "real: 2 tests run, 19 skipped" in lines[-2] and "in all" in lines[-1]


def test_every_lane_has_files_that_share() -> None:
    found = Counter(lane(path) for path in (ROOT / "tests").rglob("test_*.py"))
    assert {name: found[name] for name in LANES if found[name] < 2} == {}


def test_make_real_has_every_file_with_a_long_proof() -> None:
    """A file that it does not name would wait for its turn for ever: make fast runs no proof."""
    command = ["make", "--silent", "--eval", "files: ; @echo $(REAL_FILES)", "files"]
    named = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    marked = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "tests").rglob("test_*.py")
        if re.search(r"mark\.proof\b", path.read_text("utf-8"))
    }
    assert marked - set(named.split()) == set()


def test_the_parts_are_those_of_the_makefile() -> None:
    (real,) = re.findall(r"^REAL := (.*)$", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    assert set(real.split(" or ")) == set(PARTS)
