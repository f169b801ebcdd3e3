"""What a team brings is third-party: each kind of danger in a chart is told once, and allowed once.

Nobody can correct a chart's objects one by one. So what they break is gathered by chart and kind of
danger (third_party.toml), and allowed by naming what was seen; whatever an update adds to that is
told again. Rules that protect Foresite's objects, or others, are held by every object.
"""

import datetime
import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from policies.embedded import embedded_objects, makers
from policies.exceptions import ExemptionError, day
from policies.pods import CONTAINER_LISTS, items
from policies.rule import Json, Violation, text
from policies.rules.ownership import component_of
from schemas.kubernetes.bodies import mapping
from schemas.kubernetes.tables import read_table

_TABLE = read_table(__file__)
DANGERS: Mapping[str, Mapping[str, Any]] = _TABLE["danger"]
ADVICE, BROUGHT = (frozenset[str](_TABLE[name]) for name in ("advice", "brought"))
"""Rules that are told in one line, and rules that Foresite's own objects are not asked."""
DANGER_OF = {rule: danger for danger, said in DANGERS.items() for rule in said["rules"]}
"""The kind of danger that a broken rule is."""
MARKS: Mapping[str, str] = {rule: form for form, rules in _TABLE["marks"].items() for rule in rules}
"""What identifies a broken rule in its object (third_party.toml)."""
WHOLE = ("item", "object")
"""Forms of marks that have a digest of all that was seen."""
SHOWN = 100
"""Characters of a part of an object that a mark shows; the digest after them is of all."""
_STEP = re.compile(r'\["(?P<key>[^"]*)"\]|\[(?P<index>\d+)\]|(?P<name>[^.\[\]]+)')
_TAG = re.compile(r"(?<=[^/]):[^/]*$")
POD_NETWORK, OWN = "pod-network", "components"
Mark = tuple[str, str, str]
"""A danger of one object: its title, the broken rule, and the value or the number of times."""
Place = tuple[str | int, ...]


class Permission(NamedTuple):
    """A danger that somebody allowed: the marks that were seen, and its place in the site file."""

    danger: str
    what: tuple[str, ...]
    until: datetime.date
    place: Place


class Party(NamedTuple):
    """Third-party objects of one origin, known by their component; its place in the site file."""

    name: str
    place: Place
    allowed: tuple[Permission, ...]


class Told(NamedTuple):
    """A danger that nobody allowed: a line for each object, and permissions that have ended."""

    party: Party
    danger: str
    lines: tuple[str, ...]
    expired: tuple[Permission, ...] = ()

    @property
    def message(self) -> str:
        """The danger in one sentence."""
        count = len(self.lines)
        objects = f"{count} object{'' if count == 1 else 's'}"
        means = DANGERS[self.danger]["means"]
        return f"{self.party.name} brings {objects} {means}: {' | '.join(self.lines)}"


class ThirdParty(NamedTuple):
    """What third-party objects break: dangers that nobody allowed, lines of permissions that no
    object needs, and the rules of advice that are broken, with the number of objects."""

    dangers: tuple[Told, ...] = ()
    unused: tuple[tuple[Permission, str], ...] = ()
    advice: tuple[tuple[Party, int, tuple[str, ...]], ...] = ()


def parties(file: Json) -> dict[str, Party]:
    """The third parties of a site file as plain data, by component. Raises ExemptionError."""
    every: list[tuple[str, Place, Any]] = [
        *((f"extra-{each.get('name')}", ("extra", n), each) for n, each in items(file, "extra")),
        *((f"extra-{own}", (OWN, own), each) for own, each in mapping(file, OWN).items()),
    ]
    network = mapping(file, "cluster", "pod_network")
    if network.get("chart") or network.get("allow"):
        every.append((POD_NETWORK, ("cluster", "pod_network"), network))
    return {name: _party(name, at, each) for name, at, each in every if isinstance(each, dict)}


def _party(name: str, place: Place, entry: Mapping[str, Any]) -> Party:
    rows = entry.get("allow") or []
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ExemptionError(f"allow of {name} is no list of dangers")
    allowed = (
        Permission(
            str(row.get("danger")),
            tuple(map(str, row.get("what") or ())),
            day(row.get("until")),
            (*place, "allow", number),
        )
        for number, row in enumerate(rows)
    )
    return Party(name, place, tuple(allowed))


def separate(
    violations: Iterable[Violation], known: Mapping[str, Party], today: datetime.date
) -> tuple[list[Violation], ThirdParty]:
    """The violations that count one by one, and what the third parties among the objects break."""
    own: list[Violation] = []
    dangers: dict[tuple[str, str], Counter[Mark]] = {}
    advice: dict[str, list[tuple[str, str]]] = {}
    for each in violations:
        party, title = whose(each, known)
        rule = each.rule.name
        if party and rule in DANGER_OF:
            marks = dangers.setdefault((party, DANGER_OF[rule]), Counter())
            marks[title, rule, identity(each)] += 1
        elif party and rule in ADVICE:
            advice.setdefault(party, []).append((title, rule))
        else:
            own.append(each)
    told, unused = [], []
    for name, one in known.items():
        for danger in DANGERS:
            seen = _marks(dangers.get((name, danger), Counter()))
            mine = [each for each in one.allowed if each.danger == danger]
            valid = [each for each in mine if today <= each.until]
            granted = {mark for each in valid for line in each.what for mark in _read(line)}
            if missing := [mark for mark in seen if mark not in granted]:
                ended = tuple(each for each in mine if each not in valid)
                told.append(Told(one, danger, tuple(_lines(missing)), ended))
            lines = ((each, line) for each in mine for line in each.what)
            unused += [pair for pair in lines if not {*_read(pair[1])} <= {*seen}]
    rows = tuple(
        (known[name], len({title for title, _ in found}), tuple(sorted({r for _, r in found})))
        for name, found in advice.items()
    )
    return own, ThirdParty(tuple(told), tuple(unused), rows)


