"""The configuration of medik8s, by its own schemas on a real API server, and the faults that it
then remediates."""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from components.making.faults import CONDITIONS
from components.making.manifest import Json
from components.remediation.medik8s import CHECK_API, NEVER, TEMPLATE_API, health_checks
from controlplane import ApiError, Client, ControlPlane
from schemas.facts.site import Site
from schemas.kubernetes.node_labels import POOL_LABEL
from schemas.kubernetes.objects import check_objects
from schemas.model.vocabulary import Fault
from tests.kit.accelerator_sites import site
from tests.kit.good_objects import changed

HEALER: Json = {"name": "hosts", "kind": "medik8s", "pools": ["v100", "h100"]}
PROGRAM = f"registry.example/healer:v1@sha256:{'a' * 64}"
UNITS = {"h": 3600, "m": 60, "s": 1}


def with_healers(*healers: Json, **settings: Any) -> Site:
    """The site with four kinds of cards and these healers."""
    found = {"healers": list(healers), **settings}
    if any(each.get("kind") != "medik8s" for each in healers):
        found |= {"controller": {"image": PROGRAM}, "repair_image": PROGRAM}
    return site(remediation=found)


def checks(of: Site) -> dict[str, Json]:
    """The health checks by their names."""
    made = [each.body for each in health_checks(of)]
    return {e["metadata"]["name"]: e for e in made if e["kind"] == "NodeHealthCheck"}


def spec(of: Site, name: str) -> Json:
    found: Json = checks(of)[name]["spec"]
    return found


def seconds(duration: str) -> int:
    """A duration as Kubernetes has it, of whole units."""
    assert re.fullmatch(r"([0-9]+[hms])+", duration)
    return sum(int(n) * UNITS[unit] for n, unit in re.findall(r"([0-9]+)([hms])", duration))


def test_one_check_for_each_pool_and_one_template_for_each_healer() -> None:
    made = health_checks(with_healers(HEALER, {"name": "other", "pools": ["t4"]}))
    assert [each.key[1:] for each in made] == [
        ("SelfNodeRemediationTemplate", "self-node-remediation", "hosts"),
        ("NodeHealthCheck", "", "hosts-v100"),
        ("NodeHealthCheck", "", "hosts-h100"),
    ]
    assert check_objects([each.body for each in made]) == []
    assert len({each.name for each in made}) == 3


def test_nothing_without_such_a_healer() -> None:
    assert health_checks(site()) == []
    assert health_checks(with_healers({"name": "other", "pools": ["t4"]})) == []


def test_no_check_of_a_pool_on_which_nothing_is_mended() -> None:
    """The rules refuse such a healer; yet a check without conditions would mend whatever is not
    ready, by the default of its kind."""
    of = with_healers({**HEALER, "faults": ["pcie-link-degraded"]})
    assert set(checks(of)) == {"hosts-v100", "hosts-h100"}
    model = of.accelerators["v100-sxm2-32gb"]
    unknown = model.model_copy(update={"pci": model.pci.model_copy(update={"link_width": None})})
    partly = replace(of, accelerators={**of.accelerators, "v100-sxm2-32gb": unknown})
    assert set(checks(partly)) == {"hosts-h100"}
    assert health_checks(replace(of, accelerators={})) == []


def test_checks_name_the_template_and_the_nodes_of_their_pool() -> None:
    of = with_healers(HEALER, medik8s={"namespace": "healing"})
    template = health_checks(of)[0].body
    (step,) = spec(of, "hosts-h100")["escalatingRemediations"]
    metadata = template["metadata"]
    assert step["remediationTemplate"] == {
        "apiVersion": template["apiVersion"],
        "kind": template["kind"],
        "namespace": metadata["namespace"],
        "name": metadata["name"],
    }
    assert metadata["namespace"] == "healing"
    assert spec(of, "hosts-h100")["selector"] == {"matchLabels": {POOL_LABEL: "h100"}}


def matches(conditions: list[Json], seen: dict[str, str], age: int) -> tuple[bool, bool]:
    """True if a node is taken for unhealthy, and true if for healthy, when its conditions are so
    old: matchesUnhealthyConditions of node-healthcheck-operator dd444329."""
    hits = [each for each in conditions if seen.get(each["type"]) == each["status"]]
    unhealthy = any(age > seconds(each["duration"]) for each in hits)
    return unhealthy, not hits


