"""Every benchmark of bench/ runs to its end on its smallest input. Its figures mean nothing here.

The rivals of Foresite are Go programs, which test_bench.py runs where they are built. Here a
stand-in that prints its arguments takes their place.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bench import engine, engines, fleet, offline, preview, runs, scheduling, stacks
from bench.clock import Run
from components.making.dump import dump_all
from tests.kit.repository import ROOT, all_sites
from tests.kit.trial import manifests_of
from tests.kit.twin.world import World

STAND_IN = '#!/bin/sh\necho "$@"\n'


@pytest.fixture(autouse=True)
def out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where figures go; modules stay compiled, which a benchmark does anew for itself."""
    folder = tmp_path / "out"
    for module in (engine, engines, offline, preview, scheduling, stacks):
        monkeypatch.setattr(module, "OUT", folder)
    for module in (engines, offline, preview):
        monkeypatch.setattr(module, "environment", lambda _scratch: dict(os.environ))
    return folder


def stand_ins(folder: Path) -> dict[str, Path]:
    paths = {rival.name: folder / rival.name for rival in runs.RIVALS}
    for path in paths.values():
        path.write_text(STAND_IN, encoding="utf-8")
        path.chmod(0o755)
    return paths


def test_offline(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "built_tools", dict)
    assert offline.main(["--sizes", f"1x{fleet.SMALLEST}", "--rounds", "0"]) == 0
    (found,) = json.loads((out / "offline.json").read_text("utf-8"))["sizes"]
    assert found["tools"].keys() == {"json alone", "foresite check", "foresite render"}


def test_offline_beside_rivals(tmp_path: Path, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    there = stand_ins(tmp_path)
    monkeypatch.setattr(runs, "built_tools", lambda: there)
    one = Run("foresite render", "", [["true"]], [tmp_path / "none"])  # test_offline runs ours
    monkeypatch.setattr(runs, "ours", lambda *_: [one])
    size = f"2x{fleet.SMALLEST}"
    assert offline.main(["--sizes", size, "--rounds", "0", "--no-compare"]) == 0
    table = (out / "offline.md").read_text("utf-8")
    assert all(f"\n| {name} | " in table for name in there)


def test_engines(out: Path) -> None:
    assert engines.main(["--sites", "2", "--hosts", str(fleet.SMALLEST)]) == 0
    found = json.loads((out / "engines.json").read_text("utf-8"))
    assert found["edges"] == 12 and found["bytes of one artifact, packed"] > 0


def test_preview(tmp_path: Path, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    there = stand_ins(tmp_path)
    monkeypatch.setattr(runs, "built_tools", lambda: there)
    sizes = ["--sizes", "1", "--hosts", str(fleet.SMALLEST), "--rounds", "1"]
    assert preview.main(sizes) == 0
    changes = json.loads((out / "preview.json").read_text("utf-8"))["changes"]
    assert [each["change"] for each in changes] == [each.name for each in preview.CHANGES]
    assert all(len(each["tools"]) == 1 + len(preview.RIVALS) for each in changes)


MOCKED = """
import json, os, runpy, sys
import pulumi

class Mocks(pulumi.runtime.Mocks):
    def new_resource(self, args):
        os.write(1, (json.dumps([args.typ, args.inputs]) + "\\n").encode())
        return args.name, args.inputs

    def call(self, args):
        return {}

pulumi.runtime.set_mocks(Mocks())
pulumi.runtime.test(lambda: runpy.run_path(sys.argv[1]) and None)()
"""


def test_the_plain_program_registers_what_foresite_does(tmp_path: Path) -> None:
    """As far as Python goes; test_engine below asks the real engine."""
    manifests = manifests_of(all_sites()["tsukuba-1"])
    bodies = [each.body for each in manifests]
    (tmp_path / "all.yaml").write_text(dump_all(bodies), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", MOCKED, ROOT / "bench" / "plain" / "__main__.py"],
        env=os.environ | {"PLAIN_MANIFESTS": str(tmp_path)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert sorted(plain(kind, body) for kind, body in found) == sorted(
        plain(token(body), body) for body in bodies
    )


def plain(kind: str, body: dict[str, Any]) -> str:
    """A Pulumi type and its object in one form: the mocks make every number a float."""
    return json.dumps([kind, json.loads(json.dumps(body), parse_int=float)], sort_keys=True)


def token(body: dict[str, Any]) -> str:
    api = body["apiVersion"]
    return f"kubernetes:{api if '/' in api else f'core/{api}'}:{body['kind']}"


@pytest.mark.proof
@pytest.mark.pulumi
@pytest.mark.controlplane
@pytest.mark.slow
def test_engine(out: Path) -> None:
    assert engine.main(["lab-1"]) == 0
    figures = json.loads((out / "engine.json").read_text("utf-8"))
    assert figures["seconds"].keys() == {engine.FORESITE, engine.BARE, engine.APPLY}
    assert "recovered by the next up: yes" in figures["killed"]


@pytest.mark.proof
@pytest.mark.pulumi
def test_stacks(out: Path) -> None:
    assert stacks.main(["--sites", "2", "--hosts", str(fleet.SMALLEST)]) == 0
    (found,) = json.loads((out / "stacks.json").read_text("utf-8"))["sizes"]
    assert found["sites"] == 2 and found[stacks.PLAN]["cpu"] > found[stacks.LIST]["cpu"]


@pytest.mark.proof
@pytest.mark.scheduling
def test_scheduling(out: Path, world: World) -> None:
    scheduling.write(scheduling.compare(world, (4,), 1))
    assert json.loads((out / "scheduling.json").read_text("utf-8")).keys() == {
        "machine",
        *scheduling.SCHEDULERS,
    }
