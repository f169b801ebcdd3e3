"""The objects of repairs as plain data: what follows from which field of the site file."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from node_repair.settings import Repair, Settings

from components.making.faults import CONDITIONS, FAULTY_TAINT, QUARANTINED_TAINT, TURN_LABEL
from components.making.manifest import Json, Manifest, Target
from components.remediation.objects import objects
from components.remediation.turns import configuration
from controlplane import ControlPlane
from controlplane.trial import serve
from schemas.facts.site import Site
from schemas.kubernetes.node_labels import POOL_LABEL
from schemas.kubernetes.objects import check_object
from schemas.model.remediation import Remediation
from schemas.model.vocabulary import Fault
from tests.kit.repository import all_sites

OPERATING_TAINT = "nodeops.k8s.preferred.jp/operating"
IMAGE = f"registry.example/noc:v0.2.2@sha256:{'a' * 64}"
REPAIR = f"registry.example/node-repair:v1@sha256:{'b' * 64}"


def site(*healers: Json, **settings: Any) -> Site:
    """tokyo-1 with these healers."""
    base = all_sites()["tokyo-1"]
    controller = {"image": IMAGE, **settings.pop("controller", {})}
    images = {"controller": controller, "repair_image": REPAIR}
    given = {"healers": list(healers), **images, **settings}
    remediation = Remediation.model_validate(given)
    return replace(base, file=base.file.model_copy(update={"remediation": remediation}))


GPU: Json = {"name": "gpu", "pools": ["v100", "h100"], "max_unavailable": 3}
CPU: Json = {
    "name": "cpu",
    "pools": ["cpu"],
    "eviction": "wait",
    "faults": ["kernel-deadlock", "accelerator-missing", "disk-full"],
}


def by_name(made: Site) -> dict[str, Manifest]:
    found = objects(made)
    named = {each.name: each for each in found}
    assert len(named) == len(found)
    return named


def spec(made: Site, name: str) -> Json:
    found: Json = by_name(made)[name].body["spec"]
    return found


def pods(made: Site) -> Iterator[tuple[str, Json]]:
    """The specs of the pods that mend: of the programs, and of the Job of an operation."""
    for name, manifest in by_name(made).items():
        if manifest.kind == "Deployment":
            yield name, manifest.body["spec"]["template"]["spec"]
        if manifest.kind == "NodeOperationTemplate":
            job = manifest.body["spec"]["template"]["spec"]["jobTemplate"]
            yield name, job["spec"]["template"]["spec"]


def job(made: Site) -> Json:
    found: Json = spec(made, "NodeOperationTemplate/gpu/v100")["template"]["spec"]["jobTemplate"]
    return found


def environment(pod: Json) -> dict[str, Any]:
    (container,) = pod["containers"]
    return {each["name"]: each.get("value", each.get("valueFrom")) for each in container["env"]}


def test_without_a_healer_nothing_mends() -> None:
    kinds = {each.kind for each in objects(site())}
    assert "DaemonSet" in kinds and not kinds & {"Deployment", "NodeRemediationTemplate"}


def test_another_kind_of_healer_needs_no_controller() -> None:
    made = site({**GPU, "kind": "medik8s"})
    assert not any(each.kind == "Deployment" for each in objects(made))


@pytest.mark.parametrize("name", sorted(all_sites()))
def test_every_object_is_as_its_schema_says(name: str) -> None:
    made = all_sites()[name]
    assert [
        (each.title, fault) for each in objects(made) for fault in check_object(each.body)
    ] == []


def test_a_rule_for_each_fault_of_a_pool_that_has_a_turn() -> None:
    found = by_name(site(GPU, CPU))
    rules = {
        name: each.body["spec"]
        for name, each in found.items()
        if each.kind == "NodeRemediationTemplate"
    }
    # The hosts of cpu have no accelerators to miss.
    expected = {(CPU["name"], "cpu", each) for each in (Fault.KERNEL_DEADLOCK, Fault.DISK_FULL)}
    gpu = [
        Fault.ACCELERATOR_MISSING,
        Fault.ACCELERATOR_ERROR,
        Fault.PCIE_LINK_DEGRADED,
        Fault.READ_ONLY_FILESYSTEM,
        Fault.KERNEL_DEADLOCK,
    ]
    expected |= {(GPU["name"], pool, each) for pool in ("v100", "h100") for each in gpu}
    assert set(rules) == {f"NodeRemediationTemplate/{h}/{p}/{f}" for h, p, f in expected}
    for healer, pool, fault in expected:
        made = rules[f"NodeRemediationTemplate/{healer}/{pool}/{fault}"]
        assert made["nodeSelector"] == {POOL_LABEL: pool, TURN_LABEL: fault}
        template = made["template"]["spec"]
        # All conditions of a rule have to hold, and no condition would always hold.
        assert template["rule"]["conditions"] == [{"type": CONDITIONS[fault], "status": "True"}]
        named = template["nodeOperationTemplateName"]
        assert found[f"NodeOperationTemplate/{healer}/{pool}"].body["metadata"]["name"] == named


def test_an_operation_heeds_the_budget_of_its_pool_and_no_other() -> None:
    """A selector that is empty, or finds another's, lets any budget hold back all operations."""
    made = by_name(site(GPU, CPU))
    budgets = [each.body for each in made.values() if each.kind == "NodeDisruptionBudget"]
    for healer, pool in (("gpu", "v100"), ("gpu", "h100"), ("cpu", "cpu")):
        operation = made[f"NodeOperationTemplate/{healer}/{pool}"].body["spec"]["template"]["spec"]
        chosen = operation["nodeDisruptionBudgetSelector"]
        (budget,) = (
            each for each in budgets if chosen.items() <= each["metadata"]["labels"].items()
        )
        assert budget["spec"]["selector"] == {POOL_LABEL: pool}
        assert budget["spec"]["maxUnavailable"] == (3 if healer == "gpu" else 1)
        # Without Exists a taint of a target has to have an empty value.
        assert {each["operator"] for each in budget["spec"]["taintTargets"]} == {"Exists"}


