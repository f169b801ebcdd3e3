"""Gates: losses, growth and whatever else a team wants acknowledged with a count.

``Foresite-Allow: remove=3`` on a line of its own in the pull request, or the flag, acknowledges
losses; ``grow=3`` growth; ``region=12`` the sites that a region's file changes; ``reimage=50`` what
``--fail-on reimage>10%`` found, and so on. No count lets a site pass whose file is gone.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from components.effects.vocabulary import Action, Impact
from components.making.told import Told
from preview.result import Gate, Growth, HostVerdict, Preview, SitePreview, State, count_hosts
from schemas.kubernetes.masking import shorten
from schemas.model.texts import nearest
from schemas.refusal import UsageError

_TOLD = Told(__file__)
REMOVE = "remove"
GROW = "grow"
REGION = "region"
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
ALLOWABLE = (REMOVE, GROW, REGION, *(name for name in NAMES if name != REMOVE))
"""What may be acknowledged, each with a count."""
_OF_HOSTS = ("drain", "reimage", "remove")
"""Values of ``--fail-on`` that count hosts, so that a share of a site's may be given."""
MAX_REQUEST = 1_000_000
"""Characters of a pull request's text that are read; what follows acknowledges nothing."""
_ALLOW = re.compile(r"^Foresite-Allow:[ \t]*([a-z]{1,20})=([0-9]{1,6})[ \t]*\r?$", re.MULTILINE)
_HIDDEN = re.compile(
    r"<!--.*?(?:-->|\Z)|^[ ]{0,3}(?P<fence>`{3,}|~{3,}).*?(?:^[ ]{0,3}(?P=fence)|\Z)",
    re.DOTALL | re.MULTILINE,
)
"""What a forge does not show, and what it shows as an example: nobody acknowledges in there."""
_PAIR = re.compile(r"^([a-z]{1,20})=([0-9]{1,6})$")
_LIMIT = re.compile(r"^([a-z-]{1,20})(?:>([0-9]{1,2})%)?$")


def parse_allowances(flags: Iterable[str], request: str) -> dict[str, int]:
    """The counts that the flags and the pull request's text allow, by name; the larger number
    counts. UsageError for a flag that is none; lines of a request that are none mean nothing."""
    pairs = []
    for flag in flags:
        match = _PAIR.match(flag)
        if match is None or match[1] not in ALLOWABLE:
            names = ", ".join(f"{name}=<count>" for name in ALLOWABLE)
            raise UsageError(_TOLD.say("no_allowance", flag=flag, names=names))
        pairs.append(match.groups())
    shown = _HIDDEN.sub("", request[:MAX_REQUEST])
    pairs += [each for each in _ALLOW.findall(shown) if each[0] in ALLOWABLE]
    found: dict[str, int] = {}
    for name, number in pairs:
        found[name] = max(found.get(name, 0), int(number))
    return found


def parse_limits(text: str) -> dict[str, int]:
    """What ``--fail-on`` forbids, by name: the share of hosts in percent up to which a site passes
    (10 for ``reimage>10%``; 0 without one). UsageError, with what to write, for what is none."""
    found: dict[str, int] = {}
    for part in filter(None, (each.strip() for each in text.replace("|", ",").split(","))):
        match = _LIMIT.match(part.replace(" ", ""))
        name, share = match.groups() if match else (part, None)
        if name not in NAMES:
            near = nearest(name, NAMES)
            row = "misspelt" if near and ">" not in part else "no_limit"
            values = {"part": shorten(part), "near": near, "names": ", ".join(NAMES)}
            raise UsageError(_TOLD.say(row, **values))
        if share and name not in _OF_HOSTS:
            raise UsageError(_TOLD.say("no_share", part=shorten(part), name=name))
        found[name] = min(found.get(name, 99), int(share or 0))
    return found


def gates(
    preview: Preview, allow: Mapping[str, int], limits: Mapping[str, int]
) -> tuple[Gate, ...]:
    """The gates that a change does not pass; ``limits`` as ``parse_limits`` gives them."""
    return (
        *_vanished_sites(preview),
        *_losses(preview, allow),
        *_growth(preview, allow),
        *_regions(preview, allow),
        *_forbidden(preview, allow, limits),
    )


def _gate(name: str, what: str, total: int, allow: Mapping[str, int], gate: str = "") -> Gate:
    """The gate for ``total`` of something, of which the pull request allows fewer: ``name`` is what
    acknowledges them."""
    number = allow.get(name, 0)
    said = _TOLD.say("allowed" if number else "none_allowed", number=number)
    fix = _TOLD.say("acknowledge", name=name, total=total)
    return Gate(gate or name, f"{what}, and {said}", fix)


def _closed(gate: str, row: str, **values: object) -> Gate:
    """A gate that no count opens, with its words in gates.toml."""
    return Gate(gate, **_TOLD.table(row, **values))


def _first(names: Sequence[str], between: str = ", ", rest: str = " and {} more sites") -> str:
    """The first five of some names, and how many more there are."""
    more = len(names) - 5
    return between.join(names[:5]) + (rest.format(more) if more > 0 else "")


def _list_sites(sites: Iterable[SitePreview]) -> str:
    return _first([site.name for site in sites], rest=" and {} more")


def _vanished_sites(preview: Preview) -> Iterator[Gate]:
    sites = [site for site in preview.sites if site.state is State.VANISHED]
    if sites:
        hosts = sum(len(site.hosts) for site in sites)
        yield _closed(VANISHED, VANISHED, sites=_list_sites(sites), hosts=hosts)


