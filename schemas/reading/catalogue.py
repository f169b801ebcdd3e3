"""The catalogue that sites refer to by name: hardware profiles, accelerators and releases of
schemas/catalogue, which is built in, and of catalogue/, where a repository adds its own."""

import functools
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from schemas.model.accelerators import AcceleratorModel
from schemas.model.codes import Code
from schemas.model.hardware import HardwareProfile
from schemas.model.primitives import DnsLabel, Model
from schemas.model.problem import Problem
from schemas.model.release import Release
from schemas.reading.site_files import read
from schemas.reading.tree import Folder, Refused, Tree
from schemas.reading.typed_document import parse, place, value_at
from schemas.reading.yaml_reader import Document, read_yaml

CATALOGUE = Path(__file__).resolve().parent.parent / "catalogue"
SHOWN, OWN = "schemas/catalogue", "catalogue"
"""Paths of the built-in catalogue's files in texts that a person reads, and of a repository's."""

_TAKEN = "Foresite's own catalogue has {} too, and nothing here replaces what is built in"
_WHY = "sites that name it would silently mean something else, now or after an upgrade"
_OTHER = "write another name here, and in the sites that mean this one"


class Catalogue(Model):
    """A file of hardware profiles."""

    hardware: dict[DnsLabel, HardwareProfile]
    """Profiles by name."""


class AcceleratorCatalogue(Model):
    """A file of accelerator models."""

    accelerators: dict[DnsLabel, AcceleratorModel]
    """Models by name."""


class Hardware(NamedTuple):
    """The profiles that every site of a repository can name, and the problems of their file."""

    profiles: Mapping[str, HardwareProfile]
    problems: tuple[Problem, ...] = ()


class AcceleratorModels(NamedTuple):
    """The models that every site of a repository can use, and the problems of their file."""

    models: Mapping[str, AcceleratorModel]
    problems: tuple[Problem, ...] = ()


class Catalogues(NamedTuple):
    """The folders of the built-in catalogue, and of the one that a repository adds to it."""

    built_in: Folder = CATALOGUE
    own: Folder = Tree({})


BUILT_IN = Catalogues()


def catalogue_of(root: Folder) -> Catalogues:
    """The catalogues that a repository's sites refer to: the built-in one is that of a repository
    that holds Foresite's code, or else the one shipped here.

    A state in memory has its own alone: where a change takes the catalogue away, nothing else may
    stand in for it.
    """
    held = root / "schemas" / "catalogue"
    built_in = held if held.is_dir() or isinstance(root, Tree) else CATALOGUE
    return Catalogues(built_in, root / OWN)


def installed_files() -> dict[str, bytes]:
    """The files of the catalogue that is shipped here, by path from the root of a repository."""
    files = sorted(CATALOGUE.rglob("*.yaml"))
    return {f"{SHOWN}/{path.relative_to(CATALOGUE)}": path.read_bytes() for path in files}


def hardware_catalogue(catalogues: Catalogues = BUILT_IN) -> Hardware:
    """The hardware profiles that sites can name."""
    return Hardware(*_entries(catalogues, "hardware", Catalogue))


def accelerator_catalogue(catalogues: Catalogues = BUILT_IN) -> AcceleratorModels:
    """The accelerator models that sites can use; a repository of its own may have none."""
    return AcceleratorModels(*_entries(catalogues, "accelerators", AcceleratorCatalogue))


def _entries(
    catalogues: Catalogues, part: str, model: type[Model]
) -> tuple[Mapping[str, Any], tuple[Problem, ...]]:
    """The entries of one part by name, which is its file's name and its top key too."""
    shared, problems = _read(catalogues.built_in, SHOWN, part, model)
    own, more = _read(catalogues.own, OWN, part, model)
    document = catalogue_document(f"{part}.yaml", catalogues, own=True) if own else None
    if document is not None:
        for name in sorted(own.keys() & shared.keys()):
            at = ((part, name), Code.DUPLICATE_NAME, _TAKEN.format(name), _OTHER)
            more = (*more, replace(place(document, *at, key=True), reason=_WHY))
    return {**own, **shared}, (*problems, *more)


