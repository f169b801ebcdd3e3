"""One record for each component, a package ``components/<name>``: its name, and what it makes,
means and watches. Rules are imported when asked for: ``check`` and ``render`` need none."""

from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import NamedTuple

from components.effects.rules import Rule, Rules
from components.making.manifest import Manifest
from components.making.patches import PatchFault, patched
from components.making.watch import Watched
from schemas.facts.site import Site

Objects = Callable[[Site], list[Manifest]]


class Component(NamedTuple):
    """One part of a site: the package ``components/<name>``, a dash as an underscore. ``make``
    makes its manifests, without patches. Its modules ``effects``, with RULES for kinds that are not
    Kubernetes', and ``watch`` are there where it has any."""

    name: str
    make: Objects

    def objects(self, site: Site) -> list[Manifest]:
        """Its manifests."""
        return patched(site, self.name, self.make(site)).manifests

    def faults(self, site: Site) -> list[PatchFault]:
        """The faults of patches of its manifests; they are made without these."""
        return patched(site, self.name, self.make(site)).faults

    def effects(self) -> Rules:
        """The rules for changes of its objects: its own, then those of Kubernetes' kinds."""
        return _rules(self.name)

    def watch(self, site: Site) -> Watched:
        """Its scrapes, alerts and dashboards."""
        found = _module(self.name, "watch")
        made: Watched = found.watch(site) if found else Watched()
        return made


@cache
def _rules(name: str) -> Rules:
    mine = _module(name, "effects")
    shared: Sequence[Rule] = import_module("components.effects.kubernetes").RULES
    own: Sequence[Rule] = mine.RULES if mine else ()
    return Rules((*own, *getattr(mine, "SHARED", shared)))


@cache
def _module(name: str, part: str) -> ModuleType | None:
    found = module(name, part)
    return import_module(found) if find_spec(found) else None


def module(name: str, part: str) -> str:
    """The full name of a module in a component's package."""
    return f"components.{name.replace('-', '_')}.{part}"
