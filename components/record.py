"""One record for each component: its name, and what it makes, means and watches.

A component is a package ``components/<name>`` with the same modules each time. Its verdict rules
are imported when they are first asked for: ``check`` and ``render`` need objects alone.
"""

from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import NamedTuple

from components.effects.rules import Rule, Rules
from components.making.manifest import Manifest
from components.making.patches import PatchFault, patched
from components.making.watch import Watched
from schemas.facts.site import Site

Objects = Callable[[Site], list[Manifest]]


class Component(NamedTuple):
    """One part of a site.

    ``objects`` makes its manifests. ``effects`` returns the rules that judge what a change of them
    does to machines: its own, then those of Kubernetes' kinds. ``watch`` returns what monitoring
    scrapes, alerts on and shows of it. ``faults`` are those of patches of its manifests; they are
    made without these.
    """

    name: str
    objects: Objects
    effects: Callable[[], Rules]
    watch: Callable[[Site], Watched]
    faults: Callable[[Site], list[PatchFault]]


def component(name: str, objects: Objects) -> Component:
    """The record of the component in ``components/<name>``, a dash as an underscore.

    Its package has a module ``effects`` with RULES where it makes kinds that are not Kubernetes',
    and ``watch`` where it is watched.
    """

    @cache
    def has(part: str) -> bool:
        return find_spec(module(name, part)) is not None

    @cache
    def effects() -> Rules:
        mine = import_module(module(name, "effects")) if has("effects") else None
        own: Sequence[Rule] = mine.RULES if mine else ()
        shared: Sequence[Rule] = import_module("components.effects.kubernetes").RULES
        return Rules((*own, *getattr(mine, "SHARED", shared)))

    def watch(site: Site) -> Watched:
        made: Watched = (
            import_module(module(name, "watch")).watch(site) if has("watch") else Watched()
        )
        return made

    def whole(site: Site) -> list[Manifest]:
        return patched(site, name, objects(site)).manifests

    def faults(site: Site) -> list[PatchFault]:
        return patched(site, name, objects(site)).faults

    return Component(name, whole, effects, watch, faults)


def module(name: str, part: str) -> str:
    """The full name of a module in a component's package."""
    return f"components.{name.replace('-', '_')}.{part}"
