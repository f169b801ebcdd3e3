"""The real Pulumi engine and provider against the real API server, as a user runs them."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from deepdiff import DeepDiff

from components.making.manifest import Manifest, Target
from components.shell import token
from components.site import COMPONENTS, site_objects
from controlplane import ApiError, Client, ControlPlane
from controlplane.trial import bring_up
from schemas.kubernetes.quantities import quantity
from schemas.load import load_site
from tests.kit.repository import FLEET, ROOT, all_sites, without_examples
from tools.toolchain import environment, locate

pytestmark = pytest.mark.pulumi
SITES = sorted(all_sites())
PROGRAM = (
    "Pulumi.yaml", "__main__.py", "components", "foresite", "policies", "preview", "schemas",
)  # fmt: skip


@dataclass(frozen=True)
class Trial:
    """A copy of the repository, with Pulumi and an API server of its own."""

    root: Path
    plane: ControlPlane
    env: dict[str, str]

    def foresite(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """The command line, in the copy."""
        command = [sys.executable, "-m", "foresite", "--root", str(self.root), *arguments]
        return subprocess.run(
            command, env=self.env, cwd=ROOT, capture_output=True, text=True, check=False
        )

    def pulumi(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Pulumi itself, in the copy, as someone with the official CLI would run it: in the folder
        that the first ``foresite up`` makes."""
        if not self.program.is_dir():
            self.up("lab-1")
        command = ["pulumi", *arguments, "--non-interactive"]
        return subprocess.run(
            command, env=self.env, cwd=self.program, capture_output=True, text=True, check=False
        )

    @property
    def program(self) -> Path:
        """The folder that ``foresite up --trial`` runs Pulumi in, with links to the copy."""
        return self.plane.directory / "program"

    def up(self, site: str) -> subprocess.CompletedProcess[str]:
        """``foresite up`` of a site, which must pass."""
        result = self.foresite("up", "--trial", site)
        assert result.returncode == 0, result.stdout + result.stderr
        return result

    def edit(self, file: str, old: str, new: str) -> None:
        """Change a file of the copy."""
        path = self.root / "sites" / file
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new, 1))

    def every(self, site: str) -> list[Manifest]:
        """The objects of the copy's site."""
        loaded = load_site(self.root, site)
        assert loaded.site is not None, loaded.problems
        return [each for made in site_objects(loaded.site).values() for each in made]

    def objects(self, site: str) -> list[Manifest]:
        """Its objects for the management cluster: the sites here name no other."""
        return [each for each in self.every(site) if each.target is Target.MANAGEMENT]

    def state(self, site: str) -> list[dict[str, Any]]:
        """The Kubernetes objects of a stack's state."""
        exported = json.loads(self.pulumi("stack", "export", "--stack", site).stdout)
        resources = exported["deployment"].get("resources", [])
        return [each for each in resources if each["type"].startswith("kubernetes:")]

    def client(self) -> Client:
        """A client of the API server."""
        return self.plane.client()


@pytest.fixture(scope="module")
def trial(api: ControlPlane, tmp_path_factory: pytest.TempPathFactory) -> Trial:
    """One trial for this module; each test works on a site or a copy of its own."""
    return make_trial(api, tmp_path_factory.mktemp("program"))


def make_trial(api: ControlPlane, root: Path) -> Trial:
    shutil.copytree(FLEET, root, dirs_exist_ok=True)
    for name in PROGRAM:
        source = ROOT / name
        copy = shutil.copytree if source.is_dir() else shutil.copy
        copy(source, root / name)
    (root / ".venv").symlink_to(ROOT / ".venv")
    contexts = {site.file.management for site in all_sites().values()}
    env = environment(locate(["pulumi"]), api.directory / "pulumi")
    env |= {"KUBECONFIG": str(api.kubeconfig(contexts)), "FORESITE_TRIAL": str(api.directory)}
    return Trial(root, api, env)


