"""The catalogue that sites refer to by name: hardware profiles, accelerators and releases of
schemas/catalogue, which is built in, and of catalogue/, where a repository adds its own."""

import functools
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from schemas.kubernetes.masking import shorten
from schemas.model.accelerators import AcceleratorModel
from schemas.model.codes import Code
from schemas.model.hardware import HardwareProfile
from schemas.model.primitives import DnsLabel, Model
from schemas.model.problem import Problem, whole_file
from schemas.model.release import Release
from schemas.model.texts import words
from schemas.reading.partial import Hole
from schemas.reading.site_files import read
from schemas.reading.tree import Folder, Refused, Tree
from schemas.reading.typed_document import parse, place, value_at
from schemas.reading.yaml_reader import Document, read_yaml

T = TypeVar("T")
M = TypeVar("M", bound=Model)
CATALOGUE = Path(__file__).resolve().parent.parent / "catalogue"
SHOWN, OWN = "schemas/catalogue", "catalogue"
"""Paths of the built-in catalogue's files in texts that a person reads, and of a repository's."""
_DATA = re.compile(r"(releases/)?[^.].*\.ya?ml")
_READ = re.compile(r"(hardware|accelerators|releases/.*)\.yaml")
_WHY = "sites that name it would silently mean something else, now or after an upgrade"


class Catalogue(Model):
    """A file of hardware profiles."""

    hardware: dict[DnsLabel, HardwareProfile]
    """Profiles by name."""


class AcceleratorCatalogue(Model):
    """A file of accelerator models."""

    accelerators: dict[DnsLabel, AcceleratorModel]
    """Models by name."""


class Shared(NamedTuple, Generic[T]):
    """What every site of a repository can name, by name, and the problems of its files."""

    entries: Mapping[str, T]
    problems: tuple[Problem, ...] = ()

    def beside(self, own: Mapping[str, T] | None) -> Any:
        """These and a site's own; a hole where they are not all known."""
        return Hole() if own is None or self.problems else {**self.entries, **own}


class Catalogues(NamedTuple):
    """The folders of the built-in catalogue, and of the one that a repository adds to it."""

    built_in: Folder = CATALOGUE
    own: Folder = Tree({})


BUILT_IN = Catalogues()


def catalogue_of(root: Folder) -> Catalogues:
    """The catalogues that a repository's sites refer to: built in is that of a repository with
    Foresite's code, else the one shipped here. A state in memory has its own alone: where a change
    takes it away, nothing else may stand in for it."""
    held = root / "schemas" / "catalogue"
    built_in = held if held.is_dir() or isinstance(root, Tree) else CATALOGUE
    return Catalogues(built_in, root / OWN)


def installed_files() -> dict[str, bytes]:
    """The files of the catalogue that is shipped here, by path from the root of a repository."""
    files = sorted(CATALOGUE.rglob("*.yaml"))
    return {f"{SHOWN}/{path.relative_to(CATALOGUE)}": path.read_bytes() for path in files}


def hardware_catalogue(catalogues: Catalogues = BUILT_IN) -> Shared[HardwareProfile]:
    """The hardware profiles that sites can name."""
    return _entries(catalogues, "hardware", Catalogue)


def accelerator_catalogue(catalogues: Catalogues = BUILT_IN) -> Shared[AcceleratorModel]:
    """The accelerator models that sites can use; a repository of its own may have none."""
    return _entries(catalogues, "accelerators", AcceleratorCatalogue)


def _entries(catalogues: Catalogues, part: str, model: type[Model]) -> Shared[Any]:
    """The entries of one part by name, which is its file's name and its top key too."""
    at = zip(catalogues, (SHOWN, OWN), strict=True)
    texts = tuple(read(folder, f"{part}.yaml", shown) for folder, shown in at)
    return _together(texts, part, model)


