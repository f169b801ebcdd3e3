"""Kubelets, files and kernels of hosts, RAID and firmware, labels and taints in place."""

from components.effects.vocabulary import Action, Impact
from tests.verdicts.edits import HARDWARE, Edit, site, swap
from tests.verdicts.row import (
    ANY,
    CPU,
    KCP_ROLLS,
    MD_IN_PLACE,
    MD_ROLLS,
    TSUKUBA,
    Expected,
    Row,
    Verdict,
)

_BMO = "Bare Metal Operator 0.13.2, internal/controller/metal3.io"
_SYNCED = f"Cluster API 1.13.6, machine_controller_noderef.go, patchNode; {MD_IN_PLACE}"
_SYSCTLS = (
    "{vm.overcommit_memory: 1, vm.panic_on_oom: 0, kernel.panic: 10, kernel.panic_on_oops: 1, "
    "kernel.keys.root_maxkeys: 1000000, kernel.keys.root_maxbytes: 25000000}"
)
_KUBELET = {
    "static processors": "cpu_manager_policy: static, "
    "cpu_manager_policy_options: [full-pcpus-only]",
    "reserved processors": 'reserved_system_cpus: "0-1"',
    "one NUMA node": "topology_manager_policy: restricted, topology_manager_scope: pod, "
    "prefer_closest_numa_nodes: true, max_allowable_numa_nodes: 16",
    "static memory": "memory_manager_policy: Static, reserved_memory_by_numa_node: [2548Mi]",
    "seccomp, pulls and sysctls": "seccomp_default: true, max_parallel_image_pulls: 4, "
    "allowed_unsafe_sysctls: [net.core.somaxconn]",
    "reserves and old images": "reserved_storage: 10Gi, reserved_pids: 4096, "
    "image_maximum_gc_age_hours: 200",
}
_USUAL = (
    "max_pods: 120, max_pids: 65536, image_gc_high_percent: 75, image_gc_low_percent: 60, "
    "container_log_max_size: 60Mi, reserved_memory: 2Gi"
)
_HOST = {
    "a file": "files: [{path: /etc/a.conf, content: a}]",
    "a file with an owner": "files: [{path: /etc/a.conf, source: certificates/example-ca.pem, "
    'owner: "root:adm", permissions: "0640"}]',
    "commands": "before_join: [udevadm settle], after_join: [systemctl restart rsyslog]",
    "arguments of the kernel": "kernel_arguments: [iommu=pt, hugepagesz=1G, hugepages=8, "
    "hugepagesz=2M, hugepages=8]",
    "sysctls": "sysctls: {net.core.rmem_max: 268435456, net.ipv4.conf.bond0/210.rp_filter: 2}",
    "modules": "modules: [nvidia_peermem]",
}
_FILES = f"{_HOST['a file'][:-1]}, {_HOST['a file with an owner'][len('files: [') :]}".replace(
    "a.conf, source", "b.conf, source"
)
_MNCORE = "data_nvme_gb: 7680\n    reimage_minutes: 35\n    data_disks: {count: 2}\n"
_RAID = '[{level: "1", name: os, size_gib: 400, disks: 2, rotational: false}]'
_NAMED = '[{level: "0", controller: C1, physical_disks: [D1, D2]}]'


def _cpu(text: str) -> Edit:
    return site("tsukuba-1", "os: rocky-9,", f"os: rocky-9, {text},")


def _whole(text: str) -> Edit:
    return site("tsukuba-1", "\npools:\n", f"\n{text}\n\npools:\n")


def _mncore(text: str) -> Edit:
    """mncore2-x8 of the catalogue, which tsukuba-1 alone has."""
    return swap(HARDWARE, _MNCORE, f"{_MNCORE}    {text}\n")


def _row(name: str, edit: Edit, expected: Expected, source: str, *base: Edit) -> Row:
    return Row(name, (edit,), {"tsukuba-1": expected}, source, base)


_IN_PLACE = Expected(
    actions={"MachineDeployment/cpu": Action.CHANGED}, says=("in place: no machine is replaced",)
)
_EVICTS = f"{_SYNCED}; Kubernetes 1.34, pkg/controller/tainteviction"
_BESIDE = "{key: example.com/a, value: x, effect: NoExecute}"
_TAINT = "taints_in_place: [{key: example.com/a, value: x, effect: %s}]"

