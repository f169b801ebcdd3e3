"""Engines that apply rendered manifests: the objects that each needs, beside the manifests."""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from components.engines import flux
from components.engines.fleet import Fleet
from components.making.manifest import Json


class Engine(NamedTuple):
    """``files`` gives the engine's objects by file, without the index; ``advice`` says what it does
    not do."""

    files: Callable[[Fleet], dict[str, list[Json]]]
    advice: Callable[[Fleet], Iterable[str]]


ENGINES: Mapping[str, Engine] = {"flux": Engine(flux.files, flux.advice)}
"""By the engine's name, which is also the name of its folder."""
