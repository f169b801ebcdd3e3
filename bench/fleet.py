"""A repository of made-up sites, as large as wanted: valid, and different in every address.

Each site is shaped like sites/tokyo-1: a control plane of three, one pool of CPU hosts, three of
GPU hosts, four zones. ``python -m bench.fleet FOLDER SITES HOSTS`` writes one.
"""

import itertools
import shutil
import sys
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
USUAL = 400
"""Hosts of a usual site."""
SMALLEST = 27
"""Hosts that a site needs, so that each of its pools can be rolled."""
_ZONES = "abcd"
_CONTROL = 3
_SHARES = {"v100": 0.3, "a100": 0.2, "h100": 0.125}
_RESERVED = 16
"""Addresses at the start of a zone's network that no host takes: gateway, endpoint, servers."""
_RACK = 20
_MACHINES = (IPv4Network("10.0.0.0/10"), IPv4Network("10.128.0.0/9"))
"""Beside the networks of pods and services; room for 12,288 usual sites."""
_SITE = Path(__file__).with_suffix(".yaml.in")
"""A site, with what differs in braces."""
_HEADER = "name,pool,zone,rack,bmc,mac,ip,serial"


def make(folder: Path, sites: int, hosts: int) -> list[str]:
    """Write ``sites`` sites of ``hosts`` hosts each into ``folder``; their names."""
    if hosts < SMALLEST:
        raise ValueError(f"a site has {SMALLEST} hosts or more")
    target = folder / "sites"
    target.mkdir(parents=True)
    for shared in ("pod-network", "certificates"):
        shutil.copytree(ROOT / "tests" / "fleet" / "sites" / shared, target / shared)
    zone = _power(-(-(hosts + _CONTROL) // len(_ZONES)) + _RESERVED + 2)
    half = max(len(_ZONES) * zone, _power(hosts + 4))
    prefix = 32 - half.bit_length()
    blocks = itertools.chain.from_iterable(each.subnets(new_prefix=prefix) for each in _MACHINES)
    names = []
    for number, block in zip(range(sites), blocks, strict=False):
        name = f"site-{number + 1:03}"
        zones, bmcs = block.subnets()
        networks = list(itertools.islice(zones.subnets(new_prefix=33 - zone.bit_length()), 4))
        text = _SITE.read_text("utf-8").format(name=name, networks=networks, bmcs=bmcs)
        (target / f"{name}.yaml").write_text(text, encoding="utf-8")
        rows = _rows(name, number * hosts, hosts, networks, bmcs)
        text = "\n".join([_HEADER, *rows]) + "\n"
        (target / f"{name}.hosts.csv").write_text(text, encoding="utf-8")
        names.append(name)
    if len(names) < sites:
        raise ValueError(f"there are networks for {len(names)} sites of {hosts} hosts")
    return names


def _power(number: int) -> int:
    """The smallest power of two that is not below ``number``."""
    return 1 << (number - 1).bit_length()


def _pools(hosts: int) -> Iterator[tuple[str, str]]:
    """The pool and zone of each host: the control plane in one zone, all others over all zones."""
    gpus = {pool: int(hosts * share) for pool, share in _SHARES.items()}
    counts = {"cpu": hosts - _CONTROL - sum(gpus.values()), **gpus}
    yield from itertools.repeat(("control", _ZONES[0]), _CONTROL)
    pools = itertools.chain.from_iterable(itertools.repeat(*item) for item in counts.items())
    yield from zip(pools, itertools.cycle(_ZONES), strict=False)


def _rows(
    name: str, first: int, hosts: int, networks: list[IPv4Network], bmcs: IPv4Network
) -> Iterator[str]:
    """The lines of a host list; ``first`` is how many hosts other sites have before this one."""
    taken = dict.fromkeys(_ZONES, 0)
    starts = {zone: int(each[_RESERVED]) for zone, each in zip(_ZONES, networks, strict=True)}
    for number, (pool, zone) in enumerate(_pools(hosts)):
        taken[zone] += 1
        place, serial = taken[zone], first + number
        mac = ":".join(f"{0x525400000000 + serial:012x}"[i : i + 2] for i in range(0, 12, 2))
        yield (
            f"{name}-{zone}-{place:04},{pool},{zone},{zone}-{-(-place // _RACK):02},"
            f"{bmcs[number + 1]},{mac},{IPv4Address(starts[zone] + place)},EX{serial:07}"
        )


if __name__ == "__main__":
    make(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
