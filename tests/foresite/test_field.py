"""Sites as their operators would write them, in a repository of their own: tests/field."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from foresite.cli import main
from tests.kit.repository import FIELD, field_sites


@pytest.fixture(autouse=True)
def day(monkeypatch: pytest.MonkeyPatch) -> None:
    """A day on which what the sites allow has not ended."""
    monkeypatch.setenv(
        "SOURCE_DATE_EPOCH", str(int(datetime(2026, 11, 24, tzinfo=UTC).timestamp()))
    )


def test_they_have_no_problem(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--root", str(FIELD), "check"]) == 0, capsys.readouterr().out
    assert f"{len(field_sites())} sites checked: no problem" in capsys.readouterr().out


@pytest.mark.parametrize("name", sorted(field_sites()))
def test_they_are_rendered(name: str, tmp_path: Path) -> None:
    assert main(["--root", str(FIELD), "render", name, "--out", str(tmp_path)]) == 0
    assert any((tmp_path / name).rglob("*.yaml"))