def identity(each: Violation) -> str:
    """What was seen, so that another right, subject, port, image or container is not the same."""
    body, at = each.object.body, each.found.path
    for place, inner in embedded_objects(body):
        if at == place or at.startswith(f"{place}."):
            body, at = inner, at[len(place) :]
    nodes: list[tuple[str | int, Any]] = [("", body)]
    for step in _STEP.finditer(at):
        key = int(step["index"]) if step["index"] else step["key"] or step["name"]
        try:
            nodes.append((key, nodes[-1][1][key]))
        except (KeyError, IndexError, TypeError):
            nodes.append((key, "none"))
            break
    return _FORMS[MARKS[each.rule.name]](nodes, each.found.value)


_Nodes = Sequence[tuple[str | int, Any]]


def _container(nodes: _Nodes, value: str) -> str:
    """The container and the value; of what is the pod's, its containers."""
    found = [
        text(node.get("name"))
        for (field, _), (_, node) in pairwise(nodes)
        if field in CONTAINER_LISTS and isinstance(node, dict)
    ]
    leaf = nodes[-1][1]
    said = "" if leaf is True else _compact(value or leaf)
    return "=".join(filter(None, (found[0] if found else _pod(nodes, ""), said)))


def _pod(nodes: _Nodes, value: str) -> str:
    """The names of the pod's containers, and the value."""
    spec = next((n for _, n in nodes if isinstance(n, dict) and "containers" in n), {})
    names = [text(one.get("name")) for name in CONTAINER_LISTS for _, one in items(spec, name)]
    return "=".join(filter(None, ("+".join(names) or "pod", value)))


_FORMS: Mapping[str, Callable[[_Nodes, str], str]] = {
    "container": _container,
    "pod": _pod,
    # The outermost member of a list: a rule of a role, a webhook.
    "item": lambda nodes, _: _compact(
        next((node for key, node in nodes if isinstance(key, int)), nodes[-1][1])
    ),
    # All that the object says, but for its metadata.
    "object": lambda nodes, _: _compact(
        {key: node for key, node in nodes[0][1].items() if key not in ("metadata", "status")}
    ),
    "value": lambda nodes, value: _compact(value or nodes[-1][1]),
    # Without its tag: any version of an image is the same danger.
    "image": lambda nodes, _: _TAG.sub("", _compact(nodes[-1][1]).partition("@")[0]),
}


def _compact(part: Any) -> str:
    """A part of an object in one word: a plain text as it is, else its start and its digest."""
    if isinstance(part, str) and re.fullmatch(r"[\w./:@-]{1,253}", part):
        return part
    whole = json.dumps(part, sort_keys=True, separators=(",", ":"))
    shown = re.sub(r"[\s\"\\;]+", "", whole)[:SHOWN]
    return f"{shown}~{hashlib.sha256(whole.encode()).hexdigest()[:12]}"


def whose(each: Violation, known: Mapping[str, Party]) -> tuple[str, str]:
    """The component of a third-party object, and its title; none of Foresite's own. The ConfigMap
    of a pod network is Foresite's; what is written in it is not."""
    name = component_of(each.object)
    if name not in known:
        return "", ""
    inner = makers(each.object.body, each.found.path)
    if inner:
        return (name, inner[0]) if len(inner) == 1 else ("", "")
    carrier = name == POD_NETWORK and each.object.cluster == "management"
    return ("", "") if carrier else (name, each.object.title)


def _marks(found: Counter[Mark]) -> list[Mark]:
    """Each mark once; how often, where it is more than once and does not stand for a whole part."""
    return sorted(
        (title, rule, f"{value}*{count}" if count > 1 and MARKS[rule] not in WHOLE else value)
        for (title, rule, value), count in found.items()
    )


def _lines(marks: Sequence[Mark]) -> Iterator[str]:
    """A line for each object: ``DaemonSet a/b: host-network; host-path /dev, /sys``."""
    objects: dict[str, dict[str, list[str]]] = {}
    for title, rule, value in marks:
        objects.setdefault(title, {}).setdefault(rule, []).append(value)
    for title, rules in objects.items():
        parts = (f"{rule} {', '.join(values)}".rstrip() for rule, values in rules.items())
        yield f"{title}: {'; '.join(parts)}"


def _read(line: str) -> Iterator[Mark]:
    """The marks of a line."""
    title, _, rest = line.partition(": ")
    for part in rest.split("; "):
        rule, _, values = part.partition(" ")
        for value in values.split(", "):
            yield title, rule, value
