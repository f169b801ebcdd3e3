"""How machines are replaced and healed, and how many there are."""

from components.effects.vocabulary import Action, Impact
from tests.verdicts.edits import HARDWARE, Edit, at_tsukuba, site, swap, together
from tests.verdicts.row import (
    ANY,
    KCP_ROLLS,
    MD_IN_PLACE,
    MD_ROLLS,
    PROTECTED,
    SCALE_DOWN,
    Expected,
    Row,
    Verdict,
    added,
    reimaged,
    removed,
)

_STRATEGY = (
    "Cluster API 1.13.6, machinedeployment/mdutil/util.go, MachineTemplateUpToDate: compares the "
    "template alone, and how it is rolled is no part of it"
)
_ON_DELETE = (
    "Cluster API 1.13.6, machinedeployment/machinedeployment_rollout_ondelete.go: old machines go "
    "only when somebody deletes them"
)
_HEALTH = (
    "Cluster API 1.13.6, machinehealthcheck_targets.go, needsRemediation: acts on machines that "
    "fail the check, and none that pass it now fails it after this"
)
_FAILING = (
    "Cluster API 1.13.6, machinehealthcheck_targets.go, needsRemediation: machines that are "
    "unready now may fail the stricter check at once, up to unhealthyLessThanOrEqualTo of them; "
    "Git does not say which, if any"
)
_ROLLOUT = "rollout: {max_unavailable: 2}}"
_AT_ONCE = (
    f"{PROTECTED}; unprotected, the old object's machines are deleted at once, and those of the "
    "new ones are all made at once (Cluster API 1.13.6, machinedeployment_rollout_planner.go)"
)
_DISK = "    data_nvme_gb: 7680\n"
_WAITING = "os: rocky-9, rollout: {strategy: OnDelete}}"


def _cpu(text: str) -> Edit:
    """Other settings of tsukuba-1's cpu pool, after its operating system."""
    return site("tsukuba-1", f"os: rocky-9, {_ROLLOUT}", text)


def _health(text: str) -> Edit:
    return site("tsukuba-1", "{reboot_retries: 2}", text)


def _spare(name: str, edit: Edit, expected: Expected, source: str, *base: Edit) -> Row:
    return Row(name, (edit,), {"tsukuba-1": expected}, source, base)