def summary(output: str) -> dict[str, int]:
    """The counts of Pulumi's last lines, by what was done."""
    counts = output.rpartition("Resources:")[2]
    found = re.findall(r"^ +(?:[-+~=]+ )?(\d+) (\w+)", counts, re.MULTILINE)
    return {word: int(number) for number, word in found}


def missing(wanted: Any, live: Any, path: str = "") -> list[str]:
    """Where ``live`` does not hold what is ``wanted``."""
    if isinstance(wanted, dict) and isinstance(live, dict):
        return [
            each
            for key, value in wanted.items()
            for each in missing(value, live.get(key), f"{path}.{key}")
        ]
    if isinstance(wanted, list) and isinstance(live, list) and len(wanted) == len(live):
        return [
            each
            for index, value in enumerate(wanted)
            for each in missing(value, live[index], f"{path}[{index}]")
        ]
    # The API server writes "5000" as "5k".
    same = wanted == live or (quantity(wanted) is not None and quantity(wanted) == quantity(live))
    return [] if same else [f"{path}: {wanted!r} became {live!r}"]


def live(client: Client, manifest: Manifest) -> dict[str, Any] | None:
    api, kind, namespace, name = manifest.key
    return client.get(api, kind, name, namespace or None)


def differences(client: Client, manifests: list[Manifest]) -> list[str]:
    """Where the API server does not have what was to be applied."""
    return [
        f"{each.name}{gap}"
        for each in manifests
        for gap in missing(each.body, live(client, each) or {})
    ]


@pytest.mark.proof
@pytest.mark.parametrize("site", SITES)
def test_up_then_nothing_to_do(trial: Trial, site: str) -> None:
    manifests = trial.objects(site)
    assert f"{len(manifests)} objects" in trial.up(site).stdout
    with trial.client() as client:
        assert differences(client, manifests) == []
    again = trial.pulumi("up", "--yes", "--skip-preview", "--stack", site)
    assert again.returncode == 0, again.stdout + again.stderr
    # The components, the provider and the stack are resources too.
    assert summary(again.stdout) == {"unchanged": len(manifests) + len(COMPONENTS) + 1}


@pytest.mark.proof
@pytest.mark.parametrize("site", SITES)
def test_what_pulumi_registers_is_what_render_writes(trial: Trial, site: str) -> None:
    trial.up(site)
    rendered = {(token(m), m.name): m.body for m in trial.objects(site)}
    registered = {
        (each["type"], each["urn"].rpartition("::")[2]): each["inputs"]
        for each in trial.state(site)
        if "inputs" in each
    }
    assert registered.keys() == rendered.keys()
    assert DeepDiff(rendered, registered) == {}


@pytest.mark.proof
def test_a_plain_preview_of_a_changed_pool_names_only_that_pool(trial: Trial) -> None:
    trial.up("tsukuba-1")
    more = "reboot_retries: 2}\n    kubelet: {max_pods: 60}"
    trial.edit("tsukuba-1.yaml", "reboot_retries: 2}", more)
    result = trial.pulumi("preview", "--stack", "tsukuba-1", "--json")
    assert result.returncode == 0, result.stderr
    steps = {
        step["urn"].rpartition("::")[2]: step["op"]
        for step in json.loads(result.stdout)["steps"]
        if step["op"] not in ("same", "read")
    }
    assert {name: op for name, op in steps.items() if "delete" not in op} == {
        "KubeadmConfigTemplate/mncore2": "replace",
        "MachineDeployment/mncore2": "update",
    } | {name: op for name, op in steps.items() if op == "create-replacement"}


@pytest.mark.proof
def test_an_old_template_is_kept_when_a_new_one_takes_its_place(trial: Trial) -> None:
    trial.up("tsukuba-1")
    before = next(m for m in trial.objects("tsukuba-1") if m.name == "KubeadmConfigTemplate/cpu")
    trial.edit("tsukuba-1.yaml", "os: rocky-9,", "os: rocky-9, kubelet: {max_pods: 70},")
    trial.up("tsukuba-1")
    after = next(m for m in trial.objects("tsukuba-1") if m.name == "KubeadmConfigTemplate/cpu")
    assert before.key != after.key
    with trial.client() as client:
        assert live(client, before) is not None
        assert live(client, after) is not None


