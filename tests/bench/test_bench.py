"""The benchmark compares like with like: every tool makes the objects that Foresite makes."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from bench import fleet, inputs, runs
from bench.clock import Run, Times, environment, measure
from bench.inputs import objects_of
from bench.same import differences, read
from components.making.manifest import Json
from schemas.facts.site import Site
from schemas.load import load

pytestmark = pytest.mark.go  # the rivals are Go programs
SECONDS = 120.0


@pytest.fixture(scope="module")
def sites(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Site]]:
    """A fleet of two small sites, with the inputs of all tools beside it."""
    folder = tmp_path_factory.mktemp("bench")
    fleet.make(folder / "fleet", 2, fleet.SMALLEST)
    loaded = load(folder / "fleet")
    problems = [str(problem) for each in loaded.values() for problem in each.problems]
    assert problems == []
    found = [each.site for each in loaded.values() if each.site is not None]
    inputs.write(folder / "inputs", folder / "fleet", found)
    (folder / "out").mkdir()
    return folder, found


def do(run: Run, folder: Path) -> None:
    times = Times()
    assert measure(run, environment(folder / "scratch"), SECONDS, times)
    assert times.best > 0


def read_all(paths: Iterable[Path]) -> list[Json]:
    return [body for path in paths for body in read(path)]


@pytest.mark.parametrize("name", [rival.name for rival in runs.RIVALS])
def test_a_rival_makes_the_same_objects_in_each_form(
    sites: tuple[Path, list[Site]], name: str
) -> None:
    folder, found = sites
    tool = runs.built_tools().get(name)
    if tool is None:
        pytest.skip(f"{name} is not built: python -m tools.toolchain ensure rivals")
    wanted = [body for site in found for body in objects_of(site)]
    names = [site.name for site in found]
    (forms,) = runs.rivals({name: tool}, folder / "inputs", folder / "out", names)
    assert len(forms) == (2 if name == "kustomize" else 3)
    for run in forms:
        do(run, folder)
        assert differences(wanted, read_all(run.objects)) == []


def test_foresite_and_json_alone_write_the_same_objects(sites: tuple[Path, list[Site]]) -> None:
    folder, found = sites
    wanted = [body for site in found for body in objects_of(site)]
    out = folder / "out"
    for run in runs.ours(folder / "fleet", folder / "inputs", out):
        do(run, folder)
    assert differences(wanted, read_all((out / "json").glob("*.json"))) == []
    assert differences(wanted, read_all((out / "rendered").rglob("*.yaml"))) == []


def test_a_difference_is_seen() -> None:
    one: Json = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {}}
    other = {**one, "metadata": {"name": "b"}}
    assert differences([one], [{**one, "data": {"x": "y"}}]) == ["different: v1 ConfigMap  a"]
    assert differences([one], [one, one, other]) == [
        "twice: v1 ConfigMap  a",
        "too much: v1 ConfigMap  b",
    ]
    assert differences([one], []) == ["missing: v1 ConfigMap  a"]
