"""What sites refer to by name: the hardware profiles, accelerators and releases of
schemas/catalogue."""

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from schemas.accelerators import AcceleratorModel
from schemas.hardware import HardwareProfile
from schemas.primitives import DnsLabel, Model
from schemas.problem import Problem
from schemas.reader import Document, read_yaml
from schemas.release import Release
from schemas.typed import parse

CATALOGUE = Path(__file__).parent / "catalogue"
SHOWN = "schemas/catalogue"
"""How a catalogue's files are named in what a person reads."""


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


def catalogue_of(root: Path) -> Path:
    """The catalogue that a repository's sites refer to: its own, or else the one shipped here."""
    own = root / "schemas" / "catalogue"
    return own if own.is_dir() else CATALOGUE


def hardware_catalogue(folder: Path = CATALOGUE) -> Hardware:
    """The hardware profiles of a catalogue."""
    try:
        return _hardware((folder / "hardware.yaml").read_bytes())
    except FileNotFoundError:
        return Hardware({})


# By content, as a folder may hold another state of the repository the next time.
@functools.lru_cache(maxsize=8)
def _hardware(data: bytes) -> Hardware:
    document, problems = read_yaml(data, f"{SHOWN}/hardware.yaml")
    catalogue, more = parse(Catalogue, document) if document else (None, [])
    problems += more
    profiles = catalogue.hardware if catalogue is not None and not problems else {}
    return Hardware(profiles, tuple(problems))


def accelerator_catalogue(folder: Path = CATALOGUE) -> AcceleratorModels:
    """The accelerator models of a catalogue; a repository of its own may have none."""
    try:
        return _accelerators((folder / "accelerators.yaml").read_bytes())
    except FileNotFoundError:
        return AcceleratorModels({})


@functools.lru_cache(maxsize=8)
def _accelerators(data: bytes) -> AcceleratorModels:
    document, problems = read_yaml(data, f"{SHOWN}/accelerators.yaml")
    catalogue, more = parse(AcceleratorCatalogue, document) if document else (None, [])
    problems += more
    models = catalogue.accelerators if catalogue is not None and not problems else {}
    return AcceleratorModels(models, tuple(problems))


def release_names(folder: Path = CATALOGUE) -> list[str]:
    """The names of the releases, oldest first."""
    return sorted(path.stem for path in (folder / "releases").glob("*.yaml"))


def load_release(
    name: str, folder: Path = CATALOGUE
) -> tuple[Release | None, tuple[Problem, ...]]:
    """A release by name, with the problems of its file; (None, ()) where there is none."""
    if name not in release_names(folder):
        return None, ()
    path = f"releases/{name}.yaml"
    return _release((folder / path).read_bytes(), path)


@functools.lru_cache(maxsize=32)
def _release(data: bytes, path: str) -> tuple[Release | None, tuple[Problem, ...]]:
    document, problems = read_yaml(data, f"{SHOWN}/{path}")
    release, more = parse(Release, document) if document else (None, [])
    return release, (*problems, *more)


def catalogue_document(path: str, folder: Path = CATALOGUE) -> Document | None:
    """A file of a catalogue with its positions, for saying where a value comes from."""
    return read_yaml((folder / path).read_bytes(), f"{SHOWN}/{path}")[0]
