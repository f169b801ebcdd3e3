"""What hosts get of the networks that a site file says, by cloud-init's and netplan's own code."""

from dataclasses import replace
from ipaddress import ip_address
from pathlib import Path

import pytest

from components.machines.names import BOOT_MAC_ANNOTATION, MAC_ANNOTATION
from components.making.manifest import Json
from components.making.validation import Placed, object_problems
from components.site import objects_by_name, site_objects
from controlplane import ApiError, ControlPlane
from schemas.facts.site import Site
from schemas.kubernetes.objects import check_objects
from schemas.model.codes import Code
from schemas.model.host_networks import Bond, NicLayout
from tests.golden import every_site
from tests.golden import of_kind as objects_of
from tests.kit.host_network import ConversionError, Got, Judge, judge, meta_data, network_data
from tests.kit.host_network_site import bodies, osaka
from tests.kit.repository import all_sites

__all__ = ["judge"]


def rendered(site: Site, pool: str) -> Json:
    """The network data of a pool's first host."""
    host = next(each.name for each in site.hosts if each.pool == pool)
    template = bodies(site, "Metal3DataTemplate")[pool]
    return network_data(template, bodies(site, "BareMetalHost")[host], bodies(site, "IPPool"))


def with_layout(site: Site, name: str, **fields: object) -> Site:
    layouts = {**site.file.host_networks, name: _changed(site.file.host_networks[name], fields)}
    return replace(site, file=site.file.model_copy(update={"host_networks": layouts}))


def _changed(layout: NicLayout, fields: dict[str, object]) -> NicLayout:
    return layout.model_copy(update=fields)


@pytest.fixture(scope="module")
def control(judge: Judge, tmp_path_factory: pytest.TempPathFactory) -> Got:
    return judge.read(rendered(osaka(), "control"), tmp_path_factory.mktemp("control"))


@pytest.fixture(scope="module")
def cpu(judge: Judge, tmp_path_factory: pytest.TempPathFactory) -> Got:
    return judge.read(rendered(osaka(), "cpu"), tmp_path_factory.mktemp("cpu"))


def test_a_bond_has_the_addresses_of_both_families(control: Got) -> None:
    bond = control.of("bonds", "bond0")
    assert bond["addresses"] == ["10.80.0.11/24", "2001:db8:a::b/64"]
    assert bond["parameters"] == {"mode": "802.3ad", "transmit-hash-policy": "layer3+4"}
    assert (bond["interfaces"], bond["mtu"]) == (["nic0", "nic1"], 9000)
    assert bond["macaddress"] == "52:54:00:13:00:01"
    assert bond["routes"] == [
        {"to": "0.0.0.0/0", "via": "10.80.0.1"},
        {"to": "::/0", "via": "2001:db8:a::1"},
    ]
    assert "Mode=802.3ad" in control.files["10-netplan-bond0.netdev"]


def test_a_vlan_of_a_bond_carries_a_further_network(control: Got) -> None:
    vlan = control.of("vlans", "bond0.210")
    assert (vlan["id"], vlan["link"], vlan["mtu"]) == (210, "bond0", 8900)
    assert vlan["addresses"] == ["10.128.0.11/24"]
    assert vlan["routes"] == [{"to": "10.130.0.0/16", "via": "10.128.0.1"}]
    assert "VLAN=bond0.210" in control.files["10-netplan-bond0.network"]
    assert "MTUBytes=8900" in control.files["10-netplan-bond0.210.netdev"]


def test_nics_are_named_by_their_macs_and_have_the_bonds_mtu(control: Got) -> None:
    for nic, mac in {"nic0": "52:54:00:13:00:01", "nic1": "52:54:00:13:01:01"}.items():
        said = control.of("ethernets", nic)
        assert said == {"match": {"macaddress": mac}, "mtu": 9000, "set-name": nic}
        assert f"PermanentMACAddress={mac}" in control.files[f"10-netplan-{nic}.link"]
        assert "Bond=bond0" in control.files[f"10-netplan-{nic}.network"]


def test_two_bonds_and_an_address_on_a_vlan(cpu: Got) -> None:
    first, second = cpu.of("bonds", "bond0"), cpu.of("bonds", "bond1")
    assert "addresses" not in first and second["addresses"] == ["10.128.1.11/24"]
    assert (first["parameters"]["mode"], first["mtu"]) == ("balance-tlb", 1500)
    assert (second["parameters"]["mode"], second["mtu"]) == ("802.3ad", 9000)
    primary = cpu.of("vlans", "bond0.100")
    assert primary["addresses"] == ["10.80.1.11/24", "2001:db8:b::b/64"]
    assert {each["via"] for each in primary["routes"]} == {"10.80.1.1", "fe80::1"}
    backup = cpu.of("vlans", "bond1.300")
    assert (backup["addresses"], backup["mtu"], "routes" in backup) == (
        ["10.129.0.3/28"],
        9000,
        False,
    )


