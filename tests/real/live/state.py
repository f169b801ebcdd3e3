"""A made-up site as files, and changes of these files as a person makes them.

Every state is written to disk and read back as Foresite reads a repository, so that an experiment
starts from the very thing that a pull request changes.
"""

import copy
import csv
import shutil
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from schemas.load import Loaded, load_site
from schemas.reading.host_list import COLUMNS
from tests.kit.repository import FLEET

SITE = "rollout-1"
NETWORK = "pod-network/flannel.yaml"
UBUNTU = "ubuntu-24.04"
REMOVED = object()
"""The value of a field that a change takes out; of a list, the item of that name."""
TURNED = object()
"""The value of a list whose items a change puts the other way round."""

Row = dict[str, str]


@dataclass(frozen=True)
class Edit:
    """A change of the two files: fields of the site file by path, lines of the host list.

    A path names pools by their name, as ``foresite explain`` does. ``added`` are hosts by name with
    pool and zone, ``changed`` hosts by name with the cells that are new. ``turned``: the lines of
    the host list come the other way round.
    """

    fields: Mapping[str, Any] = field(default_factory=dict)
    added: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    removed: tuple[str, ...] = ()
    changed: Mapping[str, Row] = field(default_factory=dict)
    turned: bool = False

    def __str__(self) -> str:
        """The change as a reader of the documentation sees it."""
        said = [_said(path, value) for path, value in self.fields.items()]
        said += ["lines of hosts in the other order"] if self.turned else []
        added = Counter(pool for pool, _ in self.added.values())
        said += [
            f"host added to `{pool}`" if count == 1 else f"{count} hosts added to `{pool}`"
            for pool, count in added.items()
        ]
        said += [f"line of `{name}` removed" for name in self.removed]
        lines: dict[str, list[str]] = {}
        for name, cells in self.changed.items():
            for column, cell in cells.items():
                lines.setdefault(f"{column} `{cell}`", []).append(f"`{name}`")
        said += [f"line of {', '.join(names)}: {cell}" for cell, names in lines.items()]
        return ", ".join(said)


@dataclass(frozen=True)
class State:
    """The two files of the site at one moment."""

    site: Mapping[str, Any]
    hosts: tuple[Row, ...]

    def edited(self, edit: Edit) -> "State":
        """The state after an edit. Raises KeyError where the edit names what is not there."""
        site = copy.deepcopy(dict(self.site))
        for path, value in edit.fields.items():
            _set(site, path.split("."), value)
        hosts = [row for row in self.hosts if row["name"] not in edit.removed]
        if len(self.hosts) - len(hosts) != len(edit.removed):
            raise KeyError(f"no host {edit.removed}")
        hosts = [{**row, **edit.changed.get(row["name"], {})} for row in hosts]
        hosts += [
            _row(name, pool, zone, len(self.hosts) + number)
            for number, (name, (pool, zone)) in enumerate(edit.added.items())
        ]
        return replace(self, site=site, hosts=tuple(reversed(hosts) if edit.turned else hosts))

    def write(self, root: Path) -> None:
        """Write the files below ``root``/sites, as they lie in a repository."""
        sites = root / "sites"
        (sites / NETWORK).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(FLEET / "sites" / NETWORK, sites / NETWORK)
        text = yaml.safe_dump(dict(self.site), sort_keys=False)
        (sites / f"{SITE}.yaml").write_text(text, encoding="utf-8")
        with (sites / f"{SITE}.hosts.csv").open("w", encoding="utf-8", newline="") as file:
            columns = dict.fromkeys((*COLUMNS, *(column for row in self.hosts for column in row)))
            table = csv.DictWriter(file, [*columns], restval="", lineterminator="\n")
            table.writeheader()
            table.writerows(self.hosts)

    def load(self, root: Path) -> Loaded:
        """The state as Foresite reads it from the files that it is written to."""
        self.write(root)
        return load_site(root, SITE)


def _said(path: str, value: Any) -> str:
    if value is REMOVED:
        return f"`{path}` removed"
    return f"`{path}` in the other order" if value is TURNED else f"`{path}: {_flow(value)}`"


def _flow(value: Any) -> str:
    return yaml.safe_dump(value, default_flow_style=True, width=200).removesuffix("...\n").strip()


def _set(site: dict[str, Any], path: list[str], value: Any) -> None:
    """Set or remove what is at ``path``; a step in a list is the name of an item."""
    where: Any = site
    for step in path[:-1]:
        if isinstance(where, list):
            where = next(item for item in where if item["name"] == step)
        else:
            where = where.setdefault(step, {})
    if value is REMOVED and isinstance(where, list):
        where.remove(next(item for item in where if item["name"] == path[-1]))
    elif value is REMOVED:
        del where[path[-1]]
    elif value is TURNED:
        where[path[-1]].reverse()
    else:
        where[path[-1]] = value


