"""The settings of a control plane and its kubelets for accelerators, and that nobody else has
them."""

import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from components.accelerators.objects import objects
from components.machines.arguments import SCHEDULER_CONFIG, scheduler_file
from components.machines.kubelet import configuration as kubelet
from components.machines.objects import objects as machines
from components.making.manifest import Json
from schemas.facts import feature_gates
from schemas.facts.site import Site
from schemas.model.codes import Code
from schemas.model.primitives import minor
from schemas.model.scheduling import Scheduling
from schemas.model.site_file import Pool
from schemas.rules import accelerators_requests, judge
from schemas.rules.accelerators_requests import ways
from tests.kit.accelerator_sites import H100, SETTINGS, T4, V100, by_dra, operated_by, site
from tools.toolchain import locate

MUTATING, EXTENDED = "MutatingAdmissionPolicy", "DRAExtendedResource"
BETA, STABLE = "admissionregistration.k8s.io/v1beta1", "admissionregistration.k8s.io/v1"


def at(of: Site, version: str, workers: str | None = None) -> Site:
    """The site at another Kubernetes version."""
    versions = {"kubernetes": version, "workers": workers}
    cluster = of.file.cluster.model_copy(update=versions)
    file = of.file.model_copy(update={"cluster": cluster})
    return replace(of, file=file)


def pool(of: Site, name: str) -> Pool:
    (found,) = (each for each in of.file.pools if each.name == name)
    return found


@pytest.mark.parametrize(
    ("version", "on", "api"),
    [
        ("v1.34.3", {MUTATING: True}, BETA),
        ("v1.35.5", {MUTATING: True}, BETA),
        # General availability: the gate is on and the API is stable.
        ("v1.36.1", {}, STABLE),
    ],
)
def test_admission_needs_a_gate_and_an_api_while_both_are_off(
    version: str, on: dict[str, bool], api: str
) -> None:
    of = at(site(), version)
    assert feature_gates.api_server_gates(of) == on
    assert feature_gates.runtime_config(of) == ((f"{BETA}=true",) if on else ())
    made = {each.body["apiVersion"] for each in objects(of) if each.kind.startswith("Mutating")}
    assert made == {api}
    assert feature_gates.scheduler_gates(of) == {}
    assert feature_gates.kubelet_gates(of, pool(of, "v100")) == {}


def test_the_policy_of_another_api_has_another_name() -> None:
    """Pulumi would make it under the new API and then delete that name under the old one."""
    old, new = (
        {each.name: each.key[3] for each in objects(at(site(), v)) if "Mutating" in each.kind}
        for v in ("v1.35.5", "v1.36.1")
    )
    assert not set(old) & set(new)
    assert not set(old.values()) & set(new.values())


@pytest.mark.parametrize(
    ("version", "on"),
    [("v1.34.3", {EXTENDED: True}), ("v1.35.5", {EXTENDED: True}), ("v1.36.1", {})],
)
def test_dra_needs_its_gate_wherever_it_is_read(version: str, on: dict[str, bool]) -> None:
    of = at(by_dra(), version)
    assert feature_gates.api_server_gates(of) == on
    assert feature_gates.scheduler_gates(of) == on
    assert feature_gates.kubelet_gates(of, pool(of, "v100")) == on
    assert feature_gates.kubelet_gates(of, pool(of, "cpu")) == {}
    assert feature_gates.runtime_config(of) == ()


def test_kubelets_that_are_held_back_get_the_gates_of_their_own_version() -> None:
    of = at(by_dra(), "v1.36.1", workers="v1.35.5")
    assert feature_gates.kubelet_gates(of, pool(of, "v100")) == {EXTENDED: True}
    assert feature_gates.api_server_gates(of) == {}


def test_no_gate_where_no_pod_is_changed() -> None:
    """The in-house card's plugin has the resource's own name, and needs no container runtime."""
    of = site()
    plain = of.hardware["cpu-1u"]
    hardware = {name: plain for name in of.hardware if name != "mncore2-x8"}
    of = replace(of, hardware={**of.hardware, **hardware})
    assert of.models() == ("mncore2",)
    assert feature_gates.completed_models(of) == ()
    # What is written once can change and never go, so that something harmless stands there.
    arguments = [{"name": "profiling", "value": "false"}]
    assert cluster_configuration(of) == {"apiServer": {"extraArgs": arguments}}
    assert "MutatingAdmissionPolicy" not in {each.kind for each in objects(of)}