def test_no_control_plane_goes_out_while_another_is_quarantined() -> None:
    """A worker that nobody could mend must not use up the budget for ever."""
    made = by_name(site({"name": "all", "pools": ["control", "cpu"]}))
    counted = {
        pool: {
            each["key"]
            for each in made[f"NodeDisruptionBudget/all/{pool}"].body["spec"]["taintTargets"]
        }
        for pool in ("control", "cpu")
    }
    assert counted["control"] - counted["cpu"] == {QUARANTINED_TAINT}


@pytest.mark.parametrize(
    ("way", "strategy"), [("evict", "Evict"), ("delete", "Delete"), ("wait", "None")]
)
def test_how_pods_leave(way: str, strategy: str) -> None:
    made = spec(site({**GPU, "eviction": way}), "NodeOperationTemplate/gpu/v100")
    assert made["template"]["spec"]["evictionStrategy"] == strategy


def test_nothing_lets_the_job_fail_or_vanish() -> None:
    """The controller would give the broken node back."""
    made = job(site(GPU))
    assert made["spec"].keys() == {"backoffLimit", "template"}
    assert made["spec"]["backoffLimit"] >= 1_000_000
    assert made["spec"]["template"]["spec"]["restartPolicy"] == "OnFailure"
    assert made["metadata"]["namespace"] == "node-remediation"


def test_what_the_job_is_told() -> None:
    reboot = {"credentials": "way", "timeout_seconds": 600, "attempts": 3, "window_hours": 2}
    made = job(site(GPU, reboot=reboot))["spec"]["template"]["spec"]
    told = environment(made)
    assert (told["SITE"], told["ATTEMPTS"], told["WINDOW_SECONDS"]) == ("tokyo-1", "3", "7200")
    assert told["TIMEOUT_SECONDS"] == "600"
    assert json.loads(told["CONDITIONS"])["accelerator-error"] == "AcceleratorError"
    node = "metadata.annotations['nodeops.k8s.preferred.jp/nodename']"
    assert told["NODE"] == {"fieldRef": {"fieldPath": node}}
    (secret,) = (each["secret"] for each in made["volumes"] if "secret" in each)
    assert secret["secretName"] == "way"