ROWS = (
    *(
        _row(f"kubelet: {name}", _cpu(f"kubelet: {{{text}}}"), Expected(CPU), MD_ROLLS)
        for name, text in _KUBELET.items()
    ),
    _row(
        "a kubelet that changes no kernel setting",
        _cpu(f"kubelet: {{protect_kernel_defaults: true}}, host_settings: {{sysctls: {_SYSCTLS}}}"),
        Expected(CPU),
        MD_ROLLS,
    ),
    _row(
        "the kubelet of all pools",
        _whole(
            f"kubelet: {{{', '.join(_KUBELET.values())}, {_USUAL}, eviction_hard: {{memory: 500Mi, "
            "nodefs_percent: 11, imagefs_percent: 16}, protect_kernel_defaults: true}\n\n"
            f"host_settings: {{sysctls: {_SYSCTLS}}}"
        ),
        Expected(TSUKUBA),
        f"{KCP_ROLLS}; {MD_ROLLS}",
    ),
    _row(
        "the processors that are reserved in all pools",
        _whole('kubelet: {reserved_cpu: "2"}'),
        Expected(TSUKUBA),
        f"{KCP_ROLLS}; {MD_ROLLS}",
    ),
    _row(
        "the kubelet of all pools but one, which has its own",
        _whole("kubelet: {max_pods: 120}"),
        Expected({name: verdict for name, verdict in TSUKUBA.items() if name != "cpu"}),
        f"{KCP_ROLLS}; {MD_ROLLS}",
        _cpu("kubelet: {max_pods: 100}"),
    ),
    *(
        _row(f"hosts: {name}", _cpu(f"host_settings: {{{text}}}"), Expected(CPU), MD_ROLLS)
        for name, text in _HOST.items()
    ),
    _row(
        "hosts: all of a site's",
        _whole(f"host_settings: {{{', '.join([*_HOST.values()][2:])}, {_FILES}}}"),
        Expected(TSUKUBA),
        f"{KCP_ROLLS}; {MD_ROLLS}",
    ),
    *(
        _row(
            f"RAID volumes: {volumes}",
            _mncore(f"raid: {volumes}"),
            Expected(actions={"BareMetalHost/*": Action.CHANGED}, says=("5 to 20 minutes",)),
            f"{_BMO}/host_state_machine.go, handleAvailable: at the next preparing",
        )
        for volumes in (_RAID, _NAMED, "[]")
    ),
    _row(
        "firmware at the next installation",
        _mncore(
            "firmware: {settings: {WorkloadProfile: HPC, Watchdog: 5}, "
            'updates: [{component: bios, url: "http://images.tsukuba-1.example/b.exe"}]}'
        ),
        Expected(
            actions={
                "HostFirmwareSettings/*": Action.ADDED,
                "HostFirmwareComponents/*": Action.ADDED,
            },
            says=("when their hosts are installed next",),
        ),
        f"{_BMO}/host_state_machine.go: hosts that run are not prepared",
    ),
    _row(
        "firmware at the next reboot",
        _mncore("firmware: {settings: {WorkloadProfile: HPC}, apply: reboot, minutes: 10}"),
        Expected(
            actions={"HostUpdatePolicy/*": Action.ADDED},
            says=("a repair of a fault flashes it then, and takes minutes longer",),
        ),
        f"{_BMO}/baremetalhost_controller.go, doServiceIfNeeded",
    ),
    _row(
        "another value of firmware",
        swap(HARDWARE, "Profile: HPC", "Profile: Virtualization"),
        Expected(actions={"HostFirmwareSettings/*": Action.CHANGED}),
        f"{_BMO}/baremetalhost_controller.go, doServiceIfNeeded",
        _mncore("firmware: {settings: {WorkloadProfile: HPC}, apply: reboot, minutes: 10}"),
    ),
    _row(
        "firmware that nobody sets any more",
        swap(HARDWARE, "    firmware: {settings: {WorkloadProfile: HPC}}\n", ""),
        Expected(actions={"HostFirmwareSettings/*": Action.DELETED}),
        f"{_BMO}: a deleted setting brings no former value back",
        _mncore("firmware: {settings: {WorkloadProfile: HPC}}"),
    ),
    Row("the number of NUMA nodes", (_mncore("numa_nodes: 4"),), {}, "rules alone look at it"),
    _row("a label in place", _cpu("labels_in_place: {example.com/a: b}"), _IN_PLACE, _SYNCED),
    _row(
        "a label in place changes",
        site("tsukuba-1", "example.com/a: b", "example.com/a: c"),
        _IN_PLACE,
        _SYNCED,
        _cpu("labels_in_place: {example.com/a: b}"),
    ),
    _row(
        "a label is kept in place from now on",
        site("tsukuba-1", "labels: {example.com/a: b}", "labels_in_place: {example.com/a: b}"),
        Expected(CPU),
        f"{MD_ROLLS}: the kubelet's argument differs",
        _cpu("labels: {example.com/a: b}"),
    ),
    *(
        _row(
            f"a taint in place: {effect}",
            _cpu(_TAINT % effect),
            Expected(says=("no host restarts", "pods that run stay")),
            _SYNCED,
        )
        for effect in ("NoSchedule", "PreferNoSchedule")
    ),
    _row(
        "a taint in place: NoExecute",
        _cpu(_TAINT % "NoExecute"),
        Expected({"cpu": Verdict(Impact.DRAIN, None, ANY)}, says=("evicts every pod",)),
        _EVICTS,
    ),
    _row(
        "a taint in place: NoExecute beside another",
        site("tsukuba-1", _BESIDE, f"{_BESIDE}, {{key: example.com/b, effect: NoExecute}}"),
        Expected({"cpu": Verdict(Impact.DRAIN, None, ANY)}, out={"": (24, 21)}),
        _EVICTS,
        _cpu(_TAINT % "NoExecute"),
    ),
    _row(
        "a taint in place: NoExecute, and a roll",
        _cpu(f"{_TAINT % 'NoExecute'}, kubelet: {{max_pods: 50}}"),
        Expected(CPU, plans={("cpu", ""): (21, 2, 21)}, out={"": (24, 21)}),
        f"{_EVICTS}; {MD_ROLLS}",
    ),
)