@pytest.mark.parametrize("version", ["v1.33.9", "v1.32.0"])
def test_older_versions_are_refused(version: str) -> None:
    assert minor(version) < feature_gates.OLDEST
    for of in (at(site(), version), at(by_dra(), version)):
        (finding,) = judge(ways, of)
        assert finding.place == ("cluster", "kubernetes")
    held = at(by_dra(), "v1.35.5", workers=version)
    (finding,) = judge(ways, held)
    assert finding.place == ("cluster", "workers")
    (finding,) = judge(ways, at(by_dra(), "v1.34.8"))
    assert "keep their devices" in finding.message
    assert list(judge(ways, at(by_dra(), "v1.35.5", workers="v1.34.8"))) == []
    # Kubelets have no part in admission.
    assert list(judge(ways, at(site(), "v1.34.3", workers=version))) == []


# --- what machines are told ---


def control_plane(of: Site) -> Json:
    (body,) = (each.body for each in machines(of) if each.kind == "KubeadmControlPlane")
    spec: Json = body["spec"]["kubeadmConfigSpec"]
    return spec


def cluster_configuration(of: Site) -> Json | None:
    return control_plane(of).get("clusterConfiguration")


def arguments(of: Site, part: str) -> dict[str, str]:
    found = (cluster_configuration(of) or {}).get(part, {}).get("extraArgs", [])
    return {each["name"]: each["value"] for each in found}


def test_a_site_without_accelerators_is_told_nothing() -> None:
    of = site(settings=None)
    assert cluster_configuration(of) is None
    assert SCHEDULER_CONFIG not in {each["path"] for each in control_plane(of)["files"]}
    for each in of.file.pools:
        assert "featureGates" not in kubelet(of, each)


def test_the_api_server_serves_the_mutating_policies() -> None:
    assert arguments(site(), "apiServer") == {
        "feature-gates": f"{MUTATING}=true",
        "runtime-config": f"{BETA}=true",
    }


def test_with_dra_the_schedulers_and_kubelets_know_of_it() -> None:
    of = by_dra()
    assert arguments(of, "apiServer") == {"feature-gates": f"{EXTENDED}=true"}
    assert arguments(of, "scheduler") == {"feature-gates": f"{EXTENDED}=true"}
    assert kubelet(of, pool(of, "h100"))["featureGates"] == {EXTENDED: True}
    assert "featureGates" not in kubelet(of, pool(of, "cpu"))


def ignored(of: Site) -> set[str] | None:
    """The resources that the default scheduler does not look for on nodes."""
    text = scheduler_file(of)
    if text is None:
        return None
    (profile,) = yaml.safe_load(text)["profiles"]
    (plugin,) = profile["pluginConfig"]
    return set(plugin["args"]["ignoredResources"])


def served_by(of: Site, *backends: Json) -> Site:
    scheduling = Scheduling.model_validate({"backends": list(backends)})
    return replace(of, file=of.file.model_copy(update={"scheduling": scheduling}))


GANG: Json = {
    "name": "gang",
    "kind": "kube-scheduler",
    "pools": ["v100"],
    "scheduler": {"image": f"registry.example/gang:1@sha256:{'ab' * 32}", "throttler": "t"},
}
KUEUE: Json = {"name": "kueue", "kind": "kueue", "pools": ["h100"]}


@pytest.mark.parametrize(
    ("backends", "expected"),
    [
        # The in-house card's resource is on nodes, and has to be looked for there.
        ([], {V100, H100, T4}),
        ([GANG], {H100, T4}),
        ([KUEUE], {V100, H100, T4}),
        ([GANG, KUEUE], {H100, T4}),
        ([{**GANG, "pools": ["v100", "h100", "t4"]}], None),
    ],
)
def test_the_default_scheduler_ignores_exactly_what_it_places_and_no_node_has(
    backends: list[Json], expected: set[str] | None
) -> None:
    of = served_by(site(), *backends)
    assert ignored(of) == expected
    told = {each["path"] for each in control_plane(of)["files"]}
    assert (SCHEDULER_CONFIG in told) == (expected is not None)
    assert ("config" in arguments(of, "scheduler")) == (expected is not None)


