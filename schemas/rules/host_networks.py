"""Rules on the networks of hosts: that what a site file says of NICs is what a host can get.

Sources of what a host can get: the CRD of Metal3DataTemplate (CAPM3 1.13), cloud-init's converter
and netplan, tried in tests/components/machines/test_network_data.py.
"""

from collections.abc import Collection, Iterator

from schemas.facts.host_networks import devices_of, layout_of, mtu_of, split_device
from schemas.facts.site import Site
from schemas.model.host_networks import NicLayout
from schemas.model.release import OsFamily
from schemas.rules.finding import Finding, InPool, Path, advise, say
from schemas.rules.networks import parse_network


def host_networks(site: Site) -> Iterator[Finding]:
    """Each layout of NICs can be built, and rendered by the Metal3 provider."""
    for name, layout in site.file.host_networks.items():
        at: Path = ("host_networks", name)
        yield from _nics(layout, at)
        yield from _devices(layout, at)
        yield from _mtus(layout, at)


def pool_host_network(at: InPool) -> Iterator[Finding]:
    """A pool names a layout that its OS can have: cloud-init 26.2 writes no MTU into
    NetworkManager's profile of a VLAN, which so has that of what it is on."""
    layout, systems = layout_of(at.site, at.pool), at.site.release.operating_systems
    system = systems.get(at.site.os_name(at.pool))
    if layout and system and system.family is OsFamily.RHEL:
        for device, own in layout.mtu.items():
            link, vlan = split_device(device)
            if vlan and own < mtu_of(layout, link):
                yield say("mtu-of-rhel", at.path("host_network"), device, mtu_of(layout, link), own)


def _unknown(row: str, place: Path, name: str, known: Collection[str], where: str) -> Finding:
    some = ", ".join(known) or "none"
    advice = advise(name, known, f"write one of {some}, or add it to {where}")
    return say(row, place, name, advice)


def _nics(layout: NicLayout, at: Path) -> Iterator[Finding]:
    """NICs are in one bond at most; bonds are counted from bond0."""
    free = [f"bond{n}" for n in range(len(layout.bonds)) if f"bond{n}" not in layout.bonds]
    for name in sorted(layout.bonds)[-1:] if free else ():
        yield say("bond-name", (*at, "bonds", name), free[0])
    owners: dict[str, str] = {}
    for name, bond in layout.bonds.items():
        for index, nic in enumerate(bond.nics):
            place = (*at, "bonds", name, "nics", index)
            if nic not in layout.nics:
                yield _unknown("bond-nic-unknown", place, nic, layout.nics, "nics")
            elif nic in owners:
                yield say("bond-nic-taken", place, nic, owners[nic])
            owners[nic] = name


def _devices(layout: NicLayout, at: Path) -> Iterator[Finding]:
    """Each device is a NIC or a bond, and no part of one, with one network; VLAN ids once."""
    used: list[tuple[Path, str]] = [(("primary",), layout.primary)]
    used += [(("attach", name), device) for name, device in layout.attach.items()]
    devices = [device for _, device in used]
    ids = [split_device(device)[1] for device in devices]
    for index, (place, device) in enumerate(used):
        link, vlan = split_device(device)
        if device in devices[:index]:
            yield say("device-twice", (*at, *place), device, link)
        elif vlan and vlan in ids[:index]:
            yield say("vlan-twice", (*at, *place), vlan, devices[ids.index(vlan)])
    used += [(("mtu", device), device) for device in layout.mtu]
    own = [*layout.nics, *layout.bonds]
    for place, device in used:
        link, _ = split_device(device)
        kind = "mtu-link" if place[0] == "mtu" else "link"
        bond = next((name for name, each in layout.bonds.items() if link in each.nics), None)
        if link not in own:
            yield _unknown(f"{kind}-unknown", (*at, *place), link, own, "nics or bonds")
        elif bond:
            better = device.replace(link, bond)
            yield say(f"{kind}-in-a-bond", (*at, *place), link, bond, better)


def _mtus(layout: NicLayout, at: Path) -> Iterator[Finding]:
    """No VLAN has larger packets than what it is on, and an MTU is that of a device with a use."""
    devices = {*devices_of(layout), *layout.nics, *layout.bonds}
    for device, own in layout.mtu.items():
        link, vlan = split_device(device)
        below, place = mtu_of(layout, link), (*at, "mtu", device)
        if vlan and device not in devices:
            yield say("mtu-unused", place, device)
        elif vlan and own > below:
            yield say("mtu-too-large", place, device, own, link, below)


def further_networks(site: Site) -> Iterator[Finding]:
    """Each further network has a name of its own and subnets in zones, and its routes lead there;
    they leave alone what hosts reach otherwise."""
    kept = {"pods": site.file.cluster.pods, "services": site.file.cluster.services}
    kept |= {f"zone {zone.name}": zone.network for zone in site.file.zones}
    for name, network in site.file.networks.items():
        at: Path = ("networks", name)
        if name in ("v6", site.name):
            yield say("network-name", at, name)
        yield from _gateways(site, name)
        starts = [each.partition("/")[0] for each in network.routes]
        for index, route in enumerate(network.routes):
            place = (*at, "routes", index)
            if starts[index] in starts[:index]:
                yield say("route-twice", place, name, starts[index])
            for what, text in kept.items():
                if parse_network(route).overlaps(parse_network(text)):
                    yield say("route-taken", place, what, text, name)
            yield from _beside(site, name, route, place)


def _beside(site: Site, name: str, route: str, place: Path) -> Iterator[Finding]:
    """Of two networks of one host no route is in both, and none leads into the other's subnet. A
    wider one harms nobody: hosts take the narrowest."""
    layouts = [each.attach for each in site.file.host_networks.values() if name in each.attach]
    net, networks = parse_network(route), site.file.networks
    others = {each for attach in layouts for each in attach if each in networks} - {name}
    for other in sorted(others):
        near = [each.network for each in networks[other].zones.values()]
        taken = [each for each in near if net.subnet_of(parse_network(each))]
        # Of two alike the later is told.
        taken += [each for each in networks[other].routes if each == route and other < name]
        for text in taken[:1]:
            yield say("route-taken", place, f"network {other}", text, name)


def _gateways(site: Site, name: str) -> Iterator[Finding]:
    network = site.file.networks[name]
    for zone, subnet in network.zones.items():
        place, own = ("networks", name, "zones", zone), parse_network(subnet.network)
        if own.prefixlen > 30:
            yield say("subnet-too-small", (*place, "network"), own)
        elif subnet.gateway and not own[1] <= parse_network(subnet.gateway)[0] <= own[-2]:
            yield say("gateway-outside", (*place, "gateway"), subnet.gateway, own)
        if network.routes and subnet.gateway is None:
            yield say("gateway-missing", place, name, zone)


def zones_of_networks(site: Site) -> Iterator[Finding]:
    """A network that a pool's hosts are on has a subnet in each zone of these."""
    for index, pool in enumerate(site.file.pools):
        layout = layout_of(site, pool)
        for name in layout.attach if layout else ():
            known = site.file.networks.get(name)
            lacking = [zone for zone in site.zones_of(pool) if known and zone not in known.zones]
            for zone in lacking[:1]:
                place = ("pools", index, "host_network")
                yield say("subnet-missing", place, name, zone, pool.name)
