"""A real API server refuses what the rules say it refuses, and takes what they say it takes."""

import pytest

from components.effects.applying import IDENTITY, Applier, Kind, fate
from components.effects.kubernetes import KINDS, rules_for
from components.effects.rules import find
from components.effects.vocabulary import ABSENT, Action
from components.making.manifest import Json
from controlplane import ApiError, Client, ControlPlane
from tests.kit.effects_cases import SELECTOR, Edits, at, body, change_of
from tests.kit.effects_rows import (
    DAEMON_SETS,
    IMAGE,
    NEW_CONTENT,
    OTHERS,
    RESELECTED,
    WORKLOADS,
    Row,
    affinity,
    asks,
)

REFUSALS = (403, 422)
"""Forbidden, and invalid."""
SOURCE = {"path": "/data", "server": "a"}
ELSEWHERE: Edits = {("spec", "hostPath"): ABSENT}
FIXED: dict[tuple[str, str], Edits] = {
    ("DaemonSet", "spec.selector"): RESELECTED,
    ("Deployment", "spec.selector"): RESELECTED,
    ("StatefulSet", "spec.selector"): RESELECTED,
    ("StatefulSet", "spec.serviceName"): {at("spec.serviceName"): "b"},
    ("StatefulSet", "spec.podManagementPolicy"): {at("spec.podManagementPolicy"): "Parallel"},
    ("StatefulSet", "spec.volumeClaimTemplates"): {
        at("spec.volumeClaimTemplates"): [
            {
                "metadata": {"name": "data"},
                "spec": {
                    "accessModes": ["ReadWriteOnce"],
                    "resources": {"requests": {"storage": "1Gi"}},
                },
            }
        ]
    },
    ("StatefulSet", "spec.revisionHistoryLimit"): {at("spec.revisionHistoryLimit"): 3},
    ("Job", "spec.completions"): {at("spec.completions"): 3, at("spec.parallelism"): 3},
    ("Job", "spec.parallelism"): {at("spec.parallelism"): 1},
    ("Job", "spec.selector"): {at("spec.manualSelector"): True, at("spec.selector"): SELECTOR},
    ("Job", "spec.template"): IMAGE,
    ("Job", "spec.completionMode"): {
        at("spec.completionMode"): "NonIndexed",
        at("spec.backoffLimitPerIndex"): ABSENT,
    },
    ("Job", "spec.podFailurePolicy"): {
        at("spec.podFailurePolicy"): {
            "rules": [{"action": "FailJob", "onExitCodes": {"operator": "In", "values": [1]}}]
        }
    },
    ("Job", "spec.backoffLimitPerIndex"): {at("spec.backoffLimitPerIndex"): 2},
    ("Job", "spec.managedBy"): {at("spec.managedBy"): "example.com/other"},
    ("Job", "spec.successPolicy"): {at("spec.successPolicy"): {"rules": [{"succeededCount": 1}]}},
    ("ConfigMap", "data"): NEW_CONTENT["ConfigMap"],
    ("ConfigMap", "binaryData"): {at("binaryData"): {"a": "AA=="}},
    ("Secret", "data"): {at("data"): {"a": "AA=="}},
    ("Secret", "stringData"): NEW_CONTENT["Secret"],
    ("Secret", "type"): {("type",): "example.com/other"},
    ("RoleBinding", "roleRef"): {at("roleRef.name"): "b"},
    ("ClusterRoleBinding", "roleRef"): {at("roleRef.name"): "b"},
    ("Service", "spec.clusterIP"): {at("spec.clusterIP"): "None"},
    ("ResourceQuota", "spec.scopes"): {at("spec.scopes"): ["NotTerminating"]},
    ("PriorityClass", "value"): {("value",): 11},
    ("PriorityClass", "preemptionPolicy"): {("preemptionPolicy",): "Never"},
    ("RuntimeClass", "handler"): {("handler",): "runc"},
    ("StorageClass", "provisioner"): {("provisioner",): "example.com/others"},
    ("StorageClass", "parameters"): {at("parameters.type"): "slow"},
    ("StorageClass", "reclaimPolicy"): {("reclaimPolicy",): "Retain"},
    ("StorageClass", "volumeBindingMode"): {("volumeBindingMode",): "WaitForFirstConsumer"},
    ("PersistentVolumeClaim", "spec.accessModes"): {at("spec.accessModes"): ["ReadWriteMany"]},
    ("PersistentVolumeClaim", "spec.selector"): {at("spec.selector.matchLabels.app"): "b"},
    ("PersistentVolumeClaim", "spec.storageClassName"): {at("spec.storageClassName"): "b"},
    ("PersistentVolumeClaim", "spec.volumeName"): {at("spec.volumeName"): "b"},
    ("PersistentVolume", "spec.hostPath"): {at("spec.hostPath.path"): "/other"},
    ("PersistentVolume", "spec.nfs"): {**ELSEWHERE, at("spec.nfs"): SOURCE},
    ("PersistentVolume", "spec.csi"): {
        **ELSEWHERE,
        at("spec.csi"): {"driver": "example.com", "volumeHandle": "a"},
    },
    ("PersistentVolume", "spec.fc"): {
        **ELSEWHERE,
        at("spec.fc"): {"targetWWNs": ["500a0982991b8dc5"], "lun": 2},
    },
    ("PersistentVolume", "spec.iscsi"): {
        **ELSEWHERE,
        at("spec.iscsi"): {"targetPortal": "a:3260", "iqn": "iqn.2026-01.example:a", "lun": 0},
    },
    ("PersistentVolume", "spec.local"): {
        **ELSEWHERE,
        at("spec.local"): {"path": "/data"},
        at("spec.nodeAffinity"): {
            "required": affinity(asks("a", "Exists"))["affinity"]["nodeAffinity"][
                "requiredDuringSchedulingIgnoredDuringExecution"
            ]
        },
    },
}
"""An edit of each field that is said not to change in place."""


