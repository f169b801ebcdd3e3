"""Policies on gang annotations: the gang plugin takes a pod whose annotations it cannot read for no
gang, or for one that never starts, and says nothing.

Source: pfnet/scheduler-plugins f63b46e, plugins/gang/name_spec.go.
"""

import re

from components.making.gang import NAME, POSITION, SIZE, TIMEOUT, key
from components.making.manifest import Manifest
from components.schedulers.admission import Check, literal, policy
from components.schedulers.names import run_here
from schemas.facts.site import Site
from schemas.model.scheduling import Backend, Gang

WRITTEN = (NAME, SIZE, TIMEOUT)
"""The parts that users write."""
LARGEST = 5
"""Digits of the largest gang."""


def gang_policies(site: Site) -> list[Manifest]:
    """One policy for each scheduler with gangs, and one on what belongs to none of them."""
    gangs = [(each, own.gang) for each, own in run_here(site) if own.gang is not None]
    if not gangs:
        return []
    found = policy(site, "gangs", {"strange": _strange(gangs)}, _between(gangs))
    for backend, gang in gangs:
        found += policy(site, f"gang-{backend.name}", _own(backend, gang), _of_one(gang))
    return found


def _own(backend: Backend, gang: Gang) -> dict[str, str]:
    """The gang annotations of a pod that this scheduler serves; of others none."""
    keys = literal([key(gang, part) for part in (*WRITTEN, POSITION)])
    mine = f"variables.scheduler == {literal(backend.name)}"
    said = f"{keys}.filter(k, k in variables.annotations)"
    return {"said": f"{mine} ? {said} : []"}


def _of_one(gang: Gang) -> list[Check]:
    name, size, timeout, position = (key(gang, part) for part in (*WRITTEN, POSITION))
    limit = gang.timeout_limit_seconds
    return [
        Check(
            f"variables.said.size() == 0 || {literal([name, size])}.all(k, k in variables.said)",
            f"a gang needs both annotations {name} and {size}, the same on all of its pods",
        ),
        Check(
            f"!({literal(name)} in variables.said) || {_value(name)} != ''",
            f"{name} must name the gang: one name for all of its pods, and no other gang's in the "
            "namespace",
        ),
        _number(
            size,
            2,
            10**LARGEST - 1,
            "the number of pods in the gang, from 2; one pod alone needs no gang annotations",
        ),
        _number(
            timeout,
            1,
            limit,
            f"a number of seconds, at most {limit}; leave it out for {gang.timeout_seconds}",
        ),
        Check(
            f"!({literal(position)} in variables.said)",
            f"leave {position} out: the scheduler writes it",
        ),
    ]


def _value(annotation: str) -> str:
    return f"variables.annotations[{literal(annotation)}]"


def _number(annotation: str, least: int, most: int, what: str) -> Check:
    """An annotation is a number between two others, where it is there."""
    value = _value(annotation)
    digits = f"{value}.matches('^[0-9]{{1,{LARGEST}}}$')"
    within = f"int({value}) >= {least} && int({value}) <= {most}"
    return Check(
        f"!({literal(annotation)} in variables.said) || ({digits} && {within})",
        f"{annotation} must be {what}",
    )


def _between(gangs: list[tuple[Backend, Gang]]) -> list[Check]:
    """Checks that no single scheduler can make: its annotations on pods of others, and other
    spellings."""
    found = []
    for prefix, serving in _by_prefix(gangs).items():
        keys = [f"{prefix}-{part}" for part in WRITTEN]
        served = f"variables.scheduler in {literal(serving)}"
        found.append(
            Check(
                f"{served} || !{literal(keys)}.exists(k, k in variables.annotations)",
                f"write schedulerName: {' or '.join(serving)}, or leave the annotations {prefix}-* "
                "out: no other scheduler knows these gangs",
            )
        )
    right = " or ".join(f"{prefix}-{{{','.join(WRITTEN)}}}" for prefix in _by_prefix(gangs))
    said = f"'annotation ' + variables.strange[0] + ' makes no gang here: write {right}'"
    return [*found, Check("variables.strange.size() == 0", said, computed=True)]


def _by_prefix(gangs: list[tuple[Backend, Gang]]) -> dict[str, list[str]]:
    """The schedulers that read annotations with each prefix; several may share one."""
    found: dict[str, list[str]] = {}
    for backend, gang in gangs:
        found.setdefault(gang.annotation_prefix, []).append(backend.name)
    return found


def _strange(gangs: list[tuple[Backend, Gang]]) -> str:
    """Annotations that look like a gang's, and are not."""
    parts = (*WRITTEN, POSITION)
    known = [f"{prefix}-{part}" for prefix in _by_prefix(gangs) for part in parts]
    looks = " || ".join(f"k.matches('{pattern}')" for pattern in _lookalikes(gangs))
    return f"variables.annotations.filter(k, !(k in {literal(known)}) && ({looks}))"


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
