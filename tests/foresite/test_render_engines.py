"""``foresite render --for``: a whole fleet with an engine's objects, or nothing."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from components.engines import ENGINES
from components.making.manifest import Json
from foresite.cli import main
from foresite.command import FAILED, FOUND, OK
from foresite.commands import render
from schemas.model.adopted import Adopted
from schemas.reading.fleet_file import read_fleet
from schemas.reading.regions import region_problems
from schemas.reading.tree import Tree
from schemas.rules.engines import FLUX_NAMESPACE, engine_problems
from schemas.site_parts import load_stack
from tests.foresite.test_render import tree
from tests.kit.management import put, vendor
from tests.kit.repository import FLEET, without_examples

FILE = """\
rings: {soak_minutes: 0}
manifests:
  repository: https://git.example/fleet-manifests.git
  path: rendered
  tag: fleet-1
"""
CLUSTERS = ("mgmt-jp-east", "mgmt-lab")


def repository(root: Path, fleet: str = FILE) -> Path:
    """Two sites, each on a management cluster of its own, with no value of an example."""
    for folder in ("sites", "regions"):
        shutil.copytree(FLEET / folder, root / folder)
    for path in (*root.glob("sites/*.*"), *root.glob("regions/*")):
        if path.name.startswith(("tokyo", "sapporo", "jp-north")):
            path.unlink()
        else:
            path.write_text(without_examples(path.read_text()))
    for name in CLUSTERS:
        put(root, name, manifests=vendor(root))
    (root / "fleet.yaml").write_text(fleet)
    return root


def rendered(root: Path, out: Path, *arguments: str, engine: str = "flux") -> int:
    return main(["--root", str(root), "render", "--for", engine, "--out", str(out), *arguments])


@pytest.fixture(scope="module", params=sorted(ENGINES))
def made(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, Path]:
    """An engine's name, and a fleet rendered for it."""
    folder = tmp_path_factory.mktemp(request.param)
    assert rendered(repository(folder / "in"), folder / "rendered", engine=request.param) == OK
    return request.param, folder / "rendered"


