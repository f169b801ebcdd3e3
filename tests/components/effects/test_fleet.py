"""Effects on machines of manifests that are no site's: the neutral record, filled by hand."""

from dataclasses import replace

import pytest

from components.effects.fleet import Accelerators, Fleet, Group, Host, Pace
from components.effects.kubernetes import RULES as KUBERNETES
from components.effects.placement import Fit, fits, running
from components.effects.rules import find, find_whole, judge_object
from components.effects.vocabulary import Effect, Impact, Ledger, Name, Side, SiteChange
from components.machines.effects import RULES
from components.machines.rollout import capacity, plans
from components.making.manifest import Json, Manifest
from components.source import site_of
from preview.differences.compare import compare

DEPLOYMENT: Name = ("infra", "md-0")
CONTROL_PLANE: Name = ("infra", "cp")
TEMPLATE: Name = ("infra", "md-0-template")
TAINT = {"key": "a.example/only", "value": "", "effect": "NoSchedule"}


def group(owner: Name, pool: str, hosts: int, replicas: int) -> Group:
    names = [f"{pool}-{number}" for number in range(hosts)]
    return Group(
        owner=owner,
        pool=pool,
        zone="",
        control_plane=owner == CONTROL_PLANE,
        hosts=tuple(Host(name, pool, "a", (("a.example/rack", name),)) for name in names),
        replicas=replicas,
        labels={"a.example/pool": pool},
        taints=(TAINT,) if owner == CONTROL_PLANE else (),
        pace=Pace(install_minutes=30, drain_seconds=600, startup_seconds=0),
        unhealthy_percent=10,
        accelerators=Accelerators("h100", 8) if owner == DEPLOYMENT else Accelerators(),
    )


WORKERS, CONTROL = group(DEPLOYMENT, "md-0", 4, 3), group(CONTROL_PLANE, "cp", 1, 1)
FLEET = Fleet(
    hosts=(*CONTROL.hosts, *WORKERS.hosts),
    groups=(CONTROL, WORKERS),
    about={CONTROL_PLANE: (CONTROL,), DEPLOYMENT: (WORKERS,), TEMPLATE: (WORKERS,)},
    label_keys=frozenset({"a.example/pool", "a.example/rack"}),
    context="anyone",
    management="management",
    endpoint_announced=False,
)


def side(version: str = "v1.34.1", template: str = "t-1") -> Side:
    spec: Json = {
        "version": version,
        "infrastructureRef": {
            "apiGroup": "infrastructure.cluster.x-k8s.io",
            "kind": "Metal3MachineTemplate",
            "name": template,
        },
    }
    deployment = {"replicas": 3, "template": {"spec": spec}}
    image = {"template": {"spec": {"image": {"url": f"http://a.example/{template}"}}}}
    objects = {
        CONTROL_PLANE: made("KubeadmControlPlane.controlplane.cluster.x-k8s.io", "cp",
                            {"replicas": 1, "version": "v1.34.1"}),
        DEPLOYMENT: made("MachineDeployment.cluster.x-k8s.io", "md-0", deployment),
        TEMPLATE: made("Metal3MachineTemplate.infrastructure.cluster.x-k8s.io", template, image),
    }  # fmt: skip
    return Side(FLEET, objects)


def made(group_kind: str, name: str, spec: Json) -> Manifest:
    kind, _, api = group_kind.partition(".")
    metadata = {"name": name, "namespace": "default"}
    body = {"apiVersion": f"{api}/v1beta2", "kind": kind, "metadata": metadata, "spec": spec}
    return Manifest(name, body)


def effects(change: SiteChange) -> list[Effect]:
    return [each for one in change.changes.values() for each in judge_object(RULES, change, one)]


def test_a_new_version_replaces_the_machines_of_its_group() -> None:
    change = compare("anyone", side(), side("v1.34.2"))
    (found,) = effects(change)
    assert found.impact is Impact.REIMAGE
    assert (found.hosts, found.at_most) == (("md-0-0", "md-0-1", "md-0-2", "md-0-3"), 3)
    (plan,) = plans(change, [found])
    # Cluster API's defaults: one more machine, none missing; one host is free.
    assert (plan.pool, plan.machines, plan.at_once, plan.waves, plan.hours) == (
        "md-0",
        3,
        1,
        3,
        1.5,
    )
    # The fourth host is a spare, and no machine.
    expected = (Ledger("", 1, 0, 0, 0), Ledger("h100", 3, 24, 0, 0))
    assert capacity(change, [found], [plan]) == expected


def test_a_new_template_is_followed_by_the_reference_of_its_kind_and_group() -> None:
    change = compare("anyone", side(), side(template="t-2"))
    (found,) = [each for each in effects(change) if each.impact is Impact.REIMAGE]
    assert found.name == DEPLOYMENT
    assert found.why.startswith("image.url of t-2 changed, so Cluster API replaces")


def test_pods_fit_by_the_labels_and_taints_of_the_record() -> None:
    asked = {"nodeSelector": {"a.example/pool": "md-0"}}
    found = fits(side(), asked)
    assert found == {"cp-0": Fit.NO, **dict.fromkeys((h.name for h in WORKERS.hosts), Fit.YES)}
    assert running(side(), found) == 4  # one of the workers' hosts is free
    assert fits(side(), {})["cp-0"] is Fit.NO  # its taint keeps pods out
    unknown = fits(side(), {"nodeSelector": {"b.example/set-by-others": "x"}})
    assert set(unknown.values()) == {Fit.NO, Fit.MAYBE}


def test_one_kind_of_two_groups_is_two_kinds() -> None:
    assert find_whole(KUBERNETES, "Job.batch")
    assert find_whole(KUBERNETES, "Job.batch.volcano.sh") is None
    assert find(KUBERNETES, "Job", ("spec", "parallelism")) is None
    core = Manifest("p", {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}})
    assert core.group_kind == "Pod"


def test_effects_of_a_section_refuse_what_no_site_file_says() -> None:
    with pytest.raises(TypeError, match="site file"):
        site_of(replace(side(), source={"kind": "Cluster"}))
