"""Random small sites, as a person would write them."""

import copy
import json
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from tests.kit.repository import FLEET

NAME = "site-1"
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFymhLku4SdfYrPbCwX88H668olnzzQcg7SSyMhAs2aA ops@example"
IMAGE = (
    "registry.example/cache/cache-server:v0.1.{}@sha256:" + "2f7c1b6de0a94c35b1f86e7d4a3920c5" * 2
)
MODELS = {"cpu-1u": "", "a100-sxm4-80gb-x8": "a100-sxm4-80gb", "t4-pcie-16gb-x1": "t4-pcie-16gb"}
"""Accelerator models by hardware profile of the catalogue."""
Row = dict[str, str]


@dataclass
class State:
    """A site's files before they are text: the site file, the host list, comments, and the number
    that the next host gets."""

    site: dict[str, Any]
    hosts: list[Row]
    comments: list[str] = field(default_factory=list)
    network: str = ""
    next: int = 1

    def copy(self) -> "State":
        return copy.deepcopy(self)

    @property
    def pools(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.site["pools"]
        return found

    @property
    def workers(self) -> list[dict[str, Any]]:
        return [each for each in self.pools if each.get("role") != "control-plane"]

    @property
    def zones(self) -> list[str]:
        return [each["name"] for each in self.site["zones"]]

    def of(self, pool: str) -> list[Row]:
        return [each for each in self.hosts if each["pool"] == pool]

    def models(self) -> dict[str, str]:
        """The accelerator model of each host."""
        hardware = {each["name"]: each["hardware"] for each in self.pools}
        return {each["name"]: MODELS[hardware[each["pool"]]] for each in self.hosts}

    def pools_of_hosts(self) -> dict[str, str]:
        return {each["name"]: each["pool"] for each in self.hosts}

    def single_zones(self) -> dict[str, str]:
        """The zone of each host whose pool is a MachineDeployment for each zone."""
        split = {each["name"] for each in self.pools if each.get("rollout", {}).get("by_zone")}
        return {each["name"]: each["zone"] for each in self.hosts if each["pool"] in split}

    def add_host(self, pool: str, zone: str) -> Row:
        number, self.next = self.next, self.next + 1
        row = {
            "name": f"{NAME}-{number:03}",
            "pool": pool,
            "zone": zone,
            "rack": f"{zone}-{number % 3}",
            "bmc": f"10.26.0.{number}",
            "mac": f"52:54:00:00:00:{number:02x}",
            "ip": f"10.20.{4 * 'abc'.index(zone)}.{100 + number}",
            "serial": f"S{number:04}",
        }
        self.hosts.append(row)
        return row

    def write(self, root: Path) -> None:
        """The files below ``root``; JSON is YAML."""
        sites = root / "sites"
        text = "".join(f"# {each}\n" for each in self.comments) + json.dumps(self.site, indent=1)
        (sites / f"{NAME}.yaml").write_text(text + "\n")
        lines = [list(self.hosts[0]), *(each.values() for each in self.hosts)]
        (sites / f"{NAME}.hosts.csv").write_text("".join(f"{','.join(each)}\n" for each in lines))
        (sites / "pod-network" / "flannel.yaml").write_text(self.network)


def draw_site(random: Random) -> State:
    """A site of 3 to 20 hosts in one to three pools."""
    zones = "abc"[: random.choice([1, 1, 2, 3])]
    site: dict[str, Any] = {
        "site": NAME,
        "region": "jp-east",
        "release": "2026.11",
        "management": "trial",
        "cluster": {
            "kubernetes": random.choice(["v1.34.3"] * 5 + ["v1.35.5"]),
            "endpoint": "10.20.0.10",
            "pods": "10.64.0.0/12",
            "services": "10.96.0.0/16",
            "pod_network": {"manifests": "pod-network/flannel.yaml"},
            "context": NAME,
        },
        "zones": [
            {"name": name, "network": f"10.20.{4 * index}.0/22", "gateway": f"10.20.{4 * index}.1"}
            for index, name in enumerate(zones)
        ],
        "bmc": {"network": "10.26.0.0/24"},
        "sources": {"os_images": "http://images.example/os"},
        "first_boot": {
            "ntp": ["10.20.0.2"],
            "dns": ["10.20.0.2"],
            "ssh": {"user": "ops", "keys": [KEY]},
        },
        "pools": [],
    }
    if site["cluster"]["kubernetes"] == "v1.35.5" and random.random() < 0.5:
        site["cluster"]["workers"] = "v1.34.8"
    if random.random() < 0.5:
        site["cluster"]["pod_network"]["install"] = "direct"
    if random.random() < 0.25:
        server = {"image": IMAGE.format(0), "reloads_config": True}
        site["cache"] = {
            "data_path": "/srv/nvme/cache", "capacity": "1500Gi", "discovery": "dns",
            "server": server,
            "buckets": [{"name": "trials", "quota": "1Ti", "public": True, "namespaces": []}],
        }  # fmt: skip
    flannel = (FLEET / "sites" / "pod-network" / "flannel.yaml").read_text("utf-8")
    state = State(site, [], network=flannel)
    _draw_control(random, state)
    names = random.sample(["cpu", "gpu", "big"], random.choice([0, 1, 1, 2, 2]))
    for name in names:
        draw_pool(random, state, name)
    if any(MODELS[each["hardware"]] for each in state.pools):
        site["accelerators"] = {"prefix": "accelerators.example.com"}
    return state


def _draw_control(random: Random, state: State) -> None:
    """Three machines or one; a virtual IP reaches one zone, so more of them need a balancer."""
    machines = random.choice([1, 3, 3, 3])
    spares = 1 if machines == 1 else random.choice([0, 0, 1])
    pool: dict[str, Any] = {"name": "control", "role": "control-plane", "hardware": "cpu-1u"}
    if spares:
        pool["spares"] = spares
    if random.random() < 0.3:
        pool["taints"] = []
    state.pools.append(pool)
    spread = random.random() < 0.5
    if spread:
        state.site["cluster"]["virtual_ip"] = "external"
    for number in range(machines + spares):
        state.add_host("control", state.zones[number % len(state.zones) if spread else 0])


def draw_pool(random: Random, state: State, name: str) -> None:
    """Add a pool of workers with its hosts; with by_zone it has hosts in each zone."""
    spares, machines = random.choice([0, 0, 1, 2]), random.choice([1, 2, 3, 4, 5, 6])
    by_zone = len(state.zones) > 1 and random.random() < 0.4
    zones = state.zones if by_zone else [random.choice(state.zones)]
    machines = max(machines // len(zones), 1)
    rollout: dict[str, Any] = {}
    if random.random() < 0.15:
        rollout["strategy"] = "OnDelete"
    else:
        surge = random.randint(0, spares)
        rollout["max_unavailable"] = min(random.choice([1, 1, 2, 3]), max(machines - 1, 1))
        if surge:
            rollout["max_surge"] = surge
    pool: dict[str, Any] = {
        "name": name,
        "hardware": random.choice([*MODELS, "cpu-1u"]),
        "rollout": rollout,
    }
    if spares:
        pool["spares"] = spares
    if by_zone:
        rollout["by_zone"] = True
    if random.random() < 0.2:
        pool["taints"] = [{"key": "example.com/team", "value": "a", "effect": "NoSchedule"}]
    state.pools.append(pool)
    for zone in zones:
        for _ in range(machines + spares):
            state.add_host(name, zone if by_zone else random.choice(state.zones))