def test_all_folders_are_as_without_an_engine_and_the_engines_is_beside_them(
    made: tuple[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    engine, out = made
    root = out.parent / "in"
    for arguments in ((), *(("--management", name) for name in CLUSTERS)):
        assert main(["--root", str(root), "render", "--out", str(tmp_path), *arguments]) == OK
    found = tree(out)
    mine = {path: data for path, data in found.items() if path.startswith(f"{engine}/")}
    assert {path: data for path, data in found.items() if path not in mine} == tree(tmp_path)
    index = json.loads(mine[f"{engine}/{render.INDEX}"])
    assert index["engine"] == engine
    listed = {f"{engine}/{path}" for path in index["files"]} | {f"{engine}/{render.INDEX}"}
    assert listed == mine.keys()
    assert rendered(root, out, engine=engine) == OK
    said = capsys.readouterr().out
    assert (": 1 object\n" in said) == (engine == "flux") and ": 1 objects" not in said
    assert tree(out) == found


def test_what_flux_is_given_is_there(made: tuple[str, Path]) -> None:
    """Each path is a folder with manifests, and each health check an object of it."""
    engine, out = made
    if engine != "flux":
        return
    folder, checked = out.parent, set()
    for path in (out / "flux").glob("*/fleet/**/*.yaml"):
        for body in yaml.safe_load_all(path.read_text()):
            if body["kind"] != "Kustomization":
                continue
            below = [*(folder / body["spec"]["path"]).rglob("*.yaml")]
            assert below and not any(each.name == "kustomization.yaml" for each in below)
            texts = [each.read_text() for each in below]
            there = {key(e) for text in texts for e in yaml.load_all(text, yaml.CSafeLoader)}
            for check in body["spec"].get("healthChecks", ()):
                assert key({**check, "metadata": check}) in there
                checked.add(check["kind"])
    machines = {"Cluster", "KubeadmControlPlane", "MachineDeployment"}
    assert checked >= machines | {"CoreProvider", "Ironic", "Deployment"}


def key(body: Json) -> tuple[str, ...]:
    name = body["metadata"]
    return body["apiVersion"], body["kind"], name.get("namespace", ""), name["name"]


REPOSITORY, LAB = "repository: https://git.example/fleet-manifests.git", "sites/lab-1.yaml"
REFUSED = {
    ("fleet.yaml", FILE, "rings: {}\n"): "fleet.yaml:1:1: missing-field",
    ("fleet.yaml", FILE, None): "fleet.yaml: missing-field",
    ("fleet.yaml", "git.example", "u:hunter2@git.example"): "fleet.yaml:3:",
    ("fleet.yaml", "git.example", "git.example:99999"): "fleet.yaml:3:15: invalid-value",
    ("fleet.yaml", "example/", "example/../"): "fleet.yaml:3:15: invalid-value",
    ("fleet.yaml", "example/", "example/./"): "fleet.yaml:3:15: invalid-value",
    ("fleet.yaml", ": rendered", ": ../rendered"): "fleet.yaml:4:9: invalid-value",
    ("fleet.yaml", REPOSITORY, "repository: ssh://git@a/x"): "fleet.yaml:3:15: missing-field",
    ("fleet.yaml", "path: rendered", "namespace: other"): "fleet.yaml:4:3: unknown-field",
    (LAB, "management: mgmt-lab", "management: a/b"): f"{LAB}:5:13: invalid-value",
    ("fleet.yaml", "  tag: fleet-1\n", ""): "fleet.yaml:3:3: missing-field",
    ("fleet.yaml", "fleet-1", "main"): "fleet.yaml:5:8: invalid-value",
    ("fleet.yaml", "fleet-1", "latest"): "fleet.yaml:5:8: invalid-value",
    ("fleet.yaml", "tag: fleet-1", "branch: v26.1\n  tag: v26.1"): "fleet.yaml:6:8: invalid-value",
    ("fleet.yaml", "fleet-1", "fleet 1"): "fleet.yaml:5:8: invalid-value",
    ("fleet.yaml", "fleet-1", "fleet..1"): "fleet.yaml:5:8: invalid-value",
    ("fleet.yaml", "fleet-1", "refs/tags/fleet-1"): "fleet.yaml:5:8: invalid-value",
    ("fleet.yaml", "tag: fleet-1", "branch: a.lock"): "fleet.yaml:5:11: invalid-value",
}


def test_sites_and_management_clusters_are_counted_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = repository(tmp_path / "in", "rings: {}\n")
    assert rendered(root, tmp_path / "out") == FOUND
    assert "2 sites and 2 management clusters checked: 1 problem" in capsys.readouterr().out
    (root / "management" / "mgmt-lab.yaml").write_text("{}\n")
    arguments = ["render", "--management", "mgmt-lab", "--out", str(tmp_path / "out")]
    assert main(["--root", str(root), *arguments]) == FOUND
    assert "\n1 management cluster checked: " in capsys.readouterr().out


@pytest.mark.parametrize("edit", REFUSED, ids=str)
def test_a_fleet_that_does_not_fit_an_engine_is_refused(
    edit: tuple[str, str, str | None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, was, now = edit
    root = repository(tmp_path / "in")
    shutil.rmtree(root / "management")
    text = (root / path).read_text()
    assert was in text
    if now is None:
        (root / path).unlink()
    else:
        (root / path).write_text(text.replace(was, now))
    engine = "argocd" if "fleet-1" in was else "flux"
    assert rendered(root, tmp_path / "out", engine=engine) == FOUND
    shown = capsys.readouterr().out
    assert REFUSED[edit] in shown and "hunter2" not in shown
    assert not (tmp_path / "out").exists()


def test_a_folder_of_manifests_is_none_below_sites() -> None:
    tree = Tree({"fleet.yaml": b"manifests: {repository: https://a/b, path: ../c}\n"})
    (problem,) = read_fleet(tree)[-1]
    assert problem.line == 1 and "such as rendered" in problem.fix and "sites/" not in problem.fix


def test_a_file_of_another_ending_is_not_passed_over(tmp_path: Path) -> None:
    """A soak of ten hours would silently be the default of half an hour."""
    assert region_problems(tmp_path) == []
    (tmp_path / "fleet.yml").write_text("rings: {soak_minutes: 600}\n")
    (unread,) = region_problems(tmp_path)
    assert unread.file == "fleet.yml" and "fleet.yaml" in unread.fix


@pytest.mark.parametrize("name", ["flux", "kustomization", FLUX_NAMESPACE])
def test_a_site_with_a_name_that_an_engine_takes_is_refused_for_that_engine(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = repository(tmp_path / "in")
    for path in sorted((root / "sites").glob("lab-1.*")):
        path.write_text(path.read_text().replace("lab-1", name))
        path.rename(path.with_name(path.name.replace("lab-1", name)))
    assert rendered(root, tmp_path / "out") == FOUND
    assert f"sites/{name}.yaml:2:7: reserved-name" in capsys.readouterr().out


@pytest.mark.parametrize(("management", "found"), [("mgmt-lab", 1), ("mgmt-other", 0)])
def test_two_sites_in_one_namespace_of_a_management_cluster_are_refused(
    management: str, found: int, tmp_path: Path
) -> None:
    """An adopted one may be in a namespace that has the name of another."""
    root = repository(tmp_path)
    loaded = [load_stack(root, name) for name in ("lab-1", "tsukuba-1")]
    (first, document), (site, other) = ((e.site, e.document) for e in loaded)
    assert first and document and site and other
    names = Adopted(objects="x", namespace="lab-1", cluster="x", control_plane="x")
    file = site.file.model_copy(update={"management": management, "adopted": names})
    pairs = [(first, document), (replace(site, file=file), other)]
    fleet, where, _ = read_fleet(root)
    problems = [*engine_problems("argocd", fleet.manifests, where, pairs)]
    assert [e.code for e in problems] == ["sites-clash"] * found
    assert all("lab-1 is in the namespace lab-1" in e.message for e in problems)


@pytest.mark.parametrize("more", [("lab-1",), ("--management", "mgmt-lab")])
def test_a_part_of_a_fleet_is_refused(
    more: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert rendered(FLEET, tmp_path / "out", *more) == FAILED
    assert "whole fleet" in capsys.readouterr().err


def test_files_of_others_anywhere_keep_all_folders_as_they_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root, out = repository(tmp_path / "in"), tmp_path / "out"
    (out / "flux").mkdir(parents=True)
    (out / "flux" / "mine.yaml").write_text("mine")
    assert rendered(root, out) == FAILED
    assert "render wrote" in capsys.readouterr().err
    assert tree(out).keys() == {"flux/mine.yaml"}


def test_the_index_of_a_large_fleet_is_read_again(tmp_path: Path) -> None:
    """Three files for each of 10,000 sites."""
    names = (f"projects/cluster.{'s' * 40}-{number}.yaml" for number in range(30_000))
    files = {name: {"objects": 1, "sha256": "0" * 64} for name in names}
    index = tmp_path / render.INDEX
    index.write_text(json.dumps({"engine": "argocd", "files": files}, indent=2))
    render._put(render._own_folder(tmp_path), {"one.yaml": "", render.INDEX: index.read_text()})
    assert (tmp_path / "one.yaml").exists()


def test_the_report_says_what_an_engine_does_not_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = repository(tmp_path / "in")
    file = root / "sites" / "lab-1.yaml"
    more = """
policies: {advisory: [image-digest]}
maintenance:
  time_zone: Asia/Tokyo
  freezes: [{first_day: "2026-12-24", last_day: "2027-01-03", reason: nobody is at work}]
"""
    url = "monitoring:\n  prometheus_url: https://prometheus.example\n"
    file.write_text(file.read_text().replace("monitoring:\n", url) + more)
    assert rendered(root, tmp_path / "out", "--format", "json") == OK
    report = json.loads(capsys.readouterr().out)
    _, lax, windows, alerts, apart, _ = report["advice"]
    assert lax.startswith("admission policies only warn at 1 of the sites: lab-1 (")
    assert "maintenance" in windows and windows.endswith(": lab-1")
    assert "prometheus_url" in alerts and alerts.endswith(": lab-1")
    assert apart.endswith("mgmt-jp-east (1), mgmt-lab (0)")
    assert report["engine"] == "flux"