ZONES = "ab"
POOLS: dict[str, Mapping[str, int]] = {
    "control": {"a": 3},
    "one": {"a": 8},
    "two": {"a": 8},
    "four": {"a": 12},
    "zoned": {"a": 4, "b": 4},
    "manual": {"a": 8},
    "surge": {"a": 9},
    "named": {"a": 4},
    "joined": {"a": 2, "b": 2},
    "parted": {"a": 2, "b": 2},
    "mixed": {"a": 6},
    "spared": {"a": 6},
    "stocked": {"a": 3},
    "giver": {"a": 4},
    "places": {"a": 3, "b": 3},
}
"""Hosts of each pool by zone. The pools are named after what they try: one, two or four machines
out at a time, zones kept apart, replacement by hand, a new machine before an old one goes; another
name, zones apart from now on or no longer, spares and hosts that come, hosts that move."""


def start(counts: Mapping[str, Mapping[str, int]] = POOLS) -> State:
    """The state that a run begins with; ``counts`` are the hosts of its pools, by zone."""
    hosts: list[Row] = []
    for pool, zones in counts.items():
        for zone, count in zones.items():
            names = [host_name(pool, number, zone) for number in range(1, count + 1)]
            hosts += [_row(name, pool, zone, len(hosts) + n) for n, name in enumerate(names)]
    pools = [each for each in _SITE["pools"] if each["name"] in counts]
    return State({**_SITE, "pools": pools}, tuple(hosts))


def host_name(pool: str, number: int, zone: str = "a") -> str:
    """The name of a pool's host; numbers count from 1 in each zone."""
    return f"{pool}-{zone}-{number:02}"


def _row(name: str, pool: str, zone: str, number: int) -> Row:
    """The line of a host whose addresses follow from its number in the list."""
    values = (
        name, pool, zone, f"{zone}-01", f"10.41.0.{number + 11}",
        f"52:54:00:04:00:{number + 1:02x}", f"10.40.{ZONES.index(zone)}.{number + 11}",
        f"EX4{number:04}",
    )  # fmt: skip
    return dict(zip(COLUMNS, values, strict=True))


def _pool(name: str, **fields: Any) -> dict[str, Any]:
    return {"name": name, "hardware": "cpu-1u", "os": "rocky-9", **fields}


def boot(server: str = "10.40.0.3") -> dict[str, Any]:
    """The data that hosts need at their first boot, with time and names from ``server``."""
    return {
        "ntp": [server],
        "dns": [server],
        "ssh": {"user": "ops", "keys": [f"{_KEY} ops@example"]},
    }


_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIFymhLku4SdfYrPbCwX88H668olnzzQcg7SSyMhAs2aA"
_SITE: dict[str, Any] = {
    "site": SITE,
    "region": "jp-east",
    "release": "2026.11",
    "management": "trial",
    "cluster": {
        "kubernetes": "v1.34.3",
        "endpoint": "10.40.0.250",
        "pods": "10.64.0.0/12",
        "services": "10.96.0.0/16",
        "virtual_ip": "external",
        # Through Cluster API it would be applied again at every change of the Cluster's status.
        "pod_network": {"manifests": NETWORK, "install": "direct"},
        "context": "rollout-1",
    },
    "zones": [
        {"name": zone, "network": f"10.40.{n}.0/24", "gateway": f"10.40.{n}.1"}
        for n, zone in enumerate(ZONES)
    ],
    # A Secret for each host: docs/machines.md says what the operator does where one serves all.
    "bmc": {"network": "10.41.0.0/24"},
    "sources": {"os_images": "http://images.rollout-1.example/os"},
    "first_boot": boot(server="10.40.0.2"),
    "pools": [
        _pool("control", role="control-plane"),
        _pool("one", rollout={"max_unavailable": 1}),
        _pool("two", rollout={"max_unavailable": 2}),
        _pool("four", rollout={"max_unavailable": 2}),
        _pool("zoned", rollout={"max_unavailable": 1, "by_zone": True}),
        _pool("manual", rollout={"strategy": "OnDelete"}),
        _pool("surge", spares=1, rollout={"max_unavailable": 0, "max_surge": 1}),
        _pool("named", os=UBUNTU, rollout={"max_unavailable": 1}),
        _pool("joined", os=UBUNTU, rollout={"max_unavailable": 1}),
        _pool("parted", os=UBUNTU, rollout={"max_unavailable": 1, "by_zone": True}),
        _pool("mixed", rollout={"max_unavailable": 1}),
        _pool("spared", os=UBUNTU, spares=2, rollout={"strategy": "OnDelete"}),
        _pool("stocked", os=UBUNTU, rollout={"strategy": "OnDelete"}),
        _pool("giver", os=UBUNTU, rollout={"max_unavailable": 1}),
        _pool("places", os=UBUNTU, rollout={"strategy": "OnDelete", "by_zone": True}),
    ],
}
