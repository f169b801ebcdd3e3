"""What sites refer to by name: the hardware profiles and releases of schemas/catalogue."""

import functools
from collections.abc import Mapping
from pathlib import Path

from schemas.hardware import HardwareProfile
from schemas.primitives import DnsLabel, Model
from schemas.problem import Problem
from schemas.reader import Document, read_yaml
from schemas.release import Release
from schemas.typed import parse

CATALOGUE = Path(__file__).parent / "catalogue"


class Catalogue(Model):
    """A file of hardware profiles."""

    hardware: dict[DnsLabel, HardwareProfile]
    """Profiles by name."""


@functools.cache
def hardware_catalogue() -> Mapping[str, HardwareProfile]:
    """The hardware profiles that every site can name.

    Raises ValueError where the catalogue itself is faulty; a test holds it to its model.
    """
    document, problems = _catalogue_file(CATALOGUE / "hardware.yaml")
    catalogue, more = parse(Catalogue, document) if document else (None, [])
    if catalogue is None or problems or more:
        raise ValueError([*problems, *more])
    return catalogue.hardware


def release_names() -> list[str]:
    """The names of the releases, oldest first."""
    return sorted(path.stem for path in (CATALOGUE / "releases").glob("*.yaml"))


@functools.cache
def load_release(name: str) -> tuple[Release | None, tuple[Problem, ...]]:
    """A release by name, with the problems of its file; (None, ()) where there is none."""
    if name not in release_names():
        return None, ()
    document, problems = _catalogue_file(CATALOGUE / "releases" / f"{name}.yaml")
    release, more = parse(Release, document) if document else (None, [])
    return release, (*problems, *more)


def catalogue_document(name: str) -> Document | None:
    """A file of the catalogue with its positions, for saying where a value comes from."""
    return _catalogue_file(CATALOGUE / name)[0]


def _catalogue_file(path: Path) -> tuple[Document | None, list[Problem]]:
    shown = f"schemas/catalogue/{path.relative_to(CATALOGUE)}"
    return read_yaml(path.read_bytes(), shown)
