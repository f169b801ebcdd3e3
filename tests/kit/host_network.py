"""What a host makes of its network data: cloud-init's own converter, and netplan's generator.

``network_data`` plays the Metal3 provider: a Metal3DataTemplate as its controller renders it (CAPM3
v1.13.2, baremetal/metal3data_manager.go), with the addresses that IPPools give. ``of_secret`` reads
what a real one rendered. ``Judge.read`` takes either. The two programs are those of Debian 12,
pinned by digest, unpacked into the toolchain's cache; without them tests are skipped.
"""

import base64
import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from tools.toolchain.cache import cache_directory, filling, hold_lock, platform_tag

Json = dict[str, Any]
PACKAGES = {
    "cloud-init=22.4.2-1+deb12u4": (
        "c18c9b1a999268413f215371ae6382f8705a437b2b24c049d6dbafcc111a1d09"
    ),
    "netplan.io=0.106-2+deb12u1": (
        "ce8119252082ac320d2cfa8208de0d297e673c144945271fac458bc71c05d6f1"
    ),
    "libnetplan0=0.106-2+deb12u1": (
        "12f9411d05b2ddf5b0b8db425c0f50bca3e7378719ed8efdcada68e44cfc8bd2"
    ),
}
"""The packages with their versions, and their SHA-256 from Debian's signed lists."""
_CONVERT = """
import json, sys, types
root, nics = sys.argv[1], json.loads(sys.argv[2])
sys.path.insert(0, root + "/usr/lib/python3/dist-packages")
# Other parts of cloud-init than the converter want it.
sys.modules["configobj"] = types.SimpleNamespace(ConfigObj=object)
from cloudinit.net import netplan, network_state
from cloudinit.distros.networking import LinuxNetworking
from cloudinit.sources.helpers import openstack
class Host(LinuxNetworking):
    def get_interfaces_by_mac(self):
        return {each[0]: each[1] for each in self.extract_physdevs(found)} if nics is None else nics
    def settle(self, *, exists=None):
        pass
found = openstack.convert_net_json(json.load(sys.stdin), known_macs=nics or {})
Host().wait_for_physdevs(found)  # stages.py, apply_network_config
state = network_state.parse_net_config_data(found)
print(netplan.Renderer({})._render_content(state))
"""


class Got(NamedTuple):
    """What a host gets: netplan's YAML, the files of systemd-networkd by name, and what netplan
    said about them."""

    netplan: Json
    files: dict[str, str]
    said: str

    def of(self, section: str, device: str) -> Json:
        """A device of a section (ethernets, bonds, vlans)."""
        found: Json = self.netplan["network"][section][device]
        return found


class ConversionError(Exception):
    """cloud-init or netplan gave up: the host would have no network."""