@pytest.mark.proof
def test_other_manifests_of_the_pod_network_change_its_config_map_in_place(trial: Trial) -> None:
    trial.up("tsukuba-1")
    config = next(m for m in trial.objects("tsukuba-1") if m.kind == "ConfigMap")
    with trial.client() as client:
        before = live(client, config)
        path = trial.root / "sites" / "pod-network" / "flannel.yaml"
        whole = path.read_text()
        path.write_text(whole.replace("--ip-masq,", "--ip-masq=true,"))
        trial.up("tsukuba-1")
        after = live(client, config)
        path.write_text(whole)
    assert before and after
    assert "--ip-masq=true" in after["data"]["manifests.yaml"]
    assert after["metadata"]["uid"] == before["metadata"]["uid"], "deleted and created again"


@pytest.mark.proof
def test_a_host_that_leaves_the_list_is_not_deleted(trial: Trial) -> None:
    trial.up("tsukuba-1")
    path = trial.root / "sites" / "tsukuba-1.hosts.csv"
    whole = path.read_text()
    path.write_text(whole[: whole.rstrip("\n").rindex("\n") + 1])
    result = trial.foresite("up", "--trial", "tsukuba-1")
    path.write_text(whole)
    assert result.returncode == 2
    assert "protect" in result.stderr and "BareMetalHost/tsukuba-1-b-032" in result.stderr
    assert "Traceback" not in result.stdout + result.stderr
    with trial.client() as client:
        assert client.get("metal3.io/v1alpha1", "BareMetalHost", "tsukuba-1-b-032", "tsukuba-1")
    trial.up("tsukuba-1")


@pytest.mark.proof
def test_what_the_metal3_provider_writes_on_a_host_stays(trial: Trial) -> None:
    trial.up("lab-1")
    host = next(m for m in trial.objects("lab-1") if m.kind == "BareMetalHost")
    path = f"/apis/metal3.io/v1alpha1/namespaces/lab-1/baremetalhosts/{host.key[3]}"
    image = {"url": "http://images.example/x.raw", "checksum": "0"}
    taken = {"spec": {"online": False, "image": image}}
    with trial.client() as client:
        client.request("PATCH", f"{path}?fieldManager=capm3", taken, "application/merge-patch+json")
        trial.edit("lab-1.hosts.csv", "lab-01", "lab-02")
        trial.up("lab-1")
        found = live(client, host)
    assert found is not None
    assert found["spec"]["online"] is False
    assert found["spec"]["image"]["url"] == "http://images.example/x.raw"
    assert found["metadata"]["labels"]["foresite.dev/rack"] == "lab-02"


def test_a_stack_without_a_site_is_refused_in_words(trial: Trial) -> None:
    trial.pulumi("stack", "init", "nowhere-1")
    result = trial.pulumi("preview", "--stack", "nowhere-1")
    assert result.returncode != 0
    assert "there is no site nowhere-1" in result.stdout + result.stderr
    assert "Traceback" not in result.stdout + result.stderr


def test_a_missing_context_is_said_before_anything_is_made(trial: Trial) -> None:
    trial.up("lab-1")
    trial.edit("lab-1.yaml", "management: mgmt-lab", "management: mgmt-jp-north")
    env = {**trial.env, "KUBECONFIG": str(trial.plane.kubeconfig(["mgmt-lab"]))}
    command = ["pulumi", "preview", "--stack", "lab-1", "--non-interactive"]
    result = subprocess.run(
        command, env=env, cwd=trial.program, capture_output=True, text=True, check=False
    )
    trial.edit("lab-1.yaml", "management: mgmt-jp-north", "management: mgmt-lab")
    assert result.returncode != 0
    assert "mgmt-jp-north" in result.stdout + result.stderr