def _growth(preview: Preview, allow: Mapping[str, int]) -> Iterator[Gate]:
    grown = [(site.name, site.growth) for site in preview.sites if site.growth]
    total = sum(each.total for _, each in grown)
    if total > allow.get(GROW, 0):
        parts = [_describe_growth(name, each) for name, each in grown]
        what = _first(parts, "; ", "; and {} more sites")
        yield _gate(GROW, _TOLD.say("growth", what=what), total, allow)


def _regions(preview: Preview, allow: Mapping[str, int]) -> Iterator[Gate]:
    """Sites that change by what another file than their own says, which few have before them."""
    total = sum(each.touched for each in preview.regions)
    if total > allow.get(REGION, 0):
        what = "; ".join(str(each) for each in preview.regions if each.touched)
        yield _gate(REGION, what, total, allow)


def _describe_growth(site: str, growth: Growth) -> str:
    parts = [f"{growth.before} to {growth.after} objects"] if growth.more else []
    parts += [f"{e.object} {e.before} to {e.after} bytes" for e in growth.swollen[:3]]
    more = len(growth.swollen) - 3
    parts += [f"{more} more objects grow in size"] if more > 0 else []
    return f"{site} grows: {', '.join(parts)}"


def losses(sites: Iterable[SitePreview]) -> dict[str, int]:
    """How many things of each kind are lost over all sites."""
    found = Counter[str]()
    for site in sites:
        found.update({each.what: each.count for each in site.deletions})
    return found


def _losses(preview: Preview, allow: Mapping[str, int]) -> Iterator[Gate]:
    found = losses(preview.sites)
    if found and sum(found.values()) > allow.get(REMOVE, 0):
        what = ", ".join(_many(count, kind) for kind, count in found.items())
        yield _gate(REMOVE, _TOLD.say("losses", what=what), sum(found.values()), allow)


def _many(count: int, kind: str) -> str:
    one = count == 1 and kind in ("hosts", "objects")
    return f"{count} {kind.removesuffix('s') if one else kind}"


def _forbidden(
    preview: Preview, allow: Mapping[str, int], limits: Mapping[str, int]
) -> Iterator[Gate]:
    """What a team forbids and the change does, more of it than the pull request acknowledges."""
    read = [site for site in preview.sites if site.state is not State.INVALID]
    if "unknown" in limits and len(read) < len(preview.sites):
        invalid = _list_sites(each for each in preview.sites if each.state is State.INVALID)
        yield _closed("fail-on unknown", "unreadable", sites=invalid)
    for name, share in limits.items():
        counted = [(site, count) for site in read if (count := _count(site, name))]
        over = [each for each in counted if each[1] * 100 > share * _machines(each[0])]
        total = sum(count for _, count in counted)
        if over and total > allow.get(name, 0):
            units = {unit: _many(total, unit) for unit in ("hosts", "objects")}
            limit = f"more than {share} % of " if share else ""
            what = f"{_TOLD.table('counted', **units)[name]} ({limit}{_name_counts(name, over)})"
            yield _gate(name, what, total, allow, f"fail-on {name}")
    total = max(preview.sites_total, 1)
    if "unknown" in limits and preview.code_changed and total > allow.get("unknown", 0):
        # Its effect on every site is to be acknowledged.
        yield _gate("unknown", _TOLD.say("code"), total, allow, "fail-on unknown")
    alone = [str(each) for each in preview.regions if each.unnamed]
    if "unknown" in limits and len(alone) > allow.get("unknown", 0):
        yield _gate("unknown", "; ".join(alone), len(alone), allow, "fail-on unknown")


def _machines(site: SitePreview) -> int:
    """The machines of a site before the change, of which a share is taken."""
    return sum(ledger.hosts for ledger in site.capacity) or len(site.hosts)


def _count(site: SitePreview, name: str) -> int:
    """How much a site has of what a value of ``--fail-on`` stands for: objects that are refused, or
    hosts, at most; 1 where it concerns no host."""
    if name == REFUSED:
        # A deletion that is refused is a loss, and has a gate of its own.
        refused = (each for each in site.objects if each.action is Action.REFUSED)
        return sum(each.change.after is not None for each in refused)
    impacts = FORBIDDABLE[name]
    seen = [_known(site, host, impacts) for host in site.hosts]
    hosts = sum(count for impact, count in count_hosts(seen).items() if impact in impacts)
    if name == "reimage":
        hosts += site.waiting  # it happens when the change is applied again
    there = any(reason.effect.impact in impacts for reason in site.reasons)
    there |= not site.hosts and site.impact in impacts
    return max(hosts, int(there))


def _known(site: SitePreview, host: HostVerdict, impacts: Collection[Impact]) -> HostVerdict:
    """A host with one of these impacts as its verdict, where another effect on it is unknown: what
    is not known must not hide what is."""
    if host.impact is not Impact.UNKNOWN:
        return host
    for index in host.reasons:
        effect = site.reasons[index].effect
        if effect.impact in impacts:
            return HostVerdict(host.host, host.pool, effect.impact, (index,), effect.at_most)
    return host


def _name_counts(name: str, counted: list[tuple[SitePreview, int]]) -> str:
    """The sites with most of it first: each with its count, and of how many machines."""
    worst = sorted(counted, key=lambda each: (-each[1], each[0].name))
    of_hosts = name in _OF_HOSTS
    names = [
        f"{site.name}: {count}{f' of {_machines(site)}' if of_hosts and site.hosts else ''}"
        for site, count in worst
    ]
    return _first(names)
