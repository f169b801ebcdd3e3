"""Random edits of a site's files, each with the words that say what it is."""

from collections.abc import Callable
from random import Random
from typing import Any

from tests.preview.simulator.sites import IMAGE, KEY, State, draw_pool

Edit = Callable[[Random, State], str]
"""Changes the state; the words, none where the state has nothing to change so."""
EDITS: list[Edit] = []
Pool = dict[str, Any]
TAINT = {"key": "example.com/team", "value": "b", "effect": "NoSchedule"}
OF_A_POOL: dict[str, list[dict[str, Any]]] = {
    "os": [{"os": "rocky-9"}, {"os": "ubuntu-24.04"}],
    "kubelet": [{"max_pods": 60}, {"max_pods": 110}, {"reserved_memory": "3Gi"}],
    "taints": [{"taints": []}, {"taints": [TAINT]}],
    "labels": [{"node.cluster.x-k8s.io/tier": "x"}, {"example.com/tier": "x"}],
    "rollout": [
        *({"drain_timeout_seconds": seconds} for seconds in (600, 7200)),
        *({"max_unavailable": number} for number in (1, 2)),
        *({"max_surge": number} for number in (0, 1)),
        *({"strategy": strategy} for strategy in ("OnDelete", "RollingUpdate")),
    ],
    "health_check": [{"reboot_retries": 2}, {"max_unhealthy_percent": 40}],
}
"""Settings of a pool; a map is merged into what is there."""
FIRST_BOOT: list[dict[str, Any]] = [
    {"ntp": ["10.20.0.3"]},
    {"dns": ["10.20.0.3"]},
    {"ssh": {"user": "admin", "keys": [KEY]}},
    {"ca_certificates": ["certificates/example-ca.pem"]},
]


def edit(function: Edit) -> Edit:
    EDITS.append(function)
    return function


def _mostly_worker(random: Random, state: State) -> Pool:
    """A control plane has an odd number of machines, so most changes of its hosts are refused."""
    return random.choice(state.workers if state.workers and random.random() < 0.9 else state.pools)


def _rollout(pool: Pool) -> Pool:
    rollout: Pool = pool.setdefault("rollout", {})
    return rollout


def _setting(name: str) -> Edit:
    def change(random: Random, state: State) -> str:
        pool, value = random.choice(state.pools), random.choice(OF_A_POOL[name])
        pool.update(value if name in value else {name: {**pool.get(name, {}), **value}})
        return f"{name} of {pool['name']}: {value}"

    return change


EDITS += map(_setting, OF_A_POOL)


# --- the site ------------------------------------------------------------------------------------
@edit
def patch(random: Random, state: State) -> str:
    if state.site["cluster"]["kubernetes"] != "v1.34.3":
        return ""
    state.site["cluster"]["kubernetes"] = "v1.34.8"
    return "Kubernetes v1.34.8 everywhere"


@edit
def minor(random: Random, state: State) -> str:
    cluster = state.site["cluster"]
    held = random.choice([None, cluster.get("workers", cluster["kubernetes"])])
    cluster["kubernetes"] = "v1.35.5"
    cluster.pop("workers", None)
    if held:
        cluster["workers"] = held
    return f"Kubernetes v1.35.5, workers {held or 'too'}"


@edit
def catch_up(random: Random, state: State) -> str:
    held = state.site["cluster"].pop("workers", None)
    return held and f"workers follow from {held}"


@edit
def first_boot(random: Random, state: State) -> str:
    target: Pool = state.site["first_boot"]
    where, value = "the site", random.choice(FIRST_BOOT)
    if random.random() < 0.5:
        pool = random.choice(state.pools)
        target, where = pool.setdefault("first_boot", {**target}), pool["name"]
    target.update(value)
    return f"first boot of {where}: {value}"


@edit
def mirror(random: Random, state: State) -> str:
    state.site["sources"]["registry_mirror"] = "https://registry.example"
    return "a registry mirror"


@edit
def comment(random: Random, state: State) -> str:
    state.comments.append(f"note {random.random()}")
    return "a comment"


@edit
def order(random: Random, state: State) -> str:
    which = random.choice(["pools", "zones", "hosts"])
    random.shuffle(state.hosts if which == "hosts" else state.site[which])
    return f"order of {which}"


@edit
def column(random: Random, state: State) -> str:
    """A cell of a host list that decides nothing about Machines, or that is refused."""
    host = random.choice(state.hosts)
    state.next += 1
    name, value = random.choice([
        ("bmc", f"10.26.0.{state.next + 100}"), ("mac", f"52:54:00:00:01:{state.next:02x}"),
        ("serial", f"T{state.next}"), ("rack", "moved-9"),
        ("ip", host["ip"].rpartition(".")[0] + f".{200 + state.next % 50}"),
    ])  # fmt: skip
    host[name] = value
    return f"{name} of {host['name']}"