@functools.lru_cache(maxsize=16)  # as in _parse
def _together(texts: tuple[bytes | Refused, ...], part: str, model: type[Model]) -> Shared[Any]:
    problems: list[Problem] = []
    entries: Mapping[str, Any] = {}
    for data, shown in zip(texts, (SHOWN, OWN), strict=True):
        file = f"{shown}/{part}.yaml"
        if not isinstance(data, Refused):
            catalogue, more = _parse(data, file, model)
            found = getattr(catalogue, part) if catalogue is not None and not more else {}
            both = sorted(found.keys() & entries.keys())
            problems += (*more, *(_taken(name, file, data, (part, name)) for name in both))
            entries = {**found, **entries}
        elif data.code is not Code.FILE_MISSING:
            problems.append(whole_file(file, *data))
    return Shared(entries, tuple(problems))


def _taken(name: str, file: str, data: bytes = b"", at: tuple[str, ...] = ()) -> Problem:
    """The problem of an entry, or of a file, that is called as a built-in one."""
    said, document = words("catalogue-name-taken", name), _document(data, file)
    if document is None or not at:
        return replace(whole_file(file, *said), reason=_WHY)
    return replace(place(document, at, *said, key=True), reason=_WHY)


# By content, as a folder may hold another state of the repository the next time.
@functools.lru_cache(maxsize=48)
def _parse(data: bytes, file: str, model: type[M]) -> tuple[M | None, tuple[Problem, ...]]:
    document, problems = read_yaml(data, file)
    made, more = parse(model, document) if document else (None, [])
    return made, (*problems, *more)


def release_names(catalogues: Catalogues = BUILT_IN) -> list[str]:
    """The names of the releases, oldest first."""
    return sorted({name for folder in catalogues for name in _releases(folder)})


def _releases(folder: Folder) -> set[str]:
    releases = folder / "releases"
    names = [each.name for each in releases.iterdir()] if releases.is_dir() else []
    return {each.removesuffix(".yaml") for each in names if each.endswith(".yaml")}


def load_release(
    name: str, catalogues: Catalogues = BUILT_IN
) -> tuple[Release | None, tuple[Problem, ...]]:
    """A release by name, with the problems of its file and of releases that are called as a
    built-in one; (None, ()) where there is none."""
    built_in, own = map(_releases, catalogues)
    clashes = tuple(_taken(each, f"{OWN}/releases/{each}.yaml") for each in sorted(built_in & own))
    if name not in built_in | own:
        return None, clashes
    folder, shown = (catalogues.built_in, SHOWN) if name in built_in else (catalogues.own, OWN)
    data, file = read(folder, f"releases/{name}.yaml", shown), f"{shown}/releases/{name}.yaml"
    if isinstance(data, Refused):
        return None, (whole_file(file, *data), *clashes)
    release, problems = _parse(data, file, Release)
    return release, (*problems, *clashes)


def catalogue_problems(root: Folder) -> list[Problem]:
    """The problems of what a repository adds to the catalogue, also where no site names it."""
    catalogues, own = catalogue_of(root), root / OWN
    found = [*hardware_catalogue(catalogues).problems, *accelerator_catalogue(catalogues).problems]
    for name in sorted(_releases(own)):
        found += load_release(name, catalogues)[1]
    for at, folder in (("", own), ("releases/", own / "releases")):
        for name in sorted(f"{at}{x.name}" for x in folder.iterdir()) if folder.is_dir() else ():
            if _DATA.fullmatch(name) and not _READ.fullmatch(name):
                shown = f"{OWN}/{shorten(name, 200)}"
                found.append(whole_file(shown, *words("catalogue-file-unread")))
    return found


def catalogue_document(
    path: str, entry: tuple[str, ...] = (), catalogues: Catalogues = BUILT_IN
) -> Document | None:
    """The file of a catalogue that has an entry (of a release: the file), with its positions, for
    saying where a value comes from; where none has it, one that could."""
    found = None
    for folder, shown in zip(reversed(catalogues), (OWN, SHOWN), strict=True):
        data = read(folder, path, shown)
        if not isinstance(data, Refused):
            found = _document(data, f"{shown}/{path}")
            if found is not None and (not entry or value_at(found, entry) is not None):
                return found
    return found


@functools.lru_cache(maxsize=16)
def _document(data: bytes, file: str) -> Document | None:
    return read_yaml(data, file)[0]
