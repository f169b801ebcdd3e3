"""Problems of Foresite's own objects: each points at the field that it comes from, and its fix says
what to write there."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from components.making import validation
from components.making.manifest import Json, Spot
from foresite import origin
from foresite.cli import main
from foresite.command import FOUND
from foresite.origin import Origins
from schemas.facts.site import Site
from schemas.kubernetes.objects import Fault
from schemas.load import Loaded, load_site
from tests.kit.repository import copy_sites

SITE = "tokyo-1"
CASES: dict[tuple[str, str], tuple[str, str]] = {
    # Object and field: what stands at the place, and the field that the fix names.
    ("Deployment gang-scheduler", "spec.template.spec.containers[0].image"): (
        "registry.example/scheduler/gang-throttler",
        "value comes from scheduling.backends.gang-scheduler.scheduler.image",
    ),
    ("Deployment gang-scheduler", "spec.replicas"): (
        "image: registry.example/scheduler/gang-throttler",
        "value comes from scheduling.backends.gang-scheduler.scheduler.replicas (default)",
    ),
    ("MachineDeployment v100", "spec.rollout.strategy.rollingUpdate.maxUnavailable"): (
        "4, max_surge",
        "value comes from pools.v100.rollout.max_unavailable",
    ),
    ("MachineDeployment h100", "spec.replicas"): ("h100", "object is there for pools.h100.name"),
    ("BareMetalHost tokyo-1-a-007", "spec.bmc.address"): (
        "",
        "value comes from hosts.tokyo-1-a-007.bmc",
    ),
    ("BareMetalHost tokyo-1-a-007", "metadata.labels.owner"): (
        "tokyo-1-a-007",
        "object is there for hosts.tokyo-1-a-007.name",
    ),
    ("PriorityClass project", "value"): (
        "10000",
        "value comes from scheduling.priorities.project.value",
    ),
    ("Namespace language", "metadata.labels.owner"): (
        "language",
        "object is there for scheduling.teams.language.namespaces[0]",
    ),
    ("DaemonSet cache-server-control", "spec.template.spec.volumes"): (
        "/srv/nvme/cache",
        "value comes from cache.data_path",
    ),
    ("PrometheusRule foresite-inventory", "spec.groups[0].rules[0].expr"): (
        "labels: {prometheus: site}",
        "value comes from monitoring.scraped.kube_state_metrics (default)",
    ),
    ("Metal3Cluster tokyo-1", "spec.controlPlaneEndpoint.host"): (
        "10.16.0.10",
        "value comes from cluster.endpoint",
    ),
    ("Cluster tokyo-1", "spec.clusterNetwork.pods.cidrBlocks[0]"): (
        "10.64.0.0/12",
        "value comes from cluster.pods",
    ),
    ("MachineHealthCheck v100", "spec"): ("v100", "object is there for pools.v100.name"),
    ("NetworkPolicy gang-scheduler", "spec.egress"): (
        "gang-scheduler",
        "object is there for scheduling.backends.gang-scheduler.name",
    ),
    ("Cluster tokyo-1", "spec.paused"): (
        "",
        "report it as a fault of Foresite, or except the object in policies.exceptions",
    ),
}
RULES = """\
import json

from policies import Found, ObjectRule, Severity

CASES = json.loads(%r)


def _check(each):
    for title, path in CASES:
        if f"{each.kind} {each.name}" == title:
            yield Found(path, "not so", "write it otherwise")


RULES = [ObjectRule("house", Severity.MANDATORY, "what", "why", "source", _check)]
"""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with tokyo-1, whose own rule refuses the fields of the cases."""
    folder = tmp_path_factory.mktemp("origins")
    others = shutil.ignore_patterns("lab*", "tsukuba*")
    copy_sites(folder, ignore=others)
    (folder / "sites" / "own.py").write_text(RULES % json.dumps(list(CASES)))
    with (folder / "sites" / f"{SITE}.yaml").open("a") as file:
        file.write("\npolicies:\n  python: [own.py]\n")
    return folder


@pytest.fixture(scope="module")
def loaded(root: Path) -> Loaded:
    return load_site(root, SITE)


def problems(root: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[dict[str, Any]]:
    assert main(["--root", str(root), "check", SITE, "--format", "json"]) == FOUND
    yield from json.loads(capsys.readouterr().out)["problems"]


def text_at(root: Path, problem: dict[str, Any]) -> str:
    """What stands at the place of a problem; nothing for a file as a whole."""
    line, column = int(problem["line"]), int(problem["column"])
    lines = (root / str(problem["file"])).read_text("utf-8").splitlines()
    return lines[line - 1][column - 1 :]


def test_a_problem_points_at_the_field_that_it_comes_from(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = list(problems(root, capsys))
    assert len(found) == len(CASES)
    for (title, path), (text, fix) in CASES.items():
        kind, name = title.split()
        (each,) = [
            problem
            for problem in found
            if problem["path"].endswith(f".{path}")
            and problem["message"].startswith(f"{kind} ")
            and f"{name} breaks" in problem["message"]
        ]
        assert each["fix"].startswith("write it otherwise; "), title
        assert each["fix"].endswith(fix), (title, each["fix"])
        if "report it" in fix:
            assert (each["file"], each["line"]) == (f"sites/{SITE}.yaml", 0)
        else:
            assert each["line"] > 0
            assert text_at(root, each).startswith(text), (title, text_at(root, each))


def test_what_a_schema_refuses_points_there_too(
    root: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def check_object(body: dict[str, Any], _brought: Any) -> list[Fault]:
        strategy = ("spec", "rollout", "strategy", "rollingUpdate", "maxUnavailable")
        named = (body["kind"], body["metadata"]["name"])
        return [Fault(strategy, "must be a lie")] if named == ("MachineDeployment", "v100") else []

    monkeypatch.setattr(validation, "check_object", check_object)
    (each,) = [each for each in problems(root, capsys) if each["code"] == "object-invalid"]
    assert text_at(root, each).startswith("4, max_surge")
    assert each["fix"].endswith("the value comes from pools.v100.rollout.max_unavailable")


def test_many_problems_try_a_bounded_number_of_values(
    root: Path, loaded: Loaded, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was tried for one place is not tried again, and what comes later has no place."""
    made = []
    bodies = origin._bodies

    def counted(component: str, site: Site) -> dict[str, Json]:
        made.append(component)
        return bodies(component, site)

    monkeypatch.setattr(origin, "BUDGET", 3)
    monkeypatch.setattr(origin, "_bodies", counted)
    origins = Origins(loaded, root)
    spot = Spot("machines", "MachineDeployment/v100", "spec.rollout.strategy.rollingUpdate")
    for _ in range(50):
        origins.find(spot)
    for name in ("cpu", "a100-a", "h100"):
        for path in ("spec.replicas", "spec.template", "metadata.labels", "spec.nowhere"):
            origins.find(spot._replace(name=f"MachineDeployment/{name}", path=path))
    assert len(made) <= 1 + 3 + 1  # the objects as they are, and the last value may be a pair


def test_what_is_no_object_of_the_site_has_no_origin(root: Path, loaded: Loaded) -> None:
    origins = Origins(loaded, root)
    for spot in (Spot("", "x", ""), Spot("machines", "x", "spec"), Spot("x", "x", "x")):
        assert origins.find(spot) is None