class Judge:
    """The programs, unpacked at ``root``."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def read(self, data: Json, folder: Path, nics: Mapping[str, str] | None = None) -> Got:
        """What a host with ``nics`` (the kernel's names by MAC; None: all that the data speak of)
        makes of its network data."""
        done = subprocess.run(
            [sys.executable, "-c", _CONVERT, str(self.root), json.dumps(nics)],
            input=json.dumps(data), capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip
        if done.returncode:
            raise ConversionError(done.stderr.strip().splitlines()[-1])
        home = folder / "etc" / "netplan"
        home.mkdir(parents=True)
        (home / "50-cloud-init.yaml").write_text(done.stdout, "utf-8")
        library = self.root / "usr" / "lib" / f"{platform_tag().split('-')[1]}-linux-gnu"
        made = subprocess.run(
            [self.root / "usr/libexec/netplan/generate", "--root-dir", folder],
            env={**os.environ, "LD_LIBRARY_PATH": str(library)},
            capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip
        if made.returncode:
            raise ConversionError(made.stderr.strip())
        files = sorted((folder / "run" / "systemd" / "network").iterdir())
        texts = {file.name: file.read_text("utf-8") for file in files}
        return Got(yaml.safe_load(done.stdout), texts, made.stderr)


@pytest.fixture(scope="session")
def judge() -> Judge:
    """The programs; skipped where Debian's packages cannot be had."""
    digest = hashlib.sha256(repr(sorted(PACKAGES.items())).encode()).hexdigest()[:12]
    root = cache_directory() / "parts" / f"host-network-{platform_tag()}-{digest}"
    if platform_tag() != "linux-x86_64":
        pytest.skip("the digests of cloud-init and netplan are those of amd64")
    with hold_lock("host-network"):
        if not root.exists():
            if not (shutil.which("apt-get") and shutil.which("dpkg")):
                pytest.skip("cloud-init and netplan come as Debian's packages, and apt is missing")
            with filling(root) as draft:
                _unpack(draft)
    return Judge(root)


def _unpack(folder: Path) -> None:
    command = ["apt-get", "download", "-o", "APT::Sandbox::User=root", *PACKAGES]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    packed = sorted(folder.glob("*.deb"))
    if done.returncode or len(packed) != len(PACKAGES):
        pytest.skip(f"apt has no {' '.join(PACKAGES)}: {done.stderr.strip()[-300:]}")
    found = {hashlib.sha256(each.read_bytes()).hexdigest() for each in packed}
    assert found == set(PACKAGES.values()), "another package than the one that is pinned"
    for each in packed:
        subprocess.run(["dpkg", "-x", each, folder], check=True, timeout=60)
        each.unlink()


def of_secret(secret: Json, field: str = "networkData") -> Json:
    """The network data, or the metaData, of a Secret that the Metal3 provider rendered."""
    found: Json = yaml.safe_load(base64.b64decode(secret["data"][field]))
    return found


def network_data(template: Json, host: Json, pools: Mapping[str, Json]) -> Json:
    """A template's network data for a BareMetalHost, with the IPPools by their names."""
    said = template["spec"]["networkData"]
    given = {name: _given(pool, host) for name, pool in pools.items()}
    networks = said["networks"]
    return {
        "links": _links(said["links"], host),
        "networks": [
            _network(each, family, given[each["ipAddressFromIPPool"]], given)
            for family in ("ipv4", "ipv6")
            for each in networks.get(family, ())
        ],
        "services": _services(said["services"]),
    }


def meta_data(template: Json, host: Json, pools: Mapping[str, Json]) -> dict[str, str]:
    """The addresses in a template's metadata for a BareMetalHost."""
    rows = template["spec"]["metaData"].get("ipAddressesFromPool", ())
    return {row["key"]: _given(pools[row["name"]], host)["address"] for row in rows}


def _given(pool: Json, host: Json) -> Json:
    """The address that a pool has for a host, with the prefix and gateway of its range."""
    name = pool["metadata"]["name"]
    key = f"{host['metadata']['name']}-{name}"
    text = pool["spec"]["preAllocations"].get(key)
    if text is None:
        return {}
    address = ip_address(text)
    (span,) = [
        each
        for each in pool["spec"]["pools"]
        if address in ip_network(each["subnet"])
        and int(ip_address(each["start"])) <= int(address) <= int(ip_address(each["end"]))
    ]
    return {"address": text, "prefix": span["prefix"], "gateway": span.get("gateway", "")}


def _links(said: Json, host: Json) -> list[Json]:
    """Bonds come first, then NICs, then VLANs; what the API server defaults is filled in."""
    found: list[Json] = []
    for each in said.get("bonds", ()):
        own = {"type": "bond", "id": each["id"], "mtu": each.get("mtu", 1500)}
        own |= {
            "bond_mode": each["bondMode"],
            "bond_xmit_hash_policy": each.get("bondXmitHashPolicy", ""),
            "bond_links": each["bondLinks"],
            "ethernet_mac_address": _mac(each, host),
        }
        own |= {f"bond_{row['name']}": row.get("value") for row in each["parameters"]}
        found.append(own | ({"name": each["name"]} if "name" in each else {}))
    for each in said.get("ethernets", ()):
        own = {"type": each["type"], "id": each["id"], "mtu": each.get("mtu", 1500)}
        own["ethernet_mac_address"] = _mac(each, host)
        found.append(own | ({"name": each["name"]} if "name" in each else {}))
    for each in said.get("vlans", ()):
        own = {"type": "vlan", "id": each["id"], "mtu": each.get("mtu", 1500)}
        own |= {"vlan_link": each["vlanLink"], "vlan_id": each["vlanID"]}
        found.append(own | {"vlan_mac_address": _mac(each, host)})
    return found


def _mac(link: Json, host: Json) -> str:
    annotation = link["macAddress"]["fromAnnotation"]["annotation"]
    mac: str = host["metadata"]["annotations"].get(annotation, "")
    if not mac:
        raise ConversionError("bad MAC address: ")  # getLinkMacAddress
    return mac


def _network(said: Json, family: str, own: Json, given: Mapping[str, Json]) -> Json:
    return {
        "type": family,
        "id": said["id"],
        "link": said["link"],
        "netmask": _mask(own["prefix"], family),
        "ip_address": own["address"],
        "routes": [
            {
                "network": each["network"],
                "netmask": _mask(each["prefix"], family),
                "gateway": given[each["gateway"]["fromIPPool"]]["gateway"],
                "services": [],
            }
            for each in said.get("routes", ())
        ],
    }


def _mask(prefix: int, family: str) -> str:
    return str(ip_network(f"{'0.0.0.0' if family == 'ipv4' else '::'}/{prefix}").netmask)


def _services(said: Json) -> list[Json]:
    return [{"type": "dns", "address": each} for each in said["dns"]]
