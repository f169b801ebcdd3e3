"""Network devices: RDMA by a device plugin, and SR-IOV by its operator or a device plugin."""

from collections.abc import Mapping

from components.effects.vocabulary import Action, Impact
from tests.verdicts.edits import Edit, applied, image, site
from tests.verdicts.row import ANY, PROTECTED, SAME, Expected, Row, Verdict, restarted

_READ_ONCE = (
    "k8s-rdma-shared-dev-plugin 410b0f3, cmd/k8s-rdma-shared-dp/main.go, and "
    "sriov-network-device-plugin 3.11.0, cmd/sriovdp/manager.go: the configuration is read at the "
    "start, so its hash renews the pods of that pool"
)
_KEEP = (
    "Kubernetes 1.34.3, pkg/kubelet/cm/devicemanager/manager.go: running pods keep their devices; "
    "RDMA cards are shared, so another name of one takes it from nobody"
)
_TWICE = (
    "Kubernetes 1.34.3, pkg/kubelet/cm/devicemanager/manager.go, allocatedDevices: devices are "
    "booked by the resource's name, so under another one those that pods hold are given away again"
)
_LEAVE = "Kubernetes 1.34.3, pkg/controller/daemon/daemon_controller.go: pods go with their set"
_SRIOV = "sriov-network-operator 1.6.0"
_UPDATE = (
    f"{_SRIOV}, api/v1/helper.go, NeedToUpdateSriov, and pkg/plugins/generic/generic_plugin.go: an "
    "interface that differs is configured anew, after its host is drained of pods with functions"
)
_FIRMWARE = (
    f"{_UPDATE}; pkg/vendors/mellanox/mellanox.go: cards of Mellanox keep it in their firmware and "
    "are rebooted for it, and Git does not say whose cards they are"
)
_ARGUMENTS = f"{_UPDATE}; a host without iommu=pt on its kernel's command line is rebooted for it"
_ATTACHED = (
    f"{_SRIOV}, controllers/generic_network_controller.go: the attachment is written anew, and "
    "pods that run keep their interfaces"
)
_RESTARTS = (
    f"{_SRIOV}, pkg/daemon/daemon.go, restartDevicePluginPod: the device plugin's pod is deleted "
    "after each generation that is applied"
)
_RDMA = (
    "{name: hca, interfaces: [ib0, ib1, ib2, ib3, ib4, ib5, ib6, ib7], gbps: 400, by_rail: true}"
)
_A100 = "    hardware: a100-sxm4-80gb-x8\n"
_APPLIED = applied("tokyo-1")
_H100 = {"h100": restarted()}
_REBOOT = {"h100": Verdict(Impact.REBOOT, None, ANY, (Impact.UNKNOWN,))}
_DRAIN = {"h100": Verdict(Impact.DRAIN, None, ANY, (Impact.UNKNOWN,))}
_UNKNOWN = {"h100": Verdict(Impact.UNKNOWN, None, ANY)}


def _divided(text: str) -> Edit:
    """Functions of h100's ordinary cards."""
    return site("tokyo-1", f"      rdma: [{_RDMA}]\n",
                f"      rdma: [{_RDMA}]\n      sriov: [{{{text}}}]\n")  # fmt: skip


def _whole(text: str) -> Edit:
    """Settings of network devices on the whole site."""
    return site("tokyo-1", "scheduling:\n", f"network_devices: {{{text}}}\nscheduling:\n")


_NIC = "name: nic, interfaces: [ens1f0np0], functions: 8"
_FUNCTIONS = _divided(_NIC)
_PLUGIN = (_divided(_NIC), _whole("sriov_by: device-plugin"))


def _row(
    name: str,
    edit: Edit,
    pools: Mapping[str, Verdict],
    source: str,
    *base: Edit,
    actions: Mapping[str, Action] | None = None,
    deletions: Mapping[str, int] | None = None,
) -> Row:
    expected = Expected(pools, actions or {}, deletions or {})
    return Row(f"network: {name}", (edit,), {"tokyo-1": expected}, source, (_APPLIED, *base))


def _rdma(name: str, old: str, new: str) -> Row:
    return _row(f"RDMA: {name}", site("tokyo-1", old, new), _H100, f"{_READ_ONCE}; {_KEEP}")


def _sriov(
    name: str,
    change: tuple[str, str],
    pools: Mapping[str, Verdict],
    source: str,
    text: str = _NIC,
    actions: Mapping[str, Action] | None = None,
) -> Row:
    """A change of functions that the operator makes."""
    edit = site("tokyo-1", *change)
    return _row(f"SR-IOV: {name}", edit, pools, source, _divided(text), actions=actions)