_ON = _cpu(_WAITING)
_SETTINGS = (
    Row(
        "how long a drain may take",
        (site("tokyo-1", "drain_timeout_seconds: 14400", "drain_timeout_seconds: 7200"),),
        {"tokyo-1": Expected(actions={"MachineDeployment/h100": Action.CHANGED})},
        MD_IN_PLACE,
    ),
    Row(
        "how long a drain of the control plane may take",
        (
            site(
                "tsukuba-1",
                "role: control-plane,",
                "role: control-plane, rollout: {drain_timeout_seconds: 7200},",
            ),
        ),
        {"tsukuba-1": Expected(actions={"KubeadmControlPlane": Action.CHANGED})},
        "Cluster API 1.13.6, controlplane/kubeadm/internal/filters.go: mutated in place; seen live "
        "(capi-live.md, KubeadmControlPlane)",
    ),
    Row(
        "how many may be out",
        (site("tokyo-1", "max_unavailable: 10", "max_unavailable: 20"),),
        {"tokyo-1": Expected()},
        _STRATEGY,
    ),
    Row(
        "how many come first",
        (site("tokyo-1", "max_surge: 2", "max_surge: 1"),),
        {"tokyo-1": Expected()},
        _STRATEGY,
    ),
    _spare("OnDelete, nothing else", _ON, Expected(), _STRATEGY),
    Row(
        "OnDelete and another kubelet",
        (
            _ON,
            site(
                "tsukuba-1", "strategy: OnDelete}", "strategy: OnDelete}, kubelet: {max_pods: 50}"
            ),
        ),
        {"tsukuba-1": Expected(actions={"KubeadmConfigTemplate/cpu": Action.REPLACED})},
        _ON_DELETE,
    ),
    _spare(
        "another kubelet under OnDelete",
        site("tsukuba-1", "os: rocky-9,", "os: rocky-9, kubelet: {max_pods: 50},"),
        Expected(),
        _ON_DELETE,
        _ON,
    ),
    _spare(
        "OnDelete goes: machines that still wait are rolled, and Git does not say whether any do",
        site("tsukuba-1", "rollout: {strategy: OnDelete}}", _ROLLOUT),
        Expected({"cpu": Verdict(Impact.REIMAGE, 21, ANY, (Impact.UNKNOWN,))}),
        f"{_ON_DELETE}; {MD_ROLLS}",
        _ON,
    ),
)
_ZONES = (
    _spare(
        "a MachineDeployment for each zone",
        _cpu("os: rocky-9, rollout: {max_unavailable: 2, by_zone: true}}"),
        Expected(
            {"cpu": reimaged(21)},
            {"MachineDeployment/cpu": Action.REFUSED, "Metal3MachineTemplate/cpu": Action.LEFT},
            {"hosts": 21},
            plans={("cpu", "a"): (9, 9, 9), ("cpu", "b"): (12, 12, 12)},
            out={"": (24, 21)},
        ),
        _AT_ONCE,
    ),
    Row(
        "one MachineDeployment for all zones",
        (site("tokyo-1", ", by_zone: true", ""),),
        {
            "tokyo-1": Expected(
                {"a100": reimaged(80)},
                {
                    "MachineDeployment/a100/*": Action.REFUSED,
                    "MachineDeployment/a100": Action.ADDED,
                },
                {"hosts": 80},
                plans={("a100", ""): (80, 80, 80)},
                out={"a100-sxm4-80gb": (80, 80)},
            )
        },
        _AT_ONCE,
    ),
    Row(
        "a spare in each zone",
        (site("tokyo-1", "a100-sxm4-80gb-x8\n", "a100-sxm4-80gb-x8\n    spares: 1\n"),),
        {
            "tokyo-1": Expected(
                {"a100": removed(80, 1)}, deletions={"hosts": 4}, counts={Impact.REMOVE: 4}
            )
        },
        f"one machine less in each of four zones; {SCALE_DOWN}",
    ),
)
_SPARES = (
    _spare(
        "one more spare",
        site("tsukuba-1", "spares: 1", "spares: 2"),
        Expected({"mncore2": removed(40, 1)}, deletions={"hosts": 1}, counts={Impact.REMOVE: 1}),
        f"replicas 39 to 38; {SCALE_DOWN}; seen live (capi-live.md, g)",
    ),
    _spare(
        "a host more, and one more spare",
        together(at_tsukuba("mncore2", "b"), site("tsukuba-1", "spares: 1", "spares: 2")),
        Expected(
            actions={"BareMetalHost/tsukuba-1-b-250": Action.ADDED}, counts={Impact.ADD: None}
        ),
        "as many machines as before: BMO 0.13.2, host_state_machine.go: it is inspected, and stays "
        "available",
    ),
    _spare(
        "no spare any more",
        site(
            "tsukuba-1",
            "spares: 1\n    rollout: {max_unavailable: 2, max_surge: 1}",
            "rollout: {max_unavailable: 2}",
        ),
        Expected({"mncore2": added(40, 1)}, counts={Impact.ADD: 1}),
        "CAPM3 1.13.2, baremetal/metal3machine_manager.go, chooseHost: the free host, and Git does "
        "not say which that is",
    ),
    Row(
        "a spare for the control plane",
        (
            at_tsukuba("control", "a"),
            site("tsukuba-1", "role: control-plane,", "role: control-plane, spares: 1,"),
        ),
        {"tsukuba-1": Expected(actions={"KubeadmControlPlane": Action.CHANGED})},
        "Cluster API 1.13.6, kubeadmcontrolplane.go: maxSurge may be 0 or 1, and rolls nothing; as "
        "many machines as before, so the new host stays free",
    ),
)
_CHECKS = (
    *(
        _spare(f"health check: {name}", _health(f"{{{text}}}"), Expected(), _HEALTH)
        for name, text in {
            "unready for longer": "reboot_retries: 2, unhealthy_timeout_seconds: 3600",
            "fewer may be unhealthy": "reboot_retries: 2, max_unhealthy_percent: 5",
            "how often power is cycled": "reboot_retries: 3",
            "how long that may take": "reboot_retries: 2, reboot_timeout_seconds: 2400",
        }.items()
    ),
    _spare(
        "health check: unready for a shorter time",
        site("tsukuba-1", "unhealthy_timeout_seconds: 3600", "unhealthy_timeout_seconds: 1800"),
        Expected({"mncore2": Verdict(Impact.REBOOT, 40, 3)}, counts={Impact.REBOOT: 3}),
        _FAILING,
        _health("{reboot_retries: 2, unhealthy_timeout_seconds: 3600}"),
    ),
    _spare(
        "health check: more may be unhealthy",
        _health("{reboot_retries: 2, max_unhealthy_percent: 20}"),
        Expected({"mncore2": Verdict(Impact.REBOOT, 40, 7)}),
        _FAILING,
    ),
    _spare(
        "from a power cycle to a new machine",
        _health("{remedy: replace}"),
        Expected(
            {"mncore2": reimaged(40, 3)}, {"Metal3RemediationTemplate/mncore2": Action.DELETED}
        ),
        f"{_FAILING}; without templateRef the Machine is deleted",
    ),
    _spare(
        "from a new machine to a power cycle",
        site("tsukuba-1", "remedy: replace", "remedy: reboot"),
        Expected(actions={"Metal3RemediationTemplate/mncore2": Action.ADDED}),
        _HEALTH,
        _health("{remedy: replace}"),
    ),
    _spare(
        "how long a start may take",
        site("tsukuba-1", "remedy: replace", "remedy: replace, node_startup_timeout_seconds: 9000"),
        Expected(actions={"MachineHealthCheck/mncore2": Action.CHANGED}),
        _HEALTH,
        _health("{remedy: replace}"),
    ),
    _spare(
        "a control plane whose machines are replaced",
        site(
            "tsukuba-1",
            "role: control-plane,",
            "role: control-plane, health_check: {remedy: replace},",
        ),
        Expected(
            {"control": reimaged(3, 1)},
            {
                "Metal3RemediationTemplate/control": Action.DELETED,
                "KubeadmControlPlane": Action.CHANGED,
            },
        ),
        f"{_FAILING}; spec.remediation is no part of a machine ({KCP_ROLLS})",
    ),
    _spare(
        "how long a re-image takes, with the remedy replace",
        swap(HARDWARE, f"{_DISK}    reimage_minutes: 35", f"{_DISK}    reimage_minutes: 45"),
        Expected(actions={"MachineHealthCheck/mncore2": Action.CHANGED}),
        _HEALTH,
        _health("{remedy: replace}"),
    ),
    _spare(
        "how short a re-image is, with the remedy replace",
        swap(HARDWARE, f"{_DISK}    reimage_minutes: 35", f"{_DISK}    reimage_minutes: 25"),
        Expected({"mncore2": reimaged(40, 3)}),
        f"{_FAILING}; the start limit is twice the re-image",
        _health("{remedy: replace}"),
    ),
)
ROWS = (*_SETTINGS, *_ZONES, *_SPARES, *_CHECKS)