def _stays(row: Row) -> bool:
    """True if the rules say that the object of a row is changed in place."""
    site = change_of([(body(row.kind, row.given), body(row.kind, {**row.given, **row.edits}))])
    (change,) = site.changes.values()
    (kind,) = [each for each in KINDS if kind_of(each) == row.kind]
    return fate(kind, row.by, change).action is Action.CHANGED


def kind_of(kind: Kind) -> str:
    """The kind without its API group."""
    return kind.name.partition(".")[0]


@pytest.mark.parametrize("applier", list(Applier))
def test_fields_that_are_fixed_have_their_rule(applier: Applier) -> None:
    assert {(kind_of(kind), each.path) for kind in KINDS for each in kind.fixed} == FIXED.keys()
    for kind in KINDS:
        for each in kind.fixed:
            assert find(rules_for(applier), kind.name, at(each.path)) is not None
    assert IDENTITY == ("metadata.name", "metadata.namespace")


@pytest.mark.controlplane
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.fixed], ids=lambda kind: kind.name)
def test_the_api_server_refuses_what_is_said_to_be_refused(api: ControlPlane, kind: Kind) -> None:
    """Each edit is valid in a new object, so it is the change that is refused."""
    with api.client() as client:
        client.apply({**body("Namespace"), "metadata": {"name": "impact"}})
        name = kind_of(kind)
        client.apply(body(name))
        for each in kind.fixed:
            edits = FIXED[name, each.path]
            client.apply(body(name, edits, name="new"), dry_run=True)
            assert _refused(client, body(name, edits)) == each.refuses, each.path


WAITING = {
    # Nothing makes the account that the API server gives each pod.
    "Pod",
    # Only a claim that has its volume may grow, and nothing gives it one.
    "PersistentVolumeClaim",
}
MADE_UP = "field that no rule knows"
IN_PLACE = {
    f"{row.kind}: {name}": row
    for table in (DAEMON_SETS, WORKLOADS, OTHERS)
    for name, row in table.items()
    if row.kind not in WAITING and name != MADE_UP and _stays(row)
}


@pytest.mark.controlplane
@pytest.mark.parametrize("name", IN_PLACE)
def test_the_api_server_takes_what_is_said_to_change_in_place(api: ControlPlane, name: str) -> None:
    row, own = IN_PLACE[name], f"in-place-{list(IN_PLACE).index(name)}"
    with api.client() as client:
        client.apply({**body("Namespace"), "metadata": {"name": "impact"}})
        client.apply(body(row.kind, row.given, own))
        assert not _refused(client, body(row.kind, {**row.given, **row.edits}, own))


def _refused(client: Client, edited: Json) -> bool:
    """True if a server refuses an object because of its content, and for no other reason."""
    try:
        client.apply(edited, dry_run=True)
    except ApiError as error:
        if error.status in REFUSALS:
            return True
        raise
    return False
