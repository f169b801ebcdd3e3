"""Policies on gang annotations: the gang plugin takes a pod whose annotations it cannot read for no
gang, or for one that never starts, and says nothing (pfnet/scheduler-plugins f63b46e,
plugins/gang/name_spec.go)."""

import re

from components.making.gang import NAME, POSITION, SIZE, TIMEOUT, key
from components.making.manifest import Json, Manifest
from components.making.told import Told
from components.schedulers.admission import literal, policy
from components.schedulers.names import run_here
from schemas.facts.site import Site
from schemas.kubernetes.grouping import group_by_key
from schemas.model.scheduling import Backend, Gang

WRITTEN = (NAME, SIZE, TIMEOUT)
"""The parts that users write."""
PARTS = {"name": NAME, "size": SIZE, "timeout": TIMEOUT, "position": POSITION}
"""All of them, as the texts of the checks call them."""
TOLD = Told(__file__)


def gang_policies(site: Site) -> list[Manifest]:
    """One policy for each scheduler with gangs, and one on what belongs to none of them."""
    gangs = [(each, own.gang) for each, own in run_here(site) if own.gang is not None]
    if not gangs:
        return []
    found = policy(site, "gangs", {"strange": _strange(gangs)}, _between(gangs))
    for backend, gang in gangs:
        parts = {name: key(gang, part) for name, part in PARTS.items()}
        said = TOLD.say("said", scheduler=backend.name, keys=literal([*parts.values()]))
        seconds = {"limit": gang.timeout_limit_seconds, "seconds": gang.timeout_seconds}
        checks = TOLD.rows("of_one", **parts, **seconds)
        found += policy(site, f"gang-{backend.name}", {"said": said}, checks)
    return found


def _between(gangs: list[tuple[Backend, Gang]]) -> list[Json]:
    found = []
    for prefix, serving in _by_prefix(gangs).items():
        keys = literal([f"{prefix}-{part}" for part in WRITTEN])
        values = {"schedulers": literal(serving), "serving": " or ".join(serving)}
        found += TOLD.rows("of_others", prefix=prefix, keys=keys, **values)
    right = " or ".join(f"{prefix}-{{{','.join(WRITTEN)}}}" for prefix in _by_prefix(gangs))
    return [*found, *TOLD.rows("misspelled", right=right)]


def _by_prefix(gangs: list[tuple[Backend, Gang]]) -> dict[str, list[str]]:
    """The schedulers that read annotations with each prefix; several may share one."""
    return group_by_key((gang.annotation_prefix, backend.name) for backend, gang in gangs)


def _strange(gangs: list[tuple[Backend, Gang]]) -> str:
    known = [f"{prefix}-{part}" for prefix in _by_prefix(gangs) for part in PARTS.values()]
    looks = " || ".join(f"k.matches('{pattern}')" for pattern in _lookalikes(gangs))
    return TOLD.say("strange", known=literal(known), looks=looks)


def _lookalikes(gangs: list[tuple[Backend, Gang]]) -> list[str]:
    """Patterns of other spellings: of another site's or the plugin's example's domain, without
    one, in capitals, with other signs between words, or with a part that there is not."""
    found = []
    for prefix in _by_prefix(gangs):
        domain, _, name = prefix.partition("/")
        words = "[-_.]?".join(re.findall("[A-Za-z0-9]+", name))
        seconds = "(schedule(r|d|ing)?[-_.]?)?time[-_.]?out([-_.]?(in[-_.]?)?sec(ond)?s?)?"
        parts = f"(name|size|position|{seconds})"
        found.append(f"(?i)^([^/]+/)?{words}s?[-_.]?{parts}$")
        found.append(f"(?i)^{domain.replace('.', '[.]')}/{words}s?([-_.].*)?$")
    return list(dict.fromkeys(found))