def test_every_device_that_a_network_is_on_has_its_files(control: Got, cpu: Got) -> None:
    for got in (control, cpu):
        names = [*got.netplan["network"].get("bonds", {}), *got.netplan["network"].get("vlans", {})]
        assert {f"10-netplan-{name}.netdev" for name in names} <= got.files.keys()
        assert "too long" not in got.said and "ignored" not in got.said


@pytest.mark.parametrize("name", ["lab-1", "edge-1"])
def test_a_site_that_says_nothing_keeps_its_one_nic(
    name: str, judge: Judge, tmp_path: Path
) -> None:
    site = every_site()[name]
    pool = site.file.pools[0]
    host = site.hosts_of(pool)[0]
    got = judge.read(rendered(site, pool.name), tmp_path, {host.mac: "eno1"})
    (nic,) = got.netplan["network"]["ethernets"].values()
    prefix = next(each.network for each in site.file.zones if each.name == host.zone).split("/")[1]
    assert nic["addresses"] == [f"{host.ip}/{prefix}"]
    assert nic["match"] == {"macaddress": host.mac} and nic["set-name"] == "eno1"
    assert len(nic["routes"]) == 1 and got.netplan["network"].keys() == {"version", "ethernets"}


@pytest.mark.parametrize("lost", [0, 1])
def test_a_mac_that_no_nic_has_costs_the_host_its_network(
    lost: int, judge: Judge, tmp_path: Path
) -> None:
    """A wrong MAC, or a card that is dead: cloud-init waits for each, and gives up."""
    data = rendered(osaka(), "control")
    macs = [each["ethernet_mac_address"] for each in data["links"] if each["type"] == "phy"]
    nics = {mac: f"eth{number}" for number, mac in enumerate(macs)}
    assert judge.read(data, tmp_path, nics).of("bonds", "bond0")["addresses"]
    del nics[macs[lost]]
    with pytest.raises(ConversionError, match=f"physical devices present: .*{macs[lost]}"):
        judge.read(data, tmp_path, nics)


def test_without_its_name_a_nic_that_is_not_there_costs_the_host(
    judge: Judge, tmp_path: Path
) -> None:
    data = rendered(osaka(), "plain")
    with pytest.raises(ConversionError, match="Unable to find a system nic"):
        judge.read(data, tmp_path, {"52:54:00:99:99:99": "eno1"})


def test_a_missing_mac_stops_the_provider() -> None:
    site = osaka()
    host = bodies(site, "BareMetalHost")["osaka-1-a-001"]
    lacking = {**host, "metadata": {**host["metadata"], "annotations": {}}}
    template = bodies(site, "Metal3DataTemplate")["control"]
    with pytest.raises(ConversionError, match="bad MAC address"):
        network_data(template, lacking, bodies(site, "IPPool"))


def test_cloud_init_counts_bonds_whatever_they_are_called(judge: Judge, tmp_path: Path) -> None:
    """So the site file's names are bond0, bond1 and so on, in order."""
    data = rendered(osaka(), "control")
    for link in data["links"]:
        if link["type"] == "bond":
            link["name"] = "uplink"
    assert list(judge.read(data, tmp_path).netplan["network"]["bonds"]) == ["bond0"]


def test_a_parameter_with_a_value_costs_the_host_its_network(judge: Judge, tmp_path: Path) -> None:
    """The CRD takes only objects as values; what we write, a name alone, changes nothing."""
    data = rendered(osaka(), "control")
    (bond,) = (link for link in data["links"] if link["type"] == "bond")
    assert bond["bond_miimon"] is None
    bond["bond_miimon"] = {"a": 1}
    with pytest.raises(ConversionError, match="scalar"):
        judge.read(data, tmp_path)


def test_a_name_that_is_too_long_is_ignored_by_the_host(judge: Judge, tmp_path: Path) -> None:
    """So NICs have at most ten characters."""
    site = osaka()
    data = rendered(site, "control")
    for link in data["links"]:
        if link["id"] == "nic1":
            link["name"] = "enp65s0f0np0"
            vlan = {"type": "vlan", "id": "v", "mtu": 1500, "vlan_id": 2100, "vlan_link": "nic1"}
            data["links"].append({**vlan, "vlan_mac_address": "52:54:00:13:01:01"})
            break
    assert "too long" in judge.read(data, tmp_path).said


