"""Every measurement of tests/measure that writes a page runs to its end on its smallest input.

Where the whole of an input is a constant, it is cut down here. The figures mean nothing.
"""

import json
import shutil
from pathlib import Path
from types import ModuleType

import pytest

from tests.invalid.faults import fault_files
from tests.kit.repository import ROOT
from tests.measure import mutations, promises

STUDIES = (mutations, promises)


@pytest.fixture(autouse=True)
def pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Copies of the pages that figures are written into."""
    for study in STUDIES:
        monkeypatch.setattr(study, "PAGE", Path(shutil.copy(page(study), tmp_path)))


def page(study: ModuleType) -> Path:
    found = study.PAGE
    assert isinstance(found, Path)
    return found


def test_every_study_is_here() -> None:
    files = (ROOT / "tests" / "measure").glob("*.py")
    writers = {f.stem for f in files if "PAGE.write_text" in f.read_text("utf-8")}
    # What proof writes is tested where its turns are (tests/project/test_proof.py).
    assert {f"tests.measure.{name}" for name in writers - {"proof"}} == {
        each.__name__ for each in STUDIES
    }


MUTANT = """
def x_rule__mutmut_orig(a):
    return a > 1

def x_rule__mutmut_1(a):
    return a > 2
"""


def test_mutations(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a stand-in for mutmut, which takes minutes: one mutation, which nobody notices."""

    def stand_in(clone: Path, *_names: str, seconds: float | None = None) -> None:
        file = clone / "mutants" / "policies" / "rule.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(MUTANT, encoding="utf-8")
        codes = {"exit_code_by_key": {"policies.rule.x_rule__mutmut_1": 0}}
        file.with_suffix(".py.meta").write_text(json.dumps(codes), encoding="utf-8")

    monkeypatch.setattr(mutations, "_mutmut", stand_in)
    assert mutations.main(["--one-in", "1"]) == 0
    text = page(mutations).read_text("utf-8")
    assert "1 of 1 mutations tried, 0 noticed" in text
    assert "`return a > 1` became `return a > 2`" in text


def test_promises(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of results without any test, so that nothing is proved."""
    some = fault_files()[:2]
    monkeypatch.setattr(promises, "fault_files", lambda: some)
    results = tmp_path / "results.xml"
    results.write_text("<testsuites/>", encoding="utf-8")
    assert promises.main(["--results", str(results)]) == 1
    text = page(promises).read_text("utf-8")
    assert text.count("**not proved**") == len(promises.promises())
    assert "| 2 files, median " in text
