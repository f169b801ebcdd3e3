"""Rules on the networks of hosts: that what a site file says of NICs is what a host can get.

Sources of what a host can get: the CRD of Metal3DataTemplate (CAPM3 1.13), cloud-init's converter
and netplan, tried in tests/components/machines/test_network_data.py.
"""

from collections.abc import Iterator

from schemas.facts.host_networks import DEFAULT_MTU, devices_of, layout_of, mtu_of, split_device
from schemas.facts.site import Site
from schemas.model.codes import Code
from schemas.model.host_networks import NicLayout
from schemas.model.nearest import nearest
from schemas.rules.finding import Finding, Path
from schemas.rules.networks import parse_network
from schemas.rules.scope import InPool

Faults = Iterator[tuple[Code, Path, str, str]]
"""Code, place below a layout (with _KEY behind it for a key), what is wrong, what to write."""
_KEY = ""


def host_networks(site: Site) -> Iterator[Finding]:
    """Each layout of NICs can be built, and rendered by the Metal3 provider."""
    for name, layout in site.file.host_networks.items():
        for rule in (_nics, _bonds, _links, _vlans, _networks, _mtus):
            for code, place, message, fix in rule(layout, site):
                at: Path = ("host_networks", name, *(each for each in place if each != _KEY))
                yield Finding(code, at, message, fix, key=place[-1] == _KEY)


def pool_host_network(at: InPool) -> Iterator[Finding]:
    """A pool names a layout that the site has."""
    name, known = at.pool.host_network, at.site.file.host_networks
    if name is not None and name not in known:
        fix = _one_of(name, known, "host_networks")
        message = f"there is no host network {name} in the site"
        yield Finding(Code.UNKNOWN_NETWORK, at.path("host_network"), message, fix)


def _one_of(name: str, known: object, where: str) -> str:
    names = list(known) if isinstance(known, dict | list) else []
    near = nearest(name, names)
    some = ", ".join(names) or "none"
    return f"write {near}" if near else f"write one of {some}, or add it to {where}"


def _nics(layout: NicLayout, _site: Site) -> Faults:
    for index, nic in enumerate(layout.nics):
        if nic in layout.nics[:index]:
            yield Code.DUPLICATE_NAME, ("nics", index), f"{nic} stands twice", "remove one of them"


def _bonds(layout: NicLayout, _site: Site) -> Faults:
    wanted = [f"bond{number}" for number in range(len(layout.bonds))]
    for name in sorted(layout.bonds):
        if name not in wanted:
            message = f"cloud-init names {len(layout.bonds)} bonds {', '.join(wanted)}, not {name}"
            free = next(each for each in wanted if each not in layout.bonds)
            yield Code.HOST_NETWORK_INVALID, ("bonds", name, _KEY), message, f"write {free}"
    owners: dict[str, str] = {}
    for name, bond in layout.bonds.items():
        for index, nic in enumerate(bond.nics):
            place = ("bonds", name, "nics", index)
            if nic not in layout.nics:
                message = f"the layout has no NIC {nic}"
                yield Code.UNKNOWN_NETWORK, place, message, _one_of(nic, layout.nics, "nics")
            elif nic in owners:
                message = f"{nic} is already in {owners[nic]}"
                yield Code.HOST_NETWORK_INVALID, place, message, "write a NIC that is in no bond"
            owners[nic] = name


def _links(layout: NicLayout, _site: Site) -> Faults:
    """Each device is a NIC or a bond that the layout has, and no part of a bond."""
    places = [("primary", layout.primary)]
    told: list[tuple[Path, str]] = [((place,), device) for place, device in places]
    told += [(("attach", name), device) for name, device in layout.attach.items()]
    told += [(("mtu", device, _KEY), device) for device in layout.mtu]
    own = [*layout.nics, *layout.bonds]
    for place, device in told:
        link, _ = split_device(device)
        bond = next((name for name, each in layout.bonds.items() if link in each.nics), None)
        if link not in own:
            message = f"the layout has neither a NIC nor a bond {link}"
            yield Code.UNKNOWN_NETWORK, place, message, _one_of(link, own, "nics or bonds")
        elif bond:
            message = f"{link} is a part of {bond}, and has nothing of its own"
            yield Code.HOST_NETWORK_INVALID, place, message, f"write {device.replace(link, bond)}"


def _vlans(layout: NicLayout, _site: Site) -> Faults:
    """A VLAN id is there once in a layout, and a device has one network."""
    used = [("primary",), *(("attach", name) for name in layout.attach)]
    devices = [layout.primary, *layout.attach.values()]
    ids = [split_device(device)[1] for device in devices]
    for index, (place, device, vlan) in enumerate(zip(used, devices, ids, strict=True)):
        if device in devices[:index]:
            message = f"{device} has another network already"
            fix = f"give each network a VLAN of its own, such as {split_device(device)[0]}.210"
            yield Code.HOST_NETWORK_INVALID, place, message, fix
        elif vlan and vlan in ids[:index]:
            message = f"VLAN {vlan} is on {devices[ids.index(vlan)]} already"
            fix = "write another id: a Metal3DataTemplate holds each VLAN id once"
            yield Code.HOST_NETWORK_INVALID, place, message, fix


