"""Files of nodes that are not what kubectl writes."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from preview.states.nodes import NodesError, read

TOLD = "2026-11-20T01:02:03Z"


def written(folder: Path, *times: Any) -> Path:
    """A node with conditions that were told at these times."""
    conditions = [{"type": "Ready", "status": "True", "lastHeartbeatTime": each} for each in times]
    node = {"kind": "Node", "metadata": {"name": "n"}, "status": {"conditions": conditions}}
    path = folder / "a.json"
    path.write_text(json.dumps({"items": [node]}))
    return path


@pytest.mark.parametrize(
    ("times", "when"), [([None], ""), ([None, TOLD], TOLD), ([[TOLD]], ""), ([], "")]
)
def test_when_conditions_were_told(tmp_path: Path, times: list[Any], when: str) -> None:
    assert read(written(tmp_path, *times)).when == when


def test_a_number_without_end_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(f'{{"items": [{"9" * 5000}]}}')
    with pytest.raises(NodesError, match=r"a\.json:1: .*digits"):
        read(path)


def test_a_pipe_is_refused(tmp_path: Path) -> None:
    """Nobody writes to it, so that whoever opened it would wait for ever."""
    path = tmp_path / "a.json"
    os.mkfifo(path)
    with pytest.raises(NodesError, match="no plain file"):
        read(path)
