"""All site files are gone: what ``foresite apply`` says of the stacks that are left."""

import json
import os
from pathlib import Path

import pytest

from foresite.cli import main
from foresite.command import FOUND, OK
from foresite.commands import apply
from foresite.delivery.stack.engine import Engine
from tests.kit.preview_repository import Repository

_FAKE_PULUMI = """#!/bin/sh
# A fake Pulumi, which has the stacks of a file.
[ "$*" = "stack ls --json" ] && exec cat {stacks}
"""


@pytest.mark.parametrize(
    ("listed", "gone", "code"),
    [
        ([{"name": "organization/foresite/lab-1", "resourceCount": 20}], ["lab-1"], FOUND),
        ([{"name": "lab-1", "resourceCount": 0}], [], OK),
        ("no list", None, FOUND),
    ],
)
def test_where_no_site_has_a_file_the_backend_is_asked_all_the_same(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    listed: object,
    gone: object,
    code: int,
) -> None:
    root = tmp_path / "repository"
    repository = Repository(root)
    for path in (root / "sites").glob("*.*"):
        path.unlink()
    repository.commit("all sites are gone")
    pulumi, stacks = tmp_path / "pulumi", tmp_path / "stacks"
    pulumi.write_text(_FAKE_PULUMI.format(stacks=stacks))
    pulumi.chmod(0o755)
    stacks.write_text(json.dumps(listed))
    engine = Engine(pulumi, {"PATH": os.environ["PATH"]}, tmp_path, "", tmp_path / "notes")
    monkeypatch.setattr(apply, "engine_for", lambda *_, **__: engine)
    assert main(["--root", str(root), "apply", "--plan", "--format", "json"]) == code
    assert json.loads(capsys.readouterr().out)["without_file"] == gone
    assert main(["--root", str(root), "apply"]) == code
    assert ("stacks without a site file: not known" in capsys.readouterr().out) == (gone is None)