@pytest.mark.parametrize(
    ("model_by", "pool", "refused"),
    [
        ("admission", "mncore", False),  # its plugin makes the very resource
        ("admission", "v100", True),
        ("dra", "mncore", True),  # its driver takes the plugin's place
        ("dra", "v100", True),
    ],
)
def test_volcano_serves_models_whose_plugin_makes_what_pods_ask_for(
    model_by: str, pool: str, refused: bool
) -> None:
    volcano: Json = {"name": "volcano", "kind": "volcano", "pools": [pool]}
    of = served_by(site({**SETTINGS, "model_by": model_by}), volcano)
    assert [each.code for each in judge(accelerators_requests.volcano, of)] == [
        Code("accelerator-unserved")
    ] * refused


def test_the_scheduler_sees_its_file() -> None:
    scheduler = (cluster_configuration(site()) or {})["scheduler"]
    (volume,) = scheduler["extraVolumes"]
    assert volume["hostPath"] == volume["mountPath"] == arguments(site(), "scheduler")["config"]
    (file,) = (e for e in control_plane(site())["files"] if e["path"] == SCHEDULER_CONFIG)
    assert file["content"] == scheduler_file(site())


def test_the_gpu_operators_pods_need_no_container_runtime() -> None:
    of = operated_by()
    assert feature_gates.pod_runtime(of, "v100-sxm2-32gb") is None
    assert feature_gates.pod_runtime(site(), "v100-sxm2-32gb") == "nvidia"


# --- the real programs ---


def run(*command: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(each) for each in command], capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.scheduling
def test_the_real_scheduler_takes_its_file(tmp_path: Path) -> None:
    """With the arguments that kubeadm gives; what it makes of the file, it writes."""
    text = scheduler_file(site())
    assert text is not None
    kubeconfig = tmp_path / "scheduler.conf"
    kubeconfig.write_text(
        "apiVersion: v1\nkind: Config\nclusters: [{name: a, cluster: {server: "
        "'https://127.0.0.1:1'}}]\ncontexts: [{name: a, context: {cluster: a, user: a}}]\n"
        "users: [{name: a, user: {}}]\ncurrent-context: a\n"
    )
    file = tmp_path / "config.yaml"
    file.write_text(text.replace("/etc/kubernetes/scheduler.conf", str(kubeconfig)), "utf-8")
    written = tmp_path / "written.yaml"
    binary = locate(["scheduling"])["kube-scheduler"].path
    done = run(
        binary,
        f"--config={file}",
        f"--write-config-to={written}",
        "--leader-elect=true",
        f"--kubeconfig={kubeconfig}",
    )
    assert done.returncode == 0, done.stderr
    made = yaml.safe_load(written.read_text("utf-8"))
    (profile,) = made["profiles"]
    (fit,) = (e["args"] for e in profile["pluginConfig"] if e["name"] == "NodeResourcesFit")
    assert set(fit["ignoredResources"]) == {V100, H100, T4}
    assert made["leaderElection"]["leaderElect"] is True
    assert profile["schedulerName"] == "default-scheduler"


PAST_ITS_CONFIGURATION = "cannot exit on lock file contention: no lock file specified"
"""Error of a kubelet with half a lock: it has read its configuration, and done nothing else yet
(Kubernetes 1.34, cmd/kubelet/app/server.go, run)."""


def started(configuration: Json, folder: Path) -> str:
    """The real kubelet's message on a configuration; it ends at once."""
    file = folder / "kubelet.yaml"
    file.write_text(yaml.safe_dump(configuration), "utf-8")
    binary = locate(["scheduling"])["kubelet"].path
    done = run(binary, f"--config={file}", "--exit-on-lock-contention", f"--root-dir={folder}")
    assert done.returncode != 0
    return done.stderr


@pytest.mark.scheduling
@pytest.mark.parametrize("of", [site(settings=None), site(), by_dra()], ids=["", "plugins", "dra"])
def test_the_real_kubelet_takes_its_configuration(of: Site, tmp_path: Path) -> None:
    for name in ("cpu", "v100"):
        assert PAST_ITS_CONFIGURATION in started(kubelet(of, pool(of, name)), tmp_path)


@pytest.mark.scheduling
def test_the_real_kubelet_refuses_a_gate_that_it_does_not_know(tmp_path: Path) -> None:
    configuration = kubelet(by_dra(), pool(by_dra(), "v100"))
    configuration["featureGates"] = {"DRAExtendedResourceNames": True}
    said = started(configuration, tmp_path)
    assert PAST_ITS_CONFIGURATION not in said
    assert "DRAExtendedResourceNames" in said
