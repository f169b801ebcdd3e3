"""The IPPool: addresses are claimed when a machine is made, and kept until it goes."""

from collections.abc import Iterable, Iterator
from ipaddress import ip_address, ip_network
from typing import Any

from components.effects import ABSENT, Action, Effect, FieldChange, Impact, ObjectChange, SiteChange
from components.effects.applying import effect
from components.machines.effects.anykind import machine_kinds, machine_rules
from components.machines.effects.concerned import value
from components.making.manifest import Json, Manifest
from components.making.told import Told

TOLD = Told(__file__)
WEBHOOK = "Metal3 IPAM v1.13.2, internal/webhooks/v1alpha1/ippool_webhook.go"
MANAGER = "Metal3 IPAM v1.13.2, ipam/ippool_manager.go"


def address(_site: SiteChange, change: ObjectChange, field: FieldChange) -> Iterable[Effect]:
    """The address that a host is to have: its claim is answered once."""
    hosts = _hosts(change, field)
    outside = _outside(value(change.after, "spec", "preAllocations"), change.after)
    if any(address in outside for address in _texts(field.after)):
        why, no = "the webhook refuses an address outside the pool's ranges", Action.REFUSED
        return [effect(change, field, Impact.NONE, why, WEBHOOK, no, hosts=hosts)]
    why = "taken when the host is installed next; a machine that runs keeps the address it has"
    if field.before is ABSENT:
        why = "taken when the host is installed"
    elif field.after is ABSENT:
        why = "the address is free for others once the host's machine is gone"
    others = [key for key, address in _earlier(change, field) if address in _texts(field.after)]
    if others:
        why += TOLD.say("held", others=", ".join(others[:3]))
    return [effect(change, field, Impact.NONE, why, MANAGER, hosts=hosts)]


def _hosts(change: ObjectChange, field: FieldChange) -> tuple[str, ...]:
    """The host of an entry: claims are named ``<host>-<pool>``."""
    if len(field.path) < 3:
        return ()
    return (str(field.path[2]).removesuffix(f"-{change.one.key[3]}"),)


def _texts(found: Any) -> list[str]:
    """The addresses in an entry, or in all entries where the whole map comes or goes."""
    if isinstance(found, dict):
        return [str(each) for each in found.values()]
    return [found] if isinstance(found, str) else []


def _earlier(change: ObjectChange, field: FieldChange) -> Iterator[tuple[str, str]]:
    """The entries that were there for others, with their addresses."""
    entries = value(change.before, "spec", "preAllocations")
    if isinstance(entries, dict):
        yield from ((key, at) for key, at in entries.items() if key not in field.path)


def _outside(entries: Any, pool: Manifest | None) -> set[str]:
    """The addresses that no range of a pool holds, as its webhook counts."""
    ranges = value(pool, "spec", "pools")
    if not isinstance(entries, dict) or not isinstance(ranges, list):
        return set()
    return {at for at in entries.values() if not any(_holds(each, at) for each in ranges)}


def _holds(span: Json, address: str) -> bool:
    """True if a range holds an address; a bound that is not set does not limit."""
    one, subnet = ip_address(address), ip_network(span.get("subnet", "0.0.0.0/0"))
    first = ip_address(span.get("start", str(subnet[0])))
    last = ip_address(span.get("end", str(subnet[-1])))
    return one in subnet and int(first) <= int(one) <= int(last)


def left_out(_site: SiteChange, change: ObjectChange, _field: FieldChange) -> dict[str, int]:
    """How many addresses in use no range of the changed pool holds; nothing where none is."""
    lost = _outside(value(change.before, "spec", "preAllocations"), change.after)
    return {"lost": len(lost)} if lost else {}


RULES = machine_rules(*machine_kinds(globals()).kinds)
"""The rules of addresses."""