def test_orders_in_the_site_file_do_not_matter() -> None:
    site, name = osaka(), "two"
    layout = site.file.host_networks[name]
    turned = with_layout(
        site,
        name,
        nics=[layout.nics[0], *reversed(layout.nics[1:])],
        bonds={
            key: Bond(nics=[*reversed(each.nics)], mode=each.mode, hash=each.hash)
            for key, each in reversed(layout.bonds.items())
        },
        attach=dict(reversed(layout.attach.items())),
        mtu=dict(reversed(layout.mtu.items())),
    )
    assert bodies(turned, "Metal3DataTemplate") == bodies(site, "Metal3DataTemplate")


def test_a_bond_has_the_mac_that_boots_wherever_its_nic_stands() -> None:
    site = osaka()
    layout = site.file.host_networks["lacp"]
    turned = with_layout(site, "lacp", nics=[*reversed(layout.nics)])
    links = bodies(turned, "Metal3DataTemplate")["control"]["spec"]["networkData"]["links"]
    boot = BOOT_MAC_ANNOTATION
    (bond,) = links["bonds"]
    assert bond["macAddress"]["fromAnnotation"]["annotation"] == boot
    own = {
        each["id"]: each["macAddress"]["fromAnnotation"]["annotation"]
        for each in links["ethernets"]
    }
    assert own[layout.nics[-1]] == boot and own[layout.nics[0]] == MAC_ANNOTATION + layout.nics[0]


def test_every_link_says_its_mtu() -> None:
    """The API server would write 1500 on each that does not."""
    for template in bodies(osaka(), "Metal3DataTemplate").values():
        links = template["spec"]["networkData"]["links"]
        named = [each for kind in links.values() for each in kind if each["id"] != "boot"]
        assert all("mtu" in each for each in named)


def test_nodes_are_told_their_addresses() -> None:
    site = osaka()
    template = bodies(site, "Metal3DataTemplate")["control"]
    host = bodies(site, "BareMetalHost")["osaka-1-a-003"]
    assert meta_data(template, host, bodies(site, "IPPool")) == {
        "ip4": "10.80.0.13",
        "ip6": "2001:db8:a::1:3",
    }
    spec = bodies(site, "KubeadmControlPlane")["osaka-1"]["spec"]["kubeadmConfigSpec"]
    both = "{{ ds.meta_data.ip4 }},{{ ds.meta_data.ip6 }}"
    for part in (spec["initConfiguration"], spec["joinConfiguration"]):
        assert {"name": "node-ip", "value": both} in part["nodeRegistration"]["kubeletExtraArgs"]
    endpoint = {"advertiseAddress": "{{ ds.meta_data.ip4 }}"}
    assert spec["initConfiguration"]["localAPIEndpoint"] == endpoint
    assert spec["joinConfiguration"]["controlPlane"] == {"localAPIEndpoint": endpoint}
    (plain,) = (each.body for each in objects_of(every_site()["lab-1"], "KubeadmControlPlane"))
    said = plain["spec"]["kubeadmConfigSpec"]
    assert "localAPIEndpoint" not in said["initConfiguration"]


def test_the_cluster_has_both_families() -> None:
    network = bodies(osaka(), "Cluster")["osaka-1"]["spec"]["clusterNetwork"]
    assert network["pods"] == {"cidrBlocks": ["10.64.0.0/12", "fd00:64::/48"]}
    assert network["services"] == {"cidrBlocks": ["10.96.0.0/16", "fd00:96::/112"]}


def test_pools_of_addresses_have_prefixes_of_their_own() -> None:
    """Objects IPAddress are named by the prefix and the address."""
    pools = bodies(osaka(), "IPPool")
    assert pools.keys() == {"osaka-1", "osaka-1-storage", "osaka-1-backup", "osaka-1-v6"}
    assert {each["spec"]["namePrefix"] for each in pools.values()} == pools.keys()
    for name, pool in pools.items():
        assert all(key.endswith(f"-{name}") for key in pool["spec"]["preAllocations"])


def test_ranges_are_as_short_as_ipam_can_count_them() -> None:
    """It takes one address after the other: a whole IPv6 network would keep it busy for ever."""
    pool = bodies(osaka(), "IPPool")["osaka-1-v6"]["spec"]
    spans = [(int(ip_address(e["start"])), int(ip_address(e["end"]))) for e in pool["pools"]]
    assert all(last - first < 65536 for first, last in spans)
    for text in pool["preAllocations"].values():
        assert any(first <= int(ip_address(text)) <= last for first, last in spans)


