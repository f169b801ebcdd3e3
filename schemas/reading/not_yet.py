"""What Foresite does not do yet, and people write: neither a misspelt field nor a bad value."""

import re

NO_EFFECT = "nothing that Foresite writes would carry it, so it would have no effect"
"""Why it hurts, whatever an API server or a host would make of it."""
_IN_THE_IMAGE = "set it up in the OS image"
_BY_NAME = "write it under host_networks, and the name there into the pool's host_network"
_PARTS = (
    ("IPv6 so", r".*v6.*|dualstack|ipfamil(y|ies)", "write pods6, services6, network6, gateway6"),
    ("it here", r"bond(s|ing)?|lacp|vlans?(ids?)?|nics?|(bonded)?interfaces?|mtu", _BY_NAME),
    ("bridges or DHCP of hosts", r"dhcp|netplan|bridges?", _IN_THE_IMAGE),
    ("routes here", r"(static)?routes?", "write them under networks, by the network's name"),
    ("BGP of hosts", r"bgp", _IN_THE_IMAGE),
    ("disks besides the root disk", r"raid|partitions?|lvm|filesystems?|swap", _IN_THE_IMAGE),
    ("autoscaling", r"autoscal(er|ing)|(min|max)(nodes|replicas)", "a pool has the hosts it lists"),
)
"""What is not configured, names of fields in small letters without - and _, what to do instead."""
_IPV6 = re.compile(r"(?=[^:]*:[^:]*:)[0-9A-Fa-f:]{2,39}(%[0-9A-Za-z]+)?(/[0-9]{1,3})?")
_HARDWARE_ADDRESS = re.compile(r"[0-9A-Fa-f]{2}(:[0-9A-Fa-f]{2}){5}")


def not_yet(field: str) -> tuple[str, str] | None:
    """What a field that nobody knows would configure, and the way without it; None where that is
    not clear."""
    plain = re.sub(r"[-_]", "", field[:64].lower())
    return next(((part, way) for part, form, way in _PARTS if re.fullmatch(form, plain)), None)


def is_ipv6(value: object) -> bool:
    """True if a text is meant as an IPv6 address or network, or has one in a list."""
    texts = value[:200].replace("[", "").replace("]", "") if isinstance(value, str) else ""
    every = [each.strip() for each in texts.split(",")]
    return any(_IPV6.fullmatch(each) and not _HARDWARE_ADDRESS.fullmatch(each) for each in every)
