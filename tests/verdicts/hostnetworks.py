"""The networks of hosts: NICs, bonds, VLANs, further networks, and the second family."""

from collections.abc import Mapping

from components.effects.vocabulary import Action, Impact
from tests.verdicts.edits import Edit, Lines, cells, listed, site, together
from tests.verdicts.row import MD_ROLLS, PROTECTED, TSUKUBA, Expected, Row, Verdict, reimaged

_DATA = (
    "CAPM3 1.13.2, internal/webhooks/v1beta2/metal3datatemplate_webhook.go: spec.networkData "
    f"cannot be modified, so the template gets another name; {MD_ROLLS}"
)
_RENDERED = "CAPM3 1.13.2, baremetal/metal3data_manager.go: rendered once, when a machine is made"
_CLAIM = "IPAM 1.13.2, ippool_manager.go: a claim is answered once"
_RANGES = (
    "Cluster API 1.13.6, bootstrap/kubeadm/internal/controllers/kubeadmconfig_controller.go; "
    "Kubernetes cannot change the ranges of a running cluster (kubeadm, dual-stack page)"
)
_CPU: Mapping[str, Verdict] = {"cpu": reimaged(21)}
_HOST = "tsukuba-1-a-004"
_BLOCK = """\
networks:
  storage:
    routes: [10.130.0.0/16]
    zones: {a: {network: 10.128.0.0/24, gateway: 10.128.0.1}, b: {network: 10.128.1.0/24, gateway: 10.128.1.1}}
host_networks:
  lacp:
    nics: [nic0, nic1]
    bonds: {bond0: {nics: [nic0, nic1]}}
    mtu: {bond0: 9000}
    primary: bond0
    attach: {storage: bond0.210}
  plain: {nics: [nic0, nic1, nic2], primary: nic0}

pools:
"""  # noqa: E501


def _further(rows: Lines) -> None:
    for row in rows:
        mine = row["pool"] == "cpu"
        row["mac_nic1"] = row["mac"].replace("52:54:00", "52:54:01") if mine else ""
        row["mac_nic2"] = row["mac"].replace("52:54:00", "52:54:02")
        row["ip_storage"] = ""
        row["ip6"] = ""


_NAMED = site("tsukuba-1", "{name: cpu, hardware: cpu-1u,",
              "{name: cpu, host_network: lacp, hardware: cpu-1u,")  # fmt: skip
_SITE = together(site("tsukuba-1", "\npools:\n", f"\n{_BLOCK}"), listed("tsukuba-1", _further))
_BASE = (_SITE, _NAMED)
_LEFT = site("tsukuba-1", "attach: {storage: bond0.210}", "attach: {}")
_GONE = together(
    site("tsukuba-1", _BLOCK[: _BLOCK.index("host_networks")], ""),
    listed("tsukuba-1", lambda rows: [row.pop("ip_storage", "") for row in rows]),
)


def _row(
    name: str, old: str, new: str, pools: Mapping[str, Verdict], source: str = _DATA,
    actions: Mapping[str, Action] | None = None,
) -> Row:  # fmt: skip
    expected = Expected(pools, actions or {})
    return Row(name, (site("tsukuba-1", old, new),), {"tsukuba-1": expected}, source, _BASE)


def _cell(name: str, edit: Edit, expected: Expected, source: str) -> Row:
    return Row(name, (edit,), {"tsukuba-1": expected}, source, _BASE)


_SECOND = together(
    site("tsukuba-1", "  services: 10.96.0.0/16\n",
         "  services: 10.96.0.0/16\n  pods6: fd00:64::/48\n  services6: fd00:96::/112\n"),
    site("tsukuba-1", "gateway: 10.17.0.1}",
         "gateway: 10.17.0.1, network6: 2001:db8:a::/64, gateway6: 2001:db8:a::1}"),
    site("tsukuba-1", "gateway: 10.17.1.1}",
         "gateway: 10.17.1.1, network6: 2001:db8:b::/64, gateway6: 2001:db8:b::1}"),
    site("tsukuba-1", "pod-network/flannel.yaml", "pod-network/own.yaml"),
    lambda repository: repository.write(
        "sites/pod-network/own.yaml",
        repository.text("sites/pod-network/flannel.yaml").replace(
            '"Network": "10.64.0.0/12"',
            '"Network": "10.64.0.0/12", "EnableIPv6": true, "IPv6Network": "fd00:64::/48"')),
)  # fmt: skip
_EVERY: Mapping[str, Verdict] = {
    name: Verdict(each.impact, each.hosts, each.at_most, (Impact.UNKNOWN,))
    for name, each in TSUKUBA.items()
}

