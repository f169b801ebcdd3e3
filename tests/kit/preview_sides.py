"""The sides of a change that many previews of the tests have in common, read and made once.

Of the hundreds of previews of a table one side is the example sites as they are, or a side that the
preview before has had. Such a side is known by every byte that is read of it. ``unchanged`` says
whether a preview has written into what the next one got.
"""

import copy
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import NamedTuple, TypeVar
from unittest.mock import patch

import schemas.load
from components.effects.vocabulary import Name
from components.machines import fleet, hosts
from components.making.manifest import Manifest
from components.site import objects_by_name
from preview import survey
from preview.differences.fields import compared
from schemas.facts.site import Site
from schemas.load import Loaded, load
from schemas.reading import catalogue
from schemas.reading.tree import Tree
from schemas.rules import addresses, secrets

V = TypeVar("V")
MOST = 16
"""Sides that are kept; a site of 400 hosts is a few megabytes."""


class Made(NamedTuple):
    """A site, which is what its objects are found by, and the objects."""

    site: Site
    objects: dict[Name, Manifest]


_loaded: OrderedDict[Hashable, Loaded] = OrderedDict()
_made: OrderedDict[Hashable, Made] = OrderedDict()


@contextmanager
def shared_sides() -> Iterator[None]:
    """Within it a preview takes what is known already of the same bytes."""
    with patch.multiple(survey, load=_load, objects_by_name=_objects):
        yield


KEPT = (schemas.load, catalogue, addresses, secrets, hosts, fleet, compared)
"""The modules with memos by which one side takes what the other has found."""


@contextmanager
def long_way() -> Iterator[None]:
    """Within it nothing is kept, no object of one side is that of the other, and all fields are
    compared by deepdiff."""
    with ExitStack() as stack:
        for module in KEPT:
            memos = {
                name: each for name, each in vars(module).items() if hasattr(each, "cache_info")
            }
            assert memos, module
            for name, each in memos.items():
                stack.enter_context(patch.object(module, name, each.__wrapped__))
        stack.enter_context(patch.object(survey, "objects_by_name", _apart))
        stack.enter_context(patch.object(compared, "_values", side_effect=KeyError))
        yield


def unchanged() -> bool:
    """True if the kept objects are still those of their sites."""
    with long_way():
        return all(objects_by_name(each.site) == each.objects for each in _made.values())


def _apart(site: Site) -> dict[Name, Manifest]:
    return copy.deepcopy(objects_by_name(site))


def _load(root: Tree, names: list[str], among: Iterable[str], **more: bool) -> dict[str, Loaded]:
    (name,) = names
    key = (name, frozenset(among), tuple(sorted(root.files.items())))
    return {name: _kept(_loaded, key, lambda: load(root, names, among, **more)[name])}


def _objects(site: Site) -> dict[Name, Manifest]:
    made = _kept(_made, id(site), lambda: Made(site, objects_by_name(site)))
    return dict(made.objects)


def _kept(among: OrderedDict[Hashable, V], key: Hashable, make: Callable[[], V]) -> V:
    found = among.pop(key, None)
    among[key] = make() if found is None else found
    while len(among) > MOST:
        among.popitem(last=False)
    return among[key]