@pytest.mark.parametrize(
    ("seen", "age", "unhealthy", "healthy"),
    [
        ({"AcceleratorMissing": "True"}, 121, True, False),
        ({"AcceleratorMissing": "True"}, 60, False, False),
        ({"AcceleratorMissing": "False"}, 9999, False, True),
        # After a reboot, until the detector knows: its remediation must not end.
        ({"AcceleratorMissing": "Unknown"}, 30 * 86400, False, False),
        ({"AcceleratorMissing": "Unknown", "KernelDeadlock": "True"}, 200, True, False),
        # A node that is out for a rollout is not mended, and counts as one that is out.
        ({"Ready": "Unknown"}, 30 * 86400, False, False),
        ({"Ready": "False"}, 30 * 86400, False, False),
        ({"Ready": "True"}, 9999, False, True),
        # Told, and mended by nobody.
        ({"DiskFull": "True"}, 9999, False, True),
        ({}, 0, False, True),
    ],
)
def test_which_nodes_are_mended(
    seen: dict[str, str], age: int, unhealthy: bool, healthy: bool
) -> None:
    found = spec(with_healers(HEALER), "hosts-v100")["unhealthyConditions"]
    assert matches(found, seen, age) == (unhealthy, healthy)


def test_conditions_are_those_of_the_pools_mended_faults() -> None:
    chosen = {
        **HEALER,
        "pools": ["v100", "t4"],
        "faults": ["pcie-link-degraded", "kernel-deadlock"],
    }
    of = with_healers(chosen)
    # Nothing is known of the lanes of the cards in t4.
    for name, faults in (
        ("hosts-v100", {Fault.PCIE_LINK_DEGRADED, Fault.KERNEL_DEADLOCK}),
        ("hosts-t4", {Fault.KERNEL_DEADLOCK}),
    ):
        found = spec(of, name)["unhealthyConditions"]
        mended = {each["type"] for each in found if each["duration"] != NEVER}
        assert mended == {CONDITIONS[each] for each in faults}


def test_the_budget_is_the_healers() -> None:
    of = with_healers({**HEALER, "max_unavailable": 2}, max_faulty_percent=70)
    assert [each["spec"]["maxUnhealthy"] for each in checks(of).values()] == [2, 2]
    assert spec(with_healers(HEALER), "hosts-v100")["maxUnhealthy"] == 1


def test_a_host_must_look_healthy_for_longer_than_a_fault_takes_to_be_found() -> None:
    """Else a fault that a reboot did not help ends its remediation, and the next one reboots."""
    detector = {"interval_seconds": 60, "bad_after": 4, "good_after": 2}
    found = spec(
        with_healers(HEALER, detector=detector, medik8s={"unhealthy_seconds": 300}), "hosts-v100"
    )
    assert seconds(found["healthyDelay"]) > 4 * 60 + 300
    assert seconds(found["stormCooldownDuration"]) > 4 * 60


def test_a_repair_that_takes_too_long_is_given_up() -> None:
    of = with_healers(HEALER, reboot={"timeout_seconds": 900})
    (step,) = spec(of, "hosts-v100")["escalatingRemediations"]
    assert seconds(step["timeout"]) == 900
    assert "remediationTemplate" not in spec(of, "hosts-v100")


@pytest.fixture(scope="module")
def client(api: ControlPlane) -> Iterator[Client]:
    """An API server with medik8s' kinds, and the namespace of its operator."""
    with api.client() as found:
        body: Json = {"metadata": {"name": "self-node-remediation"}}
        found.apply({"apiVersion": "v1", "kind": "Namespace", **body})
        yield found


@pytest.mark.controlplane
def test_a_server_takes_them_and_knows_every_field(client: Client) -> None:
    for manifest in health_checks(with_healers(HEALER)):
        stored = client.apply(manifest.body)
        assert stored["spec"] == manifest.body["spec"]
    assert client.serves(CHECK_API, "NodeHealthCheck")
    assert client.serves(TEMPLATE_API, "SelfNodeRemediationTemplate")


@pytest.mark.controlplane
@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("spec", "maxUnhealthy"), "half"),
        (("spec", "healthyDelay"), "soon"),
        (("spec", "escalatingRemediations", 0, "timeout"), 900),
        (("spec", "unhealthyConditions", 0, "status"), ""),
        (("spec", "unhealthy"), 1),
    ],
)
def test_a_server_refuses_what_the_kinds_do_not_allow(
    client: Client, path: tuple[str | int, ...], value: Any
) -> None:
    good = checks(with_healers(HEALER))["hosts-v100"]
    with pytest.raises(ApiError):
        client.apply(changed(good, path, value), dry_run=True)
