"""Rules on namespaces of the site's own cluster: each belongs to one, and none to Kubernetes.
Whoever may make pods in one may use the rights of all that is in it."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from schemas.facts.site import Site
from schemas.kubernetes.tables import read_table
from schemas.model.etcd_snapshots import NAMESPACE as ETCD_SNAPSHOTS
from schemas.reading.paths import each_at
from schemas.rules.finding import Finding, Path, say

TAKEN = re.compile(r"default|cert-manager|kube-.*|.*-system")
"""Namespaces of Kubernetes and of the programs that clusters run."""
OWN = ("accelerators", "network-devices", "host-agent", "disruption-recorder", ETCD_SNAPSHOTS)
"""Namespaces in which Foresite itself puts programs, on whatever site needs them."""
_PROGRAMS = read_table(__file__)["program"]


class _Named(NamedTuple):
    """A namespace that a site file names: where, whose it is, and whether the file says so or
    leaves it to the default. ``brought``: the site itself runs the program, wherever it likes."""

    name: str
    place: Path
    owner: str
    written: bool = True
    team: bool = False
    brought: bool = False


def one_owner(site: Site) -> Iterator[Finding]:
    """A namespace belongs to one team or one program, and to nobody else."""
    owners: dict[str, _Named] = {}
    for each in (*sorted(_programs(site), key=lambda program: program.written), *_teams(site)):
        other = owners.setdefault(each.name, each)
        if TAKEN.fullmatch(each.name) and not each.brought:
            yield say("namespace-reserved", each.place, each, "Kubernetes or its programs")
        elif each.name in OWN:
            yield say("namespace-reserved", each.place, each, "Foresite's own plugins")
        elif other is each or (other.brought and each.brought):
            continue
        elif other.team and other.owner == each.owner:
            yield say("listed-twice", each.place, f"namespace {each.name}")
        elif other.team:
            yield say("namespace-of-other-team", each.place, each, other)
        else:
            yield say("namespace-reserved", each.place, each, other.owner)


def _programs(site: Site) -> Iterator[_Named]:
    """The namespaces of programs that the site has or may get."""
    for each in _PROGRAMS:
        kinds = {kind for _, kind in each_at(site.file, each.get("kinds", ""))}
        section, _, field = each["field"].rpartition(".")
        for place, holder in each_at(site.file, section):
            if holder is not None and each.get("kind") in (None, *kinds):
                written, brought = field in holder.model_fields_set, each.get("brought", False)
                name = getattr(holder, field)
                yield _Named(name, (*place, field), each["owner"], written, brought=brought)


def _teams(site: Site) -> Iterator[_Named]:
    for at, team in each_at(site.file, "scheduling.teams.*"):
        for index, name in enumerate(team.namespaces):
            yield _Named(name, (*at, "namespaces", index), f"team {team.name}", team=True)