def _read(
    folder: Folder, shown: str, part: str, model: type[Model]
) -> tuple[Mapping[str, Any], tuple[Problem, ...]]:
    data = read(folder, f"{part}.yaml", shown)
    if not isinstance(data, Refused):
        return _parse(data, shown, part, model)
    return {}, () if data.code is Code.FILE_MISSING else (_whole(f"{shown}/{part}.yaml", data),)


def _whole(file: str, refused: Refused) -> Problem:
    """The problem of a file of the catalogue that cannot be had."""
    code, message, fix = refused
    return Problem(file, 0, 0, code, "", "", message, fix)


# By content, as a folder may hold another state of the repository the next time.
@functools.lru_cache(maxsize=16)
def _parse(
    data: bytes, shown: str, part: str, model: type[Model]
) -> tuple[Mapping[str, Any], tuple[Problem, ...]]:
    document, problems = read_yaml(data, f"{shown}/{part}.yaml")
    catalogue, more = parse(model, document) if document else (None, [])
    problems += more
    entries = getattr(catalogue, part) if catalogue is not None and not problems else {}
    return entries, tuple(problems)


def release_names(catalogues: Catalogues = BUILT_IN) -> list[str]:
    """The names of the releases, oldest first."""
    return sorted({name for folder in catalogues for name in _releases(folder)})


def _releases(folder: Folder) -> set[str]:
    releases = folder / "releases"
    names = [each.name for each in releases.iterdir()] if releases.is_dir() else []
    return {each.removesuffix(".yaml") for each in names if each.endswith(".yaml")}


def release_clashes(catalogues: Catalogues) -> Iterator[Problem]:
    """The releases of a repository's own that are called as a built-in one."""
    if own := _releases(catalogues.own):
        for name in sorted(own & _releases(catalogues.built_in)):
            clash = Refused(Code.DUPLICATE_NAME, _TAKEN.format(name), _OTHER)
            yield replace(_whole(f"{OWN}/releases/{name}.yaml", clash), reason=_WHY)


def load_release(
    name: str, catalogues: Catalogues = BUILT_IN
) -> tuple[Release | None, tuple[Problem, ...]]:
    """A release by name, with the problems of its file; (None, ()) where there is none."""
    for folder, shown in zip(catalogues, (SHOWN, OWN), strict=True):
        if name in _releases(folder):
            data, file = (
                read(folder, f"releases/{name}.yaml", shown),
                f"{shown}/releases/{name}.yaml",
            )
            if isinstance(data, Refused):
                return None, (_whole(file, data),)
            return _release(data, file)
    return None, ()


@functools.lru_cache(maxsize=32)
def _release(data: bytes, file: str) -> tuple[Release | None, tuple[Problem, ...]]:
    document, problems = read_yaml(data, file)
    release, more = parse(Release, document) if document else (None, [])
    return release, (*problems, *more)


def catalogue_document(
    path: str, catalogues: Catalogues = BUILT_IN, *, own: bool = False
) -> Document | None:
    """A file of a catalogue with its positions, for saying where a value comes from; None where
    that catalogue has no such file."""
    folder, shown = (catalogues.own, OWN) if own else (catalogues.built_in, SHOWN)
    data = read(folder, path, shown)
    return None if isinstance(data, Refused) else _document(data, f"{shown}/{path}")


def entry_document(
    path: str, entry: tuple[str, ...], catalogues: Catalogues = BUILT_IN
) -> Document | None:
    """The file that has an entry (of a release, any file), with its positions."""
    own = catalogue_document(path, catalogues, own=True)
    if own is not None and (not entry or value_at(own, entry) is not None):
        return own
    return catalogue_document(path, catalogues)


@functools.lru_cache(maxsize=16)
def _document(data: bytes, file: str) -> Document | None:
    return read_yaml(data, file)[0]