def test_the_first_block_of_a_zone_stays_when_its_last_host_goes() -> None:
    """IPAM refuses ranges without an address that is in use."""
    site = osaka()
    fewer = replace(site, hosts=tuple(each for each in site.hosts if each.zone != "b"))
    was, now = (bodies(each, "IPPool")["osaka-1-v6"]["spec"]["pools"] for each in (site, fewer))
    assert now == was and {each["subnet"] for each in now} == {"2001:db8:a::/64", "2001:db8:b::/64"}


def test_a_bmc_has_its_own_port_and_path() -> None:
    hosts = bodies(osaka(), "BareMetalHost")
    assert hosts["osaka-1-a-001"]["spec"]["bmc"]["address"] == (
        "redfish-virtualmedia+http://10.80.0.1:8000/redfish/v1/Systems/"
        "3f6a0d52-0c1e-4b0e-9d0a-000000000001"
    )
    address = hosts["osaka-1-b-001"]["spec"]["bmc"]["address"]
    assert address == "redfish-virtualmedia://10.80.0.4/redfish/v1/Systems/1"


def test_the_schemas_of_all_objects_fit() -> None:
    assert check_objects([each.body for each in objects_by_name(osaka()).values()]) == []


def with_arm64(site: Site, names: tuple[str, ...] = ("cpu",), **release: object) -> Site:
    pools = [
        pool.model_copy(update={"hardware": "cpu-1u-arm64", "os": None})
        if pool.name in names
        else pool
        for pool in site.file.pools
    ]
    file = site.file.model_copy(update={"pools": pools})
    return replace(site, file=file, release=site.release.model_copy(update=release))


def test_arm64_hosts_have_images_of_their_own() -> None:
    site = with_arm64(osaka())
    hosts = bodies(site, "BareMetalHost")
    assert hosts["osaka-1-b-001"]["spec"]["architecture"] == "aarch64"
    assert "architecture" not in hosts["osaka-1-a-001"]["spec"]
    images = {
        name: each["spec"]["template"]["spec"]["image"]["url"]
        for name, each in bodies(site, "Metal3MachineTemplate").items()
    }
    assert "arm64" in images["cpu"] and "arm64" not in images["control"]
    pool = next(each for each in site.file.pools if each.name == "cpu")
    builds = site.operating_system(pool).images
    assert images["cpu"].endswith(str(builds[site.version(pool)].arm64.file))  # type: ignore[union-attr]


def test_what_lands_on_arm64_is_said_to_be_built_for_it() -> None:
    tsukuba = all_sites()["tsukuba-1"]
    found = [problem for _, problem in object_problems(with_arm64(tsukuba), site_objects(tsukuba))]
    assert {each.code for each in found} == {Code.IMAGE_ARCHITECTURE}
    assert any("flannel:" in each.message for each in found)
    assert any(
        "kube-vip" in p.message
        for _, p in _problems(with_arm64(tsukuba, ("control",), multi_arch=[]))
    )
    names = ["ghcr.io/flannel-io/flannel", "ghcr.io/flannel-io/flannel-cni-plugin"]
    sources = tsukuba.file.sources.model_copy(update={"multi_arch": names})
    file = tsukuba.file.model_copy(update={"sources": sources})
    assert _problems(with_arm64(replace(tsukuba, file=file))) == []


def _problems(site: Site) -> list[Placed]:
    return object_problems(site, site_objects(site))


@pytest.mark.controlplane
def test_the_api_server_takes_every_object_strictly(api: ControlPlane) -> None:
    kinds = ("IPPool", "Metal3DataTemplate", "BareMetalHost", "Cluster", "KubeadmControlPlane",
             "KubeadmConfigTemplate")  # fmt: skip
    with api.client() as client:
        namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "osaka-1"}}
        client.apply(namespace)
        for kind in kinds:
            for body in bodies(osaka(), kind).values():
                try:
                    client.apply(body, dry_run=True)
                except ApiError as error:
                    pytest.fail(f"{kind} {body['metadata']['name']}: {error}")
        (template,) = (bodies(osaka(), "Metal3DataTemplate")["control"],)
        taken = client.apply(template, dry_run=True)["spec"]["networkData"]["links"]
        assert taken == template["spec"]["networkData"]["links"]
