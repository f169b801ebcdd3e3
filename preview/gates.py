"""Gates: losses and growth to acknowledge with a count, and effects that a team forbids.

``Foresite-Allow: remove=3`` on a line of its own in the pull request, or the flag, acknowledges
losses; ``grow=3`` acknowledges growth. No count lets a site pass whose file is gone.
"""

import re
from collections.abc import Iterable, Iterator, Mapping

from components.effects.vocabulary import Action, Impact
from preview.result import Gate, Growth, Preview, SitePreview, State

REMOVE = "remove"
GROW = "grow"
ALLOWABLE = (REMOVE, GROW)
"""Losses and growth that may be acknowledged, each with a count."""
VANISHED = "vanished"
FORBIDDABLE = {
    "drain": (Impact.DRAIN, Impact.REBOOT),
    "reimage": (Impact.REIMAGE,),
    "remove": (Impact.REMOVE,),
    "unknown": (Impact.UNKNOWN,),
}
"""Values of ``--fail-on``, with the impacts that each stands for."""
REFUSED = "refused"
"""One more value of ``--fail-on``: objects that are refused, at which `pulumi up` would stop."""
NAMES = (*FORBIDDABLE, REFUSED)
MAX_REQUEST = 1_000_000
"""Characters of a pull request's text that are read; what follows acknowledges nothing."""
_ALLOW = re.compile(r"^Foresite-Allow:[ \t]*([a-z]{1,20})=([0-9]{1,6})[ \t]*\r?$", re.MULTILINE)
_PAIR = re.compile(r"^([a-z]{1,20})=([0-9]{1,6})$")


def parse_allowances(flags: Iterable[str], request: str) -> dict[str, int]:
    """The counts that the flags and the pull request's text allow, by name; the larger number
    counts.

    Raises ValueError for a flag that is none; lines of a request that are none mean nothing.
    """
    pairs = []
    for flag in flags:
        match = _PAIR.match(flag)
        if match is None or match[1] not in ALLOWABLE:
            names = " or ".join(f"{name}=<count>" for name in ALLOWABLE)
            raise ValueError(f"--allow {flag}: write {names}, such as {REMOVE}=3")
        pairs.append(match.groups())
    pairs += [each for each in _ALLOW.findall(request[:MAX_REQUEST]) if each[0] in ALLOWABLE]
    found: dict[str, int] = {}
    for name, number in pairs:
        found[name] = max(found.get(name, 0), int(number))
    return found


def gates(preview: Preview, allow: Mapping[str, int], forbidden: Iterable[str]) -> tuple[Gate, ...]:
    """The gates that a change does not pass."""
    return (
        *_vanished_sites(preview),
        *_losses(preview, allow.get(REMOVE, 0)),
        *_growth(preview, allow.get(GROW, 0)),
        *_forbidden_impacts(preview, forbidden),
    )


def _vanished_sites(preview: Preview) -> Iterator[Gate]:
    sites = [site for site in preview.sites if site.state is State.VANISHED]
    if sites:
        hosts = sum(len(site.hosts) for site in sites)
        yield Gate(
            VANISHED,
            f"{_list_sites(sites)} is gone from sites/ and was not decommissioned: nothing would "
            f"be deleted, and no tool would manage {hosts} hosts; no count allows it",
            "restore the file; to end the site, write decommission: {reason: …} into it, apply "
            "that, and then remove the file",
        )


def _growth(preview: Preview, allow: int) -> Iterator[Gate]:
    grown = [(site.name, site.growth) for site in preview.sites if site.growth]
    total = sum(each.total for _, each in grown)
    if total > allow:
        said = (
            f"{allow} are acknowledged in the pull request"
            if allow
            else "the pull request acknowledges none"
        )
        what = "; ".join(_describe_growth(name, each) for name, each in grown[:5])
        more = f"; and {len(grown) - 5} more sites" if len(grown) > 5 else ""
        yield Gate(
            GROW,
            f"{what}{more}: more than is usual, and {said}",
            "if that is intended, write this line in the pull request: Foresite-Allow: "
            f"{GROW}={total}",
        )


def _describe_growth(site: str, growth: Growth) -> str:
    parts = [f"{growth.before} to {growth.after} objects"] if growth.more else []
    parts += [f"{e.object} {e.before} to {e.after} bytes" for e in growth.swollen[:3]]
    more = len(growth.swollen) - 3
    parts += [f"{more} more objects grow in size"] if more > 0 else []
    return f"{site} grows: {', '.join(parts)}"


def _list_sites(sites: list[SitePreview]) -> str:
    names = ", ".join(site.name for site in sites[:5])
    return names + (f" and {len(sites) - 5} more" if len(sites) > 5 else "")


def losses(sites: Iterable[SitePreview]) -> dict[str, int]:
    """How many things of each kind are lost over all sites."""
    found: dict[str, int] = {}
    for site in sites:
        for each in site.deletions:
            found[each.what] = found.get(each.what, 0) + each.count
    return found


def _losses(preview: Preview, allow: int) -> Iterator[Gate]:
    found = losses(preview.sites)
    total = sum(found.values())
    if total > allow:
        what = ", ".join(_many(count, kind) for kind, count in found.items())
        said = (
            f"{allow} are acknowledged in the pull request"
            if allow
            else "the pull request acknowledges none"
        )
        yield Gate(
            REMOVE,
            f"{what} would be lost, and {said}",
            "if that is intended, write this line in the pull request: Foresite-Allow: "
            f"{REMOVE}={total}",
        )


def _many(count: int, kind: str) -> str:
    return f"{count} {kind.removesuffix('s') if count == 1 and kind == 'hosts' else kind}"


def _forbidden_impacts(preview: Preview, forbidden: Iterable[str]) -> Iterator[Gate]:
    for name in dict.fromkeys(forbidden):
        impacts = FORBIDDABLE.get(name, ())
        sites = [site for site in preview.sites if _has(site, impacts) or _stops(site, name)]
        whole = Impact.UNKNOWN in impacts and preview.code_changed
        if sites or whole:
            where = _list_sites(sites) if sites else "every site"
            message = f"--fail-on {name}: the change does this in {where}"
            yield Gate(f"fail-on {name}", message, "split the change, or leave the gate out")


def _has(site: SitePreview, impacts: Iterable[Impact]) -> bool:
    wanted = set(impacts)
    found = {host.impact for host in site.hosts} | {r.effect.impact for r in site.reasons}
    return bool(found & wanted) or (not site.hosts and site.impact in wanted)


def _stops(site: SitePreview, name: str) -> bool:
    return name == REFUSED and any(each.action is Action.REFUSED for each in site.objects)
