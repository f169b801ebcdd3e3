"""Components in programs of one's own, and stacks of before, on the real Pulumi engine.

The folder stack_of_before has the stack of lab-1 as commit e3cc7c6 made it, both clusters applied:
of each resource what tells it from others. Its site's files are as they were.
"""

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from components.shell import token
from components.site import site_objects
from controlplane import ControlPlane
from schemas.load import load_site
from tests.kit.repository import ROOT
from tools.toolchain import environment, locate

pytestmark = [pytest.mark.pulumi, pytest.mark.proof]
BEFORE = ROOT / "tests" / "kit" / "stack_of_before"
EXAMPLE = ROOT / "docs" / "examples" / "pulumi"
CONTEXTS = ("mgmt-lab", "lab-1")
RENAMED = """
from pathlib import Path

import pulumi

from components.object_cache.component import ObjectCache, ObjectCacheArgs
from components.shell import cluster_provider
from schemas.load import load_site

site = load_site(Path(__file__).parent, "lab-1").site
assert site is not None
aliases = pulumi.ResourceOptions(aliases=[pulumi.Alias(name="object-cache")])
args = ObjectCacheArgs(site=site, provider=cluster_provider("site", "lab-1"))
ObjectCache("mine", args, aliases)
"""


class Program(NamedTuple):
    """A Pulumi program in a folder of its own, and the environment that Pulumi runs in."""

    folder: Path
    env: dict[str, str]

    def pulumi(self, *arguments: str) -> str:
        """Run Pulumi, which must pass; what it printed."""
        done = subprocess.run(
            ["pulumi", *arguments, "--non-interactive"],
            env=self.env, cwd=self.folder, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def steps(self, stack: str) -> dict[str, str]:
        """The steps of a preview, by URN."""
        previewed = json.loads(self.pulumi("preview", "--json", "--show-sames", "--stack", stack))
        return {step["urn"]: step["op"] for step in previewed["steps"]}


def program(api: ControlPlane, folder: Path, *sources: Path) -> Program:
    """A program of the files and folders ``sources``, with a backend of its own."""
    for source in sources:
        copy = shutil.copytree if source.is_dir() else shutil.copy
        copy(source, folder / source.name)
    (folder / ".venv").symlink_to(ROOT / ".venv")
    env = environment(locate(["pulumi"]), folder / "state")
    return Program(folder, env | {"KUBECONFIG": str(api.kubeconfig(CONTEXTS))})


def stack_of_before(made: Program, component: str = "") -> list[dict[str, Any]]:
    """Import the stack, of all components or of one; its resources.

    The bodies are those of today: whether one changed is what other tests say.
    """
    site = load_site(made.folder, "lab-1").site
    assert site is not None
    every = [each for objects in site_objects(site).values() for each in objects]
    bodies = {(token(each), each.name): each.body for each in every}
    text = (BEFORE / "state.json").read_text("utf-8")
    # A provider's inputs hold the path of its kubeconfig.
    state = json.loads(text.replace('"KUBECONFIG"', json.dumps(made.env["KUBECONFIG"])))
    kept = []
    for each in state["deployment"]["resources"]:
        urn = each["urn"].partition("::foresite::")[2]
        if component and "foresite:components:" in urn and f":{component}" not in urn:
            continue
        if component and urn.endswith("::management"):
            continue
        if each["type"].startswith("kubernetes:"):
            body = bodies[each["type"], urn.partition("::")[2]]
            outputs = {**body, **each.get("outputs", {}), "__inputs": body}
            each = {**each, "inputs": body, "outputs": outputs}
        kept.append(each)
    state["deployment"]["resources"] = kept
    file = made.folder / "state.json"
    file.write_text(json.dumps(state), "utf-8")
    made.pulumi("stack", "init", "lab-1")
    made.pulumi("stack", "import", "--stack", "lab-1", "--file", str(file))
    return kept


def test_a_stack_of_before_has_nothing_to_do(api: ControlPlane, tmp_path: Path) -> None:
    sources = (ROOT / "Pulumi.yaml", ROOT / "__main__.py", BEFORE / "sites")
    made = program(api, tmp_path, *sources)
    before = stack_of_before(made)
    steps = made.steps("lab-1")
    assert {each["urn"]: steps[each["urn"]] for each in before} == {
        each["urn"]: "same" for each in before
    }
    # What Foresite has made since; a renamed resource would be deleted besides.
    assert {op for urn, op in steps.items() if op != "same"} <= {"create"}


def test_a_component_takes_over_its_objects_under_another_name(
    api: ControlPlane, tmp_path: Path
) -> None:
    made = program(api, tmp_path, ROOT / "Pulumi.yaml", BEFORE / "sites")
    (tmp_path / "__main__.py").write_text(RENAMED, "utf-8")
    before = stack_of_before(made, "ObjectCache")
    steps = made.steps("lab-1")
    assert set(steps.values()) == {"same"}
    assert len(steps) == len(before)
    renamed = {urn.rpartition("::")[2] for urn in steps}
    assert {"mine", "mine/Service/cache"} <= renamed


def test_the_example_makes_its_resources_from_outputs(api: ControlPlane, tmp_path: Path) -> None:
    made = program(api, tmp_path, EXAMPLE / "Pulumi.yaml", EXAMPLE / "__main__.py")
    made.pulumi("stack", "init", "trial")
    made.pulumi("config", "set", "context", "lab-1", "--stack", "trial")
    made.pulumi("up", "--yes", "--skip-preview", "--stack", "trial")
    with api.client() as client:
        settings = client.get("v1", "ConfigMap", "settings", "notebooks")
        service = client.get("v1", "Service", "cache", "cache-service")
    assert settings is not None
    assert service is not None
    assert settings["data"] == {
        "DATASETS": "http://cache.cache-service.svc/v1/objects/datasets/",
        "VISION_NAMESPACE": "vision",
    }
    exported = json.loads(made.pulumi("stack", "output", "--json", "--stack", "trial"))
    assert exported == {
        "cache": "http://cache.cache-service.svc/v1/objects/",
        "namespaces": ["vision"],
    }
    assert set(made.steps("trial").values()) == {"same"}
    state = json.loads(made.pulumi("stack", "export", "--stack", "trial"))
    (registered,) = (
        each["outputs"]
        for each in state["deployment"]["resources"]
        if each["type"] == "foresite:components:ObjectCache"
    )
    assert registered["service"] == "cache"
    assert registered["names"]["Service"] == ["cache-service/cache"]