_OWN = """
hardware:
  own:
    description: A server
    cpu_cores: 64
    memory_gib: 512
    arch: amd64
    root_disk: {serial_number: root}
"""
_PLAIN = "  os_images: http://images.tsukuba-1.example/os\n"
_FLANNEL = "  multi_arch: [ghcr.io/flannel-io/flannel, ghcr.io/flannel-io/flannel-cni-plugin]\n"
_ARM64 = (
    site("tsukuba-1", "{name: cpu, hardware: cpu-1u, os: rocky-9,", "{name: cpu, hardware: own,"),
    site("tsukuba-1", "\npools:\n", f"{_OWN}\npools:\n"),
)

ROWS = (
    Row("the architecture of hosts", (site("tsukuba-1", "arch: amd64", "arch: arm64"),),
        {"tsukuba-1": Expected(_CPU, {"BareMetalHost/*": Action.CHANGED})},
        f"BMO 0.13.2, spec.architecture chooses the installer; another OS image; {MD_ROLLS}",
        (*_ARM64, site("tsukuba-1", _PLAIN, _PLAIN + _FLANNEL))),
    Row("an image that is said to be built for arm64",
        (site("tsukuba-1", _PLAIN, _PLAIN + _FLANNEL),), {},
        "components/: no object carries it"),
    Row("a bond and a further network of a pool", (_NAMED,),
        {"tsukuba-1": Expected(_CPU, {"IPPool/storage": Action.CHANGED})}, _DATA, (_SITE,)),
    Row("a layout that no pool has", (_SITE,), {"tsukuba-1": Expected()},
        "components/: no template carries it, only annotations of hosts for NICs that wait"),
    _row("a third NIC", "nics: [nic0, nic1]\n    bonds",
         "nics: [nic0, nic1, nic2]\n    bonds", _CPU),
    _row("the mode of a bond", "{nics: [nic0, nic1]}}",
         "{nics: [nic0, nic1], mode: balance-tlb}}", _CPU),
    _row("the hash of a bond", "{nics: [nic0, nic1]}}",
         "{nics: [nic0, nic1], hash: layer2+3}}", _CPU),
    _row("a network that hosts leave", "attach: {storage: bond0.210}", "attach: {}", _CPU, _DATA,
         {"IPPool/storage": Action.CHANGED}),
    Row("a network that is gone while an IPPool has its addresses", (_GONE,),
        {"tsukuba-1": Expected({}, {"IPPool/storage": Action.REFUSED}, {"IPPool": 1})}, PROTECTED,
        (*_BASE, _LEFT)),
    Row("an order of NICs",
        (site("tsukuba-1", "bond0: {nics: [nic0, nic1]}", "bond0: {nics: [nic1, nic0]}"),), {},
        "components/machines/network_data.py: links stand in the order of their names", _BASE),
    _row("an MTU", "mtu: {bond0: 9000}", "mtu: {bond0: 8900}", _CPU),
    _row("a VLAN for the hosts' own address", "primary: bond0", "primary: bond0.100", _CPU),
    _row("another VLAN of a network", "bond0.210", "bond0.211", _CPU),
    _row("a route of a network", "10.130.0.0/16", "10.131.0.0/16", _CPU),
    _row("a gateway of a network", "gateway: 10.128.1.1", "gateway: 10.128.1.2", {}, _CLAIM,
         {"IPPool/storage": Action.CHANGED}),
    _row("a subnet of a network", "network: 10.128.1.0/24, gateway: 10.128.1.1",
         "network: 10.128.2.0/24, gateway: 10.128.2.1", {}, _CLAIM,
         {"IPPool/storage": Action.REFUSED}),
    _cell("a MAC of a NIC that does not boot",
          cells("tsukuba-1", _HOST, mac_nic1="52:54:03:00:00:01"),
          Expected(actions={f"BareMetalHost/{_HOST}": Action.CHANGED},
                   says=("installed next",)), _RENDERED),
    _cell("an address in a further network", cells("tsukuba-1", _HOST, ip_storage="10.128.0.240"),
          Expected(actions={"IPPool/storage": Action.CHANGED}), _CLAIM),
    Row("IPv6 on a running site", (_SECOND,),
        {"tsukuba-1": Expected(_EVERY, {"IPPool/v6": Action.ADDED})}, f"{_RANGES}; {_DATA}"),
    Row("other IPv6 networks of pods and Services",
        (site("tsukuba-1", "fd00:96::/112", "fd00:97::/112"),),
        {"tsukuba-1": Expected(_EVERY)}, _RANGES, (_SECOND,)),
    Row("an IPv6 gateway", (site("tsukuba-1", "gateway6: 2001:db8:b::1", "gateway6: fe80::1"),),
        {"tsukuba-1": Expected({}, {"IPPool/v6": Action.CHANGED})}, _CLAIM, (_SECOND,)),
)  # fmt: skip
"""NICs, bonds, VLANs and addresses of hosts."""
