"""Shifts of checks: whether a change makes a check find more faults than before, or fewer.

Compares the settings of both sides, and not the texts that are made of them: an argument of a
script says nothing of which way is the stricter one. What differs in a check and in no setting
that is listed here is another check: whom it finds, nobody knows.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from components.remediation.checks import Check, checks
from components.remediation.names import find_pool
from schemas.facts.resets import reset_first
from schemas.facts.site import Site
from schemas.model.remediation import Detector
from schemas.model.site_file import Pool
from schemas.model.vocabulary import Fault


class Shift(NamedTuple):
    """The settings that make a check find ``more``, or ``fewer``; ``other`` may do either.
    ``longer`` lets a condition that is True stay so for longer, and makes none True. ``told``
    changes only a message. Each is a few words: ``bad_after 3 → 1``."""

    more: tuple[str, ...] = ()
    fewer: tuple[str, ...] = ()
    other: tuple[str, ...] = ()
    longer: tuple[str, ...] = ()
    told: tuple[str, ...] = ()


Words = Iterator[tuple[str, str]]
"""Words on settings, each with the field of a Shift that it belongs to."""

_HIGHER = ("good_after", "accelerators of the hardware profile", "gbps of ", "link_width")
"""Numbers (or the beginnings of their names) of which a higher one finds more; of others fewer."""
_DAMPING = ("good_after", "interval_seconds")
"""Settings that, when higher, need more time of good readings until a fault is gone
(components/remediation/checks/settled.sh)."""
_SILENCING = "health.silent_codes"
"""A set of which more makes a check answer unknown (exit code 2) where it was good or bad."""


_NONE: Mapping[str, Any] = MappingProxyType({})


class _Looked(NamedTuple):
    """How a fault is looked for: settings by their names. ``damping`` is the same for all checks.
    Of ``sets`` a larger one finds more; of ``plain`` ones any other value is another check, and one
    that comes finds more."""

    numbers: Mapping[str, int] = _NONE
    sets: Mapping[str, frozenset[str]] = _NONE
    plain: Mapping[str, Any] = _NONE
    damping: Mapping[str, int] = _NONE


def shift(before: Site, after: Site, pool: str, fault: str) -> Shift | None:
    """How a check of a pool differs; None where a side does not look for the fault there."""
    old, new = (_look(site, pool, fault) for site in (before, after))
    if old is None or new is None:
        return None
    mine = [*_numbers(old.numbers, new.numbers), *_sets(old, new), *_plain(old, new)]
    found = [*_numbers(old.damping, new.damping), *mine]
    more, fewer, other = (
        tuple(word for way, word in found if way == each) for each in ("more", "fewer", "other")
    )
    if not mine and _check(before, pool, fault) != _check(after, pool, fault):
        other = ("list of arguments",)
    told = _message_changes(before, after, pool, fault)
    return Shift(more, fewer, other, _longer(old, new), told)


def _longer(old: _Looked, new: _Looked) -> tuple[str, ...]:
    pairs = ((name, old.damping[name], new.damping[name]) for name in _DAMPING)
    return tuple(f"{name} {was} → {now}" for name, was, now in pairs if now > was)


def _message_changes(before: Site, after: Site, name: str, fault: str) -> tuple[str, ...]:
    """Device taints and resets read from the message what to do, so it is renewed."""
    pools = [(site, find_pool(site, name)) for site in (before, after)]
    if fault == Fault.ACCELERATOR_ERROR:
        was, now = (bool(pool and reset_first(site, pool)) for site, pool in pools)
    elif fault == Fault.PCIE_LINK_DEGRADED:
        was, now = (bool(pool and site.taints_devices(pool)) for site, pool in pools)
    else:
        return ()
    changed = f"the condition's message is {'' if now else 'no longer '}renewed when it changes"
    return (changed,) if was != now else ()


def _numbers(old: Mapping[str, int], new: Mapping[str, int]) -> Words:
    for name, now in new.items():
        was = old.get(name, now)
        if was != now and not (name == "good_after" and now > was):  # that is ``longer``
            more = (now > was) is name.startswith(_HIGHER)
            yield "more" if more else "fewer", f"{name} {was} → {now}"


def _sets(old: _Looked, new: _Looked) -> Words:
    for name, now in new.sets.items():
        was = old.sets.get(name, now)
        grown, shrunk = ("fewer", "more") if name == _SILENCING else ("more", "fewer")
        if now - was:
            yield grown, f"{name} with {', '.join(sorted(now - was))}"
        if was - now:
            yield shrunk, f"{name} without {', '.join(sorted(was - now))}"


def _plain(old: _Looked, new: _Looked) -> Words:
    for name in dict.fromkeys((*old.plain, *new.plain)):
        was, now = old.plain.get(name), new.plain.get(name)
        if was != now:
            yield "more" if was is None else "fewer" if now is None else "other", name


def _check(site: Site, name: str, fault: str) -> Check | None:
    pool = find_pool(site, name)
    found = checks(site, pool) if pool else ()
    check = next((each for each in found if each.fault == fault), None)
    if check and fault == Fault.ACCELERATOR_ERROR:
        # What follows is for the message alone: errors that a reset recovers.
        return check._replace(arguments=check.arguments[:3])
    return check


def _look(site: Site, name: str, fault: str) -> _Looked | None:
    pool, settings = find_pool(site, name), site.file.remediation
    if pool is None or settings is None or fault not in site.faults(pool):
        return None
    detector = settings.detector
    damping = {name: getattr(detector, name) for name in ("bad_after", *_DAMPING)}
    own = next((each for each in detector.checks if each.name == fault), None)
    if own:
        numbers = {} if own.threshold is None else {"threshold": own.threshold}
        plain = own.model_dump(include={"command", "root", "timeout_seconds"})
        plain |= {"kind of answer": own.threshold is None}
        return _Looked(numbers, plain=plain, damping=damping)
    return _settings(site, pool, detector).get(fault, _Looked())._replace(damping=damping)


def _settings(site: Site, pool: Pool, detector: Detector) -> dict[str, _Looked]:
    """The settings of each fault's check; of devices also how those of a model are told from
    others, and how a host counts those that work."""
    accelerators, links = site.profile(pool).accelerators, pool.network_devices.links()
    record = site.accelerators.get(site.model(pool) or "")
    count = {"accelerators of the hardware profile": accelerators.count if accelerators else 0}
    pci = {"pci": record.pci.model_dump(exclude={"link_width"})} if record else {}
    width = (record.pci.link_width if record else None) or 0
    fabric = {"fabric": record.fabric.model_dump() if record.fabric else None} if record else {}
    messages = record.kernel_log if record else ()
    xids = map(str, detector.xids.reboot)
    errors = {"kernel_log": frozenset(messages)} if messages else {"xids.reboot": frozenset(xids)}
    health = record.health if record else None
    patience = {"health.timeout_seconds": health.timeout_seconds} if health else {}
    codes = {_SILENCING: frozenset(map(str, health.silent_codes))} if health else {}
    apart = {"timeout_seconds", "silent_codes"}
    counted = {"health": health.model_dump(exclude=apart) if health else None} if record else {}
    disks, interfaces = {"disks": frozenset(detector.disks)}, {"interfaces": frozenset(links)}
    limits = {f"link_errors.{name}": most for name, most in detector.link_errors.items()}
    limited = {**interfaces, "link_errors": frozenset(detector.link_errors)}
    rates = {f"gbps of {name}": rate for name, (_, rate) in links.items()}
    return {
        Fault.ACCELERATOR_MISSING: _Looked({**count, **patience}, codes, {**pci, **counted}),
        Fault.ACCELERATOR_ERROR: _Looked(sets=errors),
        Fault.FABRIC_DOWN: _Looked(count, plain=fabric),
        Fault.PCIE_LINK_DEGRADED: _Looked({"link_width": width}, plain=pci),
        Fault.NETWORK_LINK_DOWN: _Looked(rates, interfaces),
        Fault.NETWORK_LINK_ERRORS: _Looked(limits, limited),
        Fault.DISK_FULL: _Looked({"disk_full_percent": detector.disk_full_percent}, disks),
        Fault.READ_ONLY_FILESYSTEM: _Looked(sets=disks),
        Fault.KERNEL_DEADLOCK: _Looked({"blocked_seconds": detector.blocked_seconds}),
    }
