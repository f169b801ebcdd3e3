"""The list of repairs: what a host's note says, whatever is in it."""

import csv

import pytest

from components.remediation.names import HISTORY_ANNOTATION
from foresite.cli import main
from foresite.commands import repairs
from tests.kit.repository import FLEET

NOW = 1_800_000_000
GOOD = f"{NOW},reset-reboot,disk-full,0000:3b:00,a"


def host(note: str) -> dict[str, object]:
    return {"metadata": {"name": "h1", "annotations": {HISTORY_ANNOTATION: note}}}


@pytest.mark.parametrize(
    "odd",
    [
        "9" * 5000 + ",reboot,f,d",
        "٣" * 10 + ",reboot,f,d",
        f"{NOW}",
        f"{NOW},x",
        "",
        "-1,a,b,c",
        "0" * 9 + ",reboot,f,d",
    ],
)
def test_odd_entries_are_none(odd: str) -> None:
    (row, device) = repairs.rows(host(f"S;{odd};{GOOD}"), NOW)
    assert (row["repairs"], device["device"]) == (1, "0000:3b:00")
    assert not list(repairs.rows(host(f"S;{odd}"), NOW))


def test_a_note_makes_no_lines_and_no_formulas(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    note = f'=HYPERLINK(1)\nSN2 (h2): 9 repairs;{NOW},reboot,@x\n=1,+2"\r'
    monkeypatch.setattr(repairs, "metal3_objects", lambda *_: [host(note)])
    monkeypatch.setattr("time.time", lambda: NOW)
    for form, lines in (("text", 2), ("csv", 3)):
        assert main(["--root", str(FLEET), "repairs", "tokyo-1", "--format", form]) == 0
        shown = capsys.readouterr().out
        assert len(shown.splitlines()) == lines and not set(shown) & set('=@+"\r')
    (first, _) = csv.DictReader(shown.splitlines())
    assert first["serial"].startswith("HYPERLINK1SN2")