@pytest.fixture
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trial]:
    """A trial with a server of its own: on the shared one other tests make namespaces of the names
    that every site's own cluster has."""
    plane = bring_up(tmp_path_factory.mktemp("alone"))
    try:
        yield make_trial(plane, tmp_path_factory.mktemp("program-alone"))
    finally:
        plane.stop()


@pytest.mark.proof
def test_objects_of_the_sites_own_cluster_follow_once_it_answers(alone: Trial) -> None:
    trial = alone
    direct = "  pod_network: {manifests: pod-network/flannel.yaml, install: direct}\n"
    trial.edit("lab-1.yaml", "  endpoint:", direct + "  endpoint:")
    first = trial.up("lab-1")
    own = [m for m in trial.every("lab-1") if m.target is Target.SITE]
    assert {"DaemonSet", "ClusterPolicy", "ClusterTrainingRuntime"} <= {m.kind for m in own}
    assert f"{len(own)} objects follow once the site's own cluster answers" in first.stdout
    with trial.client() as client:
        assert not any(client.serves(*m.key[:2]) and live(client, m) for m in own)
        # The one API server plays the site's own cluster too, under the context that is named now.
        trial.edit("lab-1.yaml", "  endpoint:", "  context: lab-1\n  endpoint:")
        trial.plane.kubeconfig(["lab-1"])
        # Where Prometheus runs is the site's own.
        space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "monitoring"}}
        client.apply(space)
        trial.up("lab-1")
        assert differences(client, own) == []
    trial.edit("lab-1.yaml", "  context: lab-1\n", "")
    refused = trial.foresite("up", "--trial", "lab-1")
    assert refused.returncode == 2
    assert "protected" in refused.stderr


@pytest.mark.proof
def test_a_killed_up_is_taken_over_by_the_next(
    api: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> None:
    trial = make_trial(api, tmp_path_factory.mktemp("killed"))
    sites = trial.root / "sites"
    for suffix in ("yaml", "hosts.csv"):
        text = (sites / f"tsukuba-1.{suffix}").read_text()
        (sites / f"tsukuba-1.{suffix}").unlink()
        (sites / f"kyoto-1.{suffix}").write_text(text.replace("tsukuba-1", "kyoto-1"))
    for file in (*sites.glob("kyoto-1.yaml"), *(trial.root / "regions").glob("*.yaml")):
        file.write_text(without_examples(file.read_text()))
    manifests = trial.objects("kyoto-1")
    command = [sys.executable, "-m", "foresite", "--root", str(trial.root), "up", "--trial"]
    with trial.client() as client:
        process = subprocess.Popen(
            [*command, "kyoto-1"], env=trial.env, cwd=ROOT, start_new_session=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        made = wait_for_some(client, process)
        kill_all(process.pid)
        process.wait()
        assert 0 < made < 64
        again = trial.up("kyoto-1")
        assert "lock is released" in again.stderr
        assert "its objects are adopted" in again.stderr
        assert differences(client, manifests) == []
    known = {each["urn"].rpartition("::")[2] for each in trial.state("kyoto-1")}
    assert known == {each.name for each in manifests}


def wait_for_some(client: Client, process: "subprocess.Popen[bytes]") -> int:
    """How many hosts there are once there are some."""
    while process.poll() is None:
        try:
            made = len(client.items("metal3.io/v1alpha1", "BareMetalHost", "kyoto-1"))
        except ApiError as error:
            if error.status != 429:  # which a kind that is new is answered with at first
                raise
            made = 0
        if made > 3:
            return made
        time.sleep(0.02)
    return 0


def kill_all(pid: int) -> None:
    """SIGKILL a process and everything below it, in whatever session."""
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        children.setdefault(int(fields[1]), []).append(int(stat.parent.name))
    todo, found = [pid], []
    while todo:
        each = todo.pop()
        found.append(each)
        todo += children.get(each, [])
    for each in found:
        try:
            os.kill(each, signal.SIGKILL)
        except ProcessLookupError:
            continue