# --- hosts and pools ------------------------------------------------------------------------------
@edit
def add_hosts(random: Random, state: State) -> str:
    pool = _mostly_worker(random, state)
    number = random.choice([1, 1, 2, 4])
    zones = {each["zone"] for each in state.of(pool["name"])}
    for _ in range(number):
        state.add_host(pool["name"], random.choice(sorted(zones) or state.zones))
    return f"{number} hosts more in {pool['name']}"


@edit
def add_spare(random: Random, state: State) -> str:
    pool = _mostly_worker(random, state)
    zones = sorted({each["zone"] for each in state.of(pool["name"])})
    pool["spares"] = pool.get("spares", 0) + 1
    for zone in zones if _rollout(pool).get("by_zone") else zones[:1]:
        state.add_host(pool["name"], zone)
    return f"a host more in {pool['name']} as a spare"


@edit
def remove_hosts(random: Random, state: State) -> str:
    pool = _mostly_worker(random, state)
    rows = state.of(pool["name"])
    if len(rows) < 2:
        return ""
    gone = random.sample(rows, min(random.choice([1, 1, 2]), len(rows) - 1))
    state.hosts = [each for each in state.hosts if each not in gone]
    return " ".join([*(each["name"] for each in gone), f"of {pool['name']} removed"])


@edit
def spares(random: Random, state: State) -> str:
    pool = _mostly_worker(random, state)
    pool["spares"] = max(pool.get("spares", 0) + random.choice([-1, 1]), 0)
    return f"spares of {pool['name']}: {pool['spares']}"


@edit
def move(random: Random, state: State) -> str:
    """Mostly between pools of the same hardware: else the disk is another one as well."""
    host = random.choice(state.of(_mostly_worker(random, state)["name"]))
    hardware = {each["name"]: each["hardware"] for each in state.pools}
    others = [each["name"] for each in state.workers if each["name"] != host["pool"]]
    same = [name for name in others if hardware[name] == hardware[host["pool"]]]
    if not others or (not same and random.random() < 0.7):
        return ""
    host["pool"] = random.choice(same or others)
    return f"{host['name']} moves to {host['pool']}"


@edit
def zone(random: Random, state: State) -> str:
    host = random.choice(state.of(_mostly_worker(random, state)["name"]))
    others = [name for name in state.zones if name != host["zone"]]
    if not others:
        return ""
    host["zone"] = random.choice(others)
    host["ip"] = f"10.20.{4 * 'abc'.index(host['zone'])}.{host['ip'].rpartition('.')[2]}"
    return f"{host['name']} moves to zone {host['zone']}"


@edit
def rename(random: Random, state: State) -> str:
    if not state.workers:
        return ""
    pool = random.choice(state.workers)
    old, pool["name"] = pool["name"], pool["name"] + "-new"
    for row in state.of(old):
        row["pool"] = pool["name"]
    return f"pool {old} is called {pool['name']}"


@edit
def by_zone(random: Random, state: State) -> str:
    if not state.workers:
        return ""
    pool = random.choice(state.workers)
    rollout = _rollout(pool)
    rollout["by_zone"] = not rollout.get("by_zone", False)
    return f"by_zone of {pool['name']}: {rollout['by_zone']}"


@edit
def add_pool(random: Random, state: State) -> str:
    if len(state.pools) > 3:
        return ""
    draw_pool(random, state, f"new-{state.next}")
    return f"a new pool {state.pools[-1]['name']}"


@edit
def remove_pool(random: Random, state: State) -> str:
    if not state.workers:
        return ""
    pool = random.choice(state.workers)
    state.pools.remove(pool)
    state.hosts = [each for each in state.hosts if each["pool"] != pool["name"]]
    return f"pool {pool['name']} removed with its hosts"


# --- pods -----------------------------------------------------------------------------------------
@edit
def cache(random: Random, state: State) -> str:
    if "cache" not in state.site:
        return ""
    state.site["cache"]["server"]["image"] = IMAGE.format(1)
    return "another image of the cache's server"


@edit
def pod_network(random: Random, state: State) -> str:
    old, new = random.choice([("cpu: 10m", "cpu: 20m"), ("# The pod network", "# A pod network"),
                              ('"Type": "vxlan"', '"Type": "host-gw"')])  # fmt: skip
    state.network = state.network.replace(old, new)
    return f"pod network: {old} becomes {new}"