_SHARED = (
    _rdma("how many pods share a card", "by_rail: true}", "by_rail: true, share: 32}"),
    _rdma("an interface less", ", ib6, ib7]", ", ib6]"),
    _rdma("rails in another order", "[ib0, ib1,", "[ib1, ib0,"),
    _rdma("all cards as one resource", ", by_rail: true", ""),
    _rdma("another name", "{name: hca,", "{name: fast,"),
    _row("RDMA: what jobs know of their rails", site("tokyo-1", "by_rail: true}", "by_rail: true, "
         "hcas: [mlx5_0, mlx5_1, mlx5_2, mlx5_3, mlx5_4, mlx5_5, mlx5_6, mlx5_7]}"), {}, _KEEP),
    _rdma("another kind of link", "by_rail: true}", "by_rail: true, link: ethernet}"),
    _row("RDMA: the plugin's image", image("rdma-shared-device-plugin"), _H100, _READ_ONCE),
    Row(
        "network: RDMA: interfaces of one resource in another order",
        (site("tokyo-1", "[ib0, ib1,", "[ib1, ib0,"),),
        {},
        f"{SAME}: a plugin takes the interfaces as a set",
        (_APPLIED, site("tokyo-1", ", by_rail: true", "")),
    ),
    _row(
        "RDMA: on another pool",
        site("tokyo-1", _A100, f"{_A100}    network_devices: {{rdma: [{_RDMA}]}}\n"),
        {"a100": restarted()},
        _LEAVE,
        actions={"DaemonSet/rdma-shared-device-plugin/a100": Action.ADDED},
    ),
    _row(
        "RDMA: no more",
        site("tokyo-1", f"    network_devices:\n      rdma: [{_RDMA}]\n", ""),
        _H100,
        f"{_LEAVE}; {PROTECTED}",
        actions={
            "DaemonSet/rdma-shared-device-plugin/h100": Action.DELETED,
            "ConfigMap/rdma-shared-device-plugin/h100": Action.DELETED,
            "ConfigMap/foresite-fabric-dashboard": Action.DELETED,
            "ClusterTrainingRuntime/*-rdma": Action.DELETED,
            "Namespace/network-devices": Action.REFUSED,
        },
        deletions={"Namespace": 1},
    ),
)
_OPERATED = (
    _row("SR-IOV: functions for a pool", _FUNCTIONS, _REBOOT,
         f"{_FIRMWARE}; other cards are divided under running pods",
         actions={"SriovNetworkNodePolicy/*": Action.ADDED, "SriovOperatorConfig*": Action.ADDED}),
    _sriov("more functions", ("functions: 8", "functions: 16"), _REBOOT, _FIRMWARE),
    _sriov("fewer functions", ("functions: 8", "functions: 4"), _REBOOT, _FIRMWARE),
    _sriov("a rate of the links", ("functions: 8", "functions: 8, gbps: 100"), _H100,
           "components/remediation/checks/network-link-down.sh: the detector alone reads it"),
    _sriov("a larger MTU", ("functions: 8", "functions: 8, mtu: 9000"), _DRAIN,
           f"{_UPDATE}: the interface's MTU is raised"),
    _sriov("a smaller MTU", ("mtu: 9000", "mtu: 1500"), _DRAIN,
           f"{_UPDATE}: a function that shows another MTU", f"{_NIC}, mtu: 9000"),
    _sriov("no MTU of its own", (", mtu: 9000", ""),
           {"h100": Verdict(Impact.POD_RESTART, None, ANY)},
           f"{_UPDATE}: none is compared then; {_RESTARTS}", f"{_NIC}, mtu: 9000"),
    _sriov("bare devices", ("functions: 8", "functions: 8, driver: vfio-pci"), _REBOOT,
           _ARGUMENTS),
    _sriov("interfaces of the kernel", (", driver: vfio-pci", ""), _DRAIN, _UPDATE,
           f"{_NIC}, driver: vfio-pci"),
    _sriov("functions with RDMA", ("functions: 8", "functions: 8, rdma: true"),
           {"h100": Verdict(Impact.POD_RESTART, None, ANY, (Impact.DRAIN, Impact.UNKNOWN))},
           f"{_RESTARTS}; {_UPDATE}: only a function without a GUID needs more"),
    _sriov("another kind of link", ("rdma: true", "rdma: true, link: infiniband"), _REBOOT,
           _FIRMWARE, f"{_NIC}, rdma: true",
           {"SriovNetwork/*": Action.DELETED, "SriovIBNetwork/*": Action.ADDED}),
    _sriov("a VLAN", ("functions: 8", "functions: 8, vlan: 7"), {}, _ATTACHED),
    _sriov("addresses", ("functions: 8", "functions: 8, addresses: 10.99.0.0/16"), {}, _ATTACHED),
    _sriov("another name", ("name: nic", "name: port"), _UNKNOWN, _TWICE,
           actions={"SriovNetwork*/*nic*": Action.DELETED}),
    _sriov("an interface more", ("[ens1f0np0]", "[ens1f0np0, ens1f1np1]"), _REBOOT, _FIRMWARE),
    _sriov("an interface less", ("[ens1f0np0, ens1f1np1]", "[ens1f0np0]"), _DRAIN,
           f"{_UPDATE}: functions of an interface that no policy names are taken back",
           "name: nic, interfaces: [ens1f0np0, ens1f1np1], functions: 8"),
    Row(
        "network: SR-IOV: interfaces in another order",
        (site("tokyo-1", "[ens1f0np0, ens1f1np1]", "[ens1f1np1, ens1f0np0]"),),
        {},
        SAME,
        (_APPLIED, _divided("name: nic, interfaces: [ens1f0np0, ens1f1np1], functions: 8")),
    ),
    _row("SR-IOV: functions no more", site("tokyo-1", f"      sriov: [{{{_NIC}}}]\n", ""), _DRAIN,
         f"{_UPDATE}; pods of the operator leave with the pool's label, so it may not come to it",
         _FUNCTIONS,
         actions={
             "SriovNetwork*/*": Action.DELETED,
             "SriovOperatorConfig/default": Action.LEFT,
         }),
    _row("SR-IOV: more hosts at a time", _whole("max_unavailable: 2"), {},
         f"{_SRIOV}, controllers/drain_controller_helper.go: the pace of drains that come",
         _FUNCTIONS),
    _row("SR-IOV: the operator's webhooks", _whole("operator_webhooks: true"), {},
         f"{_SRIOV}, controllers/sriovoperatorconfig_controller.go: pods of the webhooks run on "
         "other nodes than these, and judge what is made later", _FUNCTIONS),
    _row("SR-IOV: another namespace of the operator", _whole("operator_namespace: sriov"),
         {"h100": Verdict(Impact.UNKNOWN, None, ANY, (Impact.REBOOT,))},
         f"{_SRIOV}, main.go: what lies in other namespaces is not read, so all functions may go",
         _FUNCTIONS,
         actions={"SriovOperatorConfig*": Action.REPLACED, "SriovNetwork*": Action.REPLACED}),
    Row(
        "network: SR-IOV: the domain of resources, which the operator's own settings make",
        (_whole("prefix: net.example.com"),),
        {
            "tokyo-1": Expected(
                actions={"ValidatingAdmissionPolicy/isolation.teams": Action.CHANGED}
            )
        },
        f"{_SRIOV}, deploy/operator.yaml, RESOURCE_PREFIX: no object of ours but the names that "
        "teams may tolerate",
        (_APPLIED, _FUNCTIONS),
    ),
)  # fmt: skip
_BY_PLUGIN = (
    _row("SR-IOV: a device plugin in the operator's place", _whole("sriov_by: device-plugin"),
         {"h100": Verdict(Impact.DRAIN, None, ANY, (Impact.UNKNOWN, Impact.REBOOT))},
         f"{_UPDATE}: policies that go take their functions with them", _FUNCTIONS,
         actions={
             "SriovNetwork*": Action.DELETED,
             "SriovOperatorConfig/default": Action.LEFT,
             "DaemonSet/sriov-device-plugin/h100": Action.ADDED,
         }),
    _row("SR-IOV: the operator in a device plugin's place",
         site("tokyo-1", "{sriov_by: device-plugin}", "{sriov_by: operator}"), _REBOOT,
         _FIRMWARE, *_PLUGIN,
         actions={
             "ConfigMap/sriov-device-plugin/h100": Action.DELETED,
             "DaemonSet/sriov-device-plugin/h100": Action.DELETED,
         }),
    _row("SR-IOV by plugin: more functions", site("tokyo-1", "functions: 8", "functions: 16"),
         _H100, f"{_READ_ONCE}; the OS image makes them", *_PLUGIN),
    _row("SR-IOV by plugin: its image", image("sriov-device-plugin"), _H100, _READ_ONCE, *_PLUGIN),
    _row("SR-IOV by plugin: another name", site("tokyo-1", "name: nic", "name: port"), _UNKNOWN,
         f"{_READ_ONCE}; {_TWICE}", *_PLUGIN),
    _row("SR-IOV by plugin: another domain",
         site("tokyo-1", "{sriov_by: device-plugin}",
              "{sriov_by: device-plugin, prefix: net.example.com}"), _UNKNOWN,
         f"{_READ_ONCE}; {_TWICE}", *_PLUGIN),
)  # fmt: skip
ROWS = (*_SHARED, *_OPERATED, *_BY_PLUGIN)