def _networks(layout: NicLayout, site: Site) -> Faults:
    known = site.file.networks
    for name in layout.attach:
        if name not in known:
            message = f"there is no network {name} in the site"
            place = ("attach", name, _KEY)
            yield Code.UNKNOWN_NETWORK, place, message, _one_of(name, known, "networks")


def _mtus(layout: NicLayout, _site: Site) -> Faults:
    """No VLAN has larger packets than what it is on, and an MTU is that of a device with a use."""
    devices = {*devices_of(layout), *layout.nics, *layout.bonds}
    for device in layout.mtu:
        link, vlan = split_device(device)
        own, below = layout.mtu[device], mtu_of(layout, link)
        place = ("mtu", device)
        if device not in devices:
            message = f"no network is on {device}, so there is no such device"
            fix = "remove it, or attach a network to it"
            yield Code.HOST_NETWORK_INVALID, (*place, _KEY), message, fix
        elif vlan and own > below:
            message = f"{device} cannot send packets of {own} through {link}, which takes {below}"
            fix = f"write at most {below}, or {link}: {own} besides (default: {DEFAULT_MTU})"
            yield Code.HOST_NETWORK_INVALID, place, message, fix


def further_networks(site: Site) -> Iterator[Finding]:
    """Each further network is there in the zones of its hosts, and its routes lead there."""
    zones = [zone.name for zone in site.file.zones]
    for name, network in site.file.networks.items():
        place: Path = ("networks", name)
        if name in ("v6", site.name):
            message = f"{name} is the name of another pool of addresses of the site"
            fix = "write another name, such as storage"
            yield Finding(Code.RESERVED_NAME, place, message, fix, key=True)
        for zone in network.zones:
            if zone not in zones:
                message, fix = f"there is no zone {zone} in the site", _one_of(zone, zones, "zones")
                yield Finding(Code.UNKNOWN_ZONE, (*place, "zones", zone), message, fix, key=True)
        yield from _gateways(site, name)
        yield from _routes(site, name)


def _gateways(site: Site, name: str) -> Iterator[Finding]:
    network = site.file.networks[name]
    for zone, subnet in network.zones.items():
        place, own = ("networks", name, "zones", zone), parse_network(subnet.network)
        if own.prefixlen > 30:
            message, fix = f"{own} has no room for hosts and a gateway", "write a /29 or larger"
            yield Finding(Code.NETWORK_TOO_SMALL, (*place, "network"), message, fix)
        elif subnet.gateway and not own[1] <= parse_network(subnet.gateway)[0] <= own[-2]:
            message = f"gateway {subnet.gateway} is not a host address of {own}"
            fix = f"write an address of {own}, usually {own[1]}"
            yield Finding(Code.GATEWAY_OUTSIDE, (*place, "gateway"), message, fix)
        if network.routes and subnet.gateway is None:
            message = f"the routes of {name} have no gateway in zone {zone}"
            fix = "add gateway: the address of the router in this subnet"
            yield Finding(Code.MISSING_FIELD, place, message, fix, key=True)


def _routes(site: Site, name: str) -> Iterator[Finding]:
    """Routes start at different addresses, and leave what hosts reach otherwise alone."""
    cluster, routes = site.file.cluster, site.file.networks[name].routes
    kept = {"pods": cluster.pods, "services": cluster.services}
    kept |= {f"zone {zone.name}": zone.network for zone in site.file.zones}
    for index, route in enumerate(routes):
        place = ("networks", name, "routes", index)
        starts = [each.partition("/")[0] for each in routes[:index]]
        if route.partition("/")[0] in starts:
            message = f"another route of {name} starts at {route.partition('/')[0]} too"
            fix = "keep one of them: a Metal3DataTemplate holds one for each first address"
            yield Finding(Code.HOST_NETWORK_INVALID, place, message, fix)
        for what, text in kept.items():
            if parse_network(route).overlaps(parse_network(text)):
                message = f"the route takes traffic for {text} of {what} to the gateway of {name}"
                fix = f"write networks that lie outside {text}"
                yield Finding(Code.NETWORK_OVERLAP, place, message, fix)


def zones_of_networks(site: Site) -> Iterator[Finding]:
    """A network that a pool's hosts are on has a subnet in each zone of these."""
    for index, pool in enumerate(site.file.pools):
        layout = layout_of(site, pool)
        for name in layout.attach if layout else ():
            known = site.file.networks.get(name)
            lacking = [zone for zone in site.zones_of(pool) if known and zone not in known.zones]
            if lacking:
                message = f"{name} has no subnet in zone {lacking[0]}, where pool {pool.name} is"
                fix = f"add {lacking[0]} to networks.{name}.zones, or name another host network"
                place = ("pools", index, "host_network")
                yield Finding(Code.UNKNOWN_NETWORK, place, message, fix)
