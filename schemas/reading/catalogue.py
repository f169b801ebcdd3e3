"""The catalogue that sites refer to by name: hardware profiles, accelerators and releases of
schemas/catalogue."""

import functools
from collections.abc import Mapping
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
from schemas.reading.typed_document import parse
from schemas.reading.yaml_reader import Document, read_yaml

CATALOGUE = Path(__file__).resolve().parent.parent / "catalogue"
SHOWN = "schemas/catalogue"
"""Path of a catalogue's files in texts that a person reads."""


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


def catalogue_of(root: Folder) -> Folder:
    """The catalogue that a repository's sites refer to: its own, or else the one shipped here.

    A state in memory has its own alone: where a change takes the catalogue away, nothing else may
    stand in for it.
    """
    own = root / "schemas" / "catalogue"
    return own if own.is_dir() or isinstance(root, Tree) else CATALOGUE


def installed_files() -> dict[str, bytes]:
    """The files of the catalogue that is shipped here, by path from the root of a repository."""
    files = sorted(CATALOGUE.rglob("*.yaml"))
    return {f"{SHOWN}/{path.relative_to(CATALOGUE)}": path.read_bytes() for path in files}


def hardware_catalogue(folder: Folder = CATALOGUE) -> Hardware:
    """The hardware profiles of a catalogue."""
    return Hardware(*_entries(folder, "hardware", Catalogue))


def accelerator_catalogue(folder: Folder = CATALOGUE) -> AcceleratorModels:
    """The accelerator models of a catalogue; a repository of its own may have none."""
    return AcceleratorModels(*_entries(folder, "accelerators", AcceleratorCatalogue))


def _entries(
    folder: Folder, part: str, model: type[Model]
) -> tuple[Mapping[str, Any], tuple[Problem, ...]]:
    """The entries of one part by name, which is its file's name and its top key too."""
    data = read(folder, f"{part}.yaml", SHOWN)
    if not isinstance(data, Refused):
        return _parse(data, part, model)
    return {}, () if data.code is Code.FILE_MISSING else (_whole(f"{part}.yaml", data),)


def _whole(path: str, refused: Refused) -> Problem:
    """The problem of a file of the catalogue that cannot be had."""
    code, message, fix = refused
    return Problem(f"{SHOWN}/{path}", 0, 0, code, "", "", message, fix)


# By content, as a folder may hold another state of the repository the next time.
@functools.lru_cache(maxsize=16)
def _parse(
    data: bytes, part: str, model: type[Model]
) -> tuple[Mapping[str, Any], tuple[Problem, ...]]:
    document, problems = read_yaml(data, f"{SHOWN}/{part}.yaml")
    catalogue, more = parse(model, document) if document else (None, [])
    problems += more
    entries = getattr(catalogue, part) if catalogue is not None and not problems else {}
    return entries, tuple(problems)


def release_names(folder: Folder = CATALOGUE) -> list[str]:
    """The names of the releases, oldest first."""
    releases = folder / "releases"
    names = [each.name for each in releases.iterdir()] if releases.is_dir() else []
    return sorted(each.removesuffix(".yaml") for each in names if each.endswith(".yaml"))


def load_release(
    name: str, folder: Folder = CATALOGUE
) -> tuple[Release | None, tuple[Problem, ...]]:
    """A release by name, with the problems of its file; (None, ()) where there is none."""
    if name not in release_names(folder):
        return None, ()
    path = f"releases/{name}.yaml"
    data = read(folder, path, SHOWN)
    return (None, (_whole(path, data),)) if isinstance(data, Refused) else _release(data, path)


@functools.lru_cache(maxsize=32)
def _release(data: bytes, path: str) -> tuple[Release | None, tuple[Problem, ...]]:
    document, problems = read_yaml(data, f"{SHOWN}/{path}")
    release, more = parse(Release, document) if document else (None, [])
    return release, (*problems, *more)


def catalogue_document(path: str, folder: Folder = CATALOGUE) -> Document | None:
    """A file of a catalogue with its positions, for saying where a value comes from."""
    data = read(folder, path, SHOWN)
    return None if isinstance(data, Refused) else _document(data, f"{SHOWN}/{path}")


@functools.lru_cache(maxsize=16)
def _document(data: bytes, file: str) -> Document | None:
    return read_yaml(data, file)[0]