def test_what_the_program_for_repair_slots_is_told() -> None:
    reboot = {"timeout_seconds": 600, "attempts": 3, "window_hours": 2}
    text = configuration(site(CPU, GPU, reboot=reboot, max_faulty_percent=7))
    told = Settings.model_validate_json(text)
    assert (told.attempts, told.window, told.verdict, told.percent) == (3, 7200, 600, 7)
    assert told.control_plane == ("control", 3)
    limits = {name: pool.limits for name, pool in told.pools.items()}
    assert limits == {"cpu": {"cpu": 1}, "v100": {"gpu": 3}, "h100": {"gpu": 3}}
    # The order in which a host's faults are repaired is the remediator's.
    assert told.pools["cpu"].repairs == (
        Repair("kernel-deadlock", "KernelDeadlock", "cpu"),
        Repair("disk-full", "DiskFull", "cpu"),
    )


def test_a_changed_threshold_restarts_nothing() -> None:
    before = by_name(site(GPU))
    after = by_name(site(GPU, max_faulty_percent=50, reboot={"attempts": 5}))
    assert before["Deployment/turns"] == after["Deployment/turns"]
    assert before["ConfigMap/turns-config"] != after["ConfigMap/turns-config"]


def test_no_pod_runs_on_a_node_that_is_mended() -> None:
    """It would be drained by itself, or reboot the host it is on."""
    checked = []
    for name, pod in pods(site(GPU)):
        keys = {each.get("key") for each in pod["tolerations"]}
        assert not keys & {None, FAULTY_TAINT, QUARANTINED_TAINT, OPERATING_TAINT}
        checked.append(name)
    assert {"Deployment/turns", "Deployment/node-operation-controller"} < set(checked)


def test_images_of_ones_own() -> None:
    images = {pod["containers"][0]["image"] for _, pod in pods(site(GPU))}
    assert images == {IMAGE, REPAIR}


def test_one_replica_for_one_control_plane() -> None:
    """Each replica is on a host of its own; a second one would wait for ever."""
    made = site(GPU)
    programs = ("Deployment/node-operation-controller", "Deployment/turns")
    assert [spec(made, name)["replicas"] for name in programs] == [2, 2]
    (first, *_) = made.hosts_of(made.control_plane)
    hosts = tuple(each for each in made.hosts if each.pool != first.pool or each == first)
    pools = [
        each.model_copy(update={"spares": 0}) if each.name == first.pool else each
        for each in made.file.pools
    ]
    small = replace(made, hosts=hosts, file=made.file.model_copy(update={"pools": pools}))
    assert [spec(small, name)["replicas"] for name in programs] == [1, 1]


def test_only_rights_for_hosts_are_on_the_management_cluster() -> None:
    there = [each for each in objects(site(GPU)) if each.target is Target.MANAGEMENT]
    (role,) = (each.body for each in there if each.kind == "Role")
    assert role["metadata"]["namespace"] == "tokyo-1"
    (rule,) = role["rules"]
    assert (rule["resources"], rule["verbs"]) == (["baremetalhosts"], ["get", "patch"])
    kinds = {each.kind for each in there}
    assert not kinds & {"Secret", "ClusterRole", "ClusterRoleBinding"}


@pytest.mark.controlplane
def test_every_object_passes_a_strict_apply(api: ControlPlane) -> None:
    manifests = objects(site(GPU, CPU))
    serve(api, (each.body for each in manifests))
    names = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "tokyo-1"}}
    with api.client() as client:
        client.apply(names)
        for each in manifests:
            if each.kind == "Namespace":
                client.apply(each.body)
        for each in manifests:
            client.apply(each.body, dry_run=True)


@pytest.mark.controlplane
def test_programs_that_mend_have_no_rights_on_their_host(api: ControlPlane) -> None:
    """The real admission of the Pod Security Standard "restricted" takes their pods."""
    space = "restricted-repairs"
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    metadata = {"name": space, "labels": labels}
    with api.client() as client:
        client.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
        for number, (_, pod) in enumerate(pods(site(GPU))):
            spec = {**pod, "priorityClassName": ""}
            names = {"name": f"pod-{number}", "namespace": space}
            body = {"apiVersion": "v1", "kind": "Pod", "metadata": names, "spec": spec}
            client.apply(body, dry_run=True)
