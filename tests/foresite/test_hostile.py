"""Each row of the table of hostile inputs is tried, and gets what the page says.

The page is docs/hostile-input.md; the inputs are in tests/kit/hostile_inputs.py. None may end in a
traceback or be read without end.
"""

import importlib
import os
import re
import shutil
from pathlib import Path

import pytest

from foresite.cli import main
from schemas.model.site_file import SiteFile
from schemas.reading.bounded import UnfitFileError, parse_json, read_regular
from schemas.rules.sites import MOST_NAMED, clashes, footprint
from tests.invalid.faults import FOLDER
from tests.kit.hostile_inputs import CASES
from tests.kit.repository import ROOT

PAGE = ROOT / "docs" / "hostile-input.md"
MAX_OUTPUT = 256 * 1024
"""Characters that a command prints of any of these inputs, at most."""


def table(title: str) -> list[list[str]]:
    """The rows of a table of the page, each as its cells without marks of code."""
    part = PAGE.read_text("utf-8").split(f"## {title}\n")[1].split("\n## ")[0]
    lines = [line for line in part.split("\n") if line.startswith("| ")]
    return [[cell.strip().replace("`", "") for cell in line.strip("|").split(" | ")]
            for line in lines[1:]]  # fmt: skip


ROWS = {row[0]: row[1:] for row in table("What each input gets")}


def test_the_page_has_every_case() -> None:
    assert list(ROWS) == list(CASES)


@pytest.mark.parametrize("words", CASES)
def test_a_hostile_input_gets_what_the_page_says(
    words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "a-token")
    shutil.copytree(FOLDER / "base", tmp_path, dirs_exist_ok=True)
    code = main(["--root", str(tmp_path), *CASES[words](tmp_path)])
    shown = "".join(capsys.readouterr())
    exit_code, says = ROWS[words]
    assert code == int(exit_code), shown[-2000:]
    assert says in shown, shown[-2000:]
    assert "Traceback" not in shown and "hunter2" not in shown and "\x1b" not in shown
    assert len(shown) < MAX_OUTPUT


@pytest.mark.parametrize("row", table("Limits"), ids=lambda row: row[0])
def test_a_limit_is_what_the_code_has(row: list[str]) -> None:
    _, limit, constant = row
    module, _, name = constant.rpartition(".")
    value = getattr(importlib.import_module(module), name)
    number = re.match(r"([0-9,]+)(?: (KiB|MiB|s))?", limit)
    assert number, limit
    scale = {"KiB": 2**10, "MiB": 2**20}.get(number[2] or "", 1)
    assert int(number[1].replace(",", "")) * scale == value


def test_a_reader_takes_regular_files_alone(tmp_path: Path) -> None:
    path, pipe = tmp_path / "file", tmp_path / "pipe"
    path.write_bytes(b"12345")
    os.mkfifo(pipe)
    (tmp_path / "link").symlink_to(path)
    assert read_regular(tmp_path / "link", 5) == b"12345"
    for wrong, most in ((path, 4), (pipe, 5), (Path("/dev/zero"), 5)):
        with pytest.raises(UnfitFileError):
            read_regular(wrong, most)
    with pytest.raises(OSError, match="link"):
        read_regular(tmp_path / "link", 5, links=False)
    with pytest.raises(IsADirectoryError):
        read_regular(tmp_path, 5)
    count = len(list(Path("/proc/self/fd").iterdir()))
    with pytest.raises(UnfitFileError):
        read_regular(pipe, 5)
    assert len(list(Path("/proc/self/fd").iterdir())) == count


@pytest.mark.parametrize("text", ["[" * 200_000, '{"a":' * 200_000, "9" * 5_000, "", "\ud800"])
def test_json_that_is_none_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - of each kind its own
        parse_json(text)


def test_every_whole_number_has_bounds() -> None:
    """Arithmetic on them then needs no bound of its own."""
    schema = SiteFile.model_json_schema()
    numbers = {
        f"{name}.{field}": each
        for name, part in {"": schema, **schema["$defs"]}.items()
        for field, node in part.get("properties", {}).items()
        for each in (node, *node.get("anyOf", ()))
        if each.get("type") == "integer"
    }
    assert len(numbers) > 30
    assert [path for path, each in numbers.items() if {"minimum", "maximum"} - each.keys()] == []


def test_sites_that_all_clash_name_a_few_others() -> None:
    """Each hears of it, and what is said grows as the sites do."""
    data = {"zones": [{"network": "10.0.0.0/24"}], "cluster": {"endpoint": "10.0.0.9"}}
    for count in (10, 40):
        marks = [footprint(f"s{n}", f"s{n}.csv", data, []) for n in range(count)]
        found = clashes(marks)
        assert all(found.values())
        assert sum(map(len, found.values())) <= 4 * MOST_NAMED * count


def test_a_network_inside_of_others_clashes_with_them() -> None:
    networks = ("10.0.0.0/8", "10.1.0.0/16", "10.1.2.0/24", "10.2.0.0/16")
    marks = [
        footprint(f"s{n}", f"s{n}.csv", {"zones": [{"network": each}]}, [])
        for n, each in enumerate(networks)
    ]
    told = {
        name: {finding.message.rpartition(" ")[2] for finding in each}
        for name, each in clashes(marks).items()
    }
    assert told == {"s0": {"s1", "s2", "s3"}, "s1": {"s0", "s2"}, "s2": {"s0", "s1"}, "s3": {"s0"}}
