"""From a repository's files to typed sites, with every problem on the way at its place.

Owns which files make up a site and how they are found; knows nothing of Kubernetes objects.
"""

import difflib
import functools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import NamedTuple

from schemas.codes import Code
from schemas.hardware import HardwareProfile
from schemas.hostlist import COLUMNS, Host, cell_column, read_hosts
from schemas.primitives import DnsLabel, Model
from schemas.problem import Problem
from schemas.reader import Document, read_yaml
from schemas.release import Release
from schemas.rules import Finding, Footprint, HostCell, clashes, footprint, site_findings
from schemas.rules.versions import release_findings
from schemas.site import Site
from schemas.sitefile import SiteFile
from schemas.typed import parse, place

CATALOGUE = FilePath(__file__).parent / "catalogue"
MAX_TEXT_BYTES = 4 * 1024 * 1024
"""Size of a file that a site names, at most."""


class Catalogue(Model):
    """A file of hardware profiles."""

    hardware: dict[DnsLabel, HardwareProfile]
    """Profiles by name."""


class Loaded(NamedTuple):
    """What came of one site: ``site`` is None where it has problems, ``document`` where its file
    could not be read as YAML."""

    name: str
    site: Site | None
    problems: tuple[Problem, ...]
    document: Document | None


@dataclass(frozen=True, slots=True)
class _Text:
    """The raw files of one site."""

    name: str
    file: str
    hosts_file: str
    data: bytes | None
    hosts: bytes | None


def site_names(root: FilePath) -> list[str]:
    """The names of a repository's sites, sorted."""
    return sorted(path.stem for path in (root / "sites").glob("*.yaml"))


def load(root: FilePath, names: Iterable[str] | None = None) -> dict[str, Loaded]:
    """The named sites (all, where none is named), each with its problems, sorted.

    Every site's footprint is looked at, so that a clash with a site that was not named is found.
    Never raises for what a user can write.
    """
    known = site_names(root)
    chosen = list(dict.fromkeys(names)) if names is not None else known
    parts = {name: _read(root, name) for name in known}
    documents = {name: _document(part) for name, part in parts.items()}
    between = clashes([_footprint(parts[name], documents[name][0]) for name in known])
    return {
        name: _load(root, parts[name], *documents[name], between[name])
        if name in parts
        else _unknown(name, known)
        for name in chosen
    }


def load_site(root: FilePath, name: str) -> Loaded:
    """One site; see ``load``."""
    return load(root, [name])[name]


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


def _catalogue_file(path: FilePath) -> tuple[Document | None, list[Problem]]:
    shown = f"schemas/catalogue/{path.relative_to(CATALOGUE)}"
    return read_yaml(path.read_bytes(), shown)


def _read(root: FilePath, name: str) -> _Text:
    file, hosts_file = f"sites/{name}.yaml", f"sites/{name}.hosts.csv"
    return _Text(name, file, hosts_file, _bytes(root / file), _bytes(root / hosts_file))


def _bytes(path: FilePath) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


def _document(part: _Text) -> tuple[Document | None, list[Problem]]:
    if part.data is None:
        return None, [
            _whole(part.file, Code.FILE_UNREADABLE, "cannot be read", "make it a readable file")
        ]
    return read_yaml(part.data, part.file)


def _footprint(part: _Text, document: Document | None) -> Footprint:
    hosts = (part.hosts or b"").decode("utf-8", "replace")
    return footprint(part.name, part.hosts_file, document.value if document else None, hosts)


def _unknown(name: str, known: list[str]) -> Loaded:
    near = difflib.get_close_matches(name, known, 1)
    fix = f"write {near[0]}" if near else f"known sites: {', '.join(known) or 'none'}"
    problem = _whole(f"sites/{name}.yaml", Code.SITE_UNKNOWN, f"there is no site {name}", fix)
    return Loaded(name, None, (problem,), None)


def _whole(file: str, code: Code, message: str, fix: str) -> Problem:
    return Problem(file, 0, 0, code, "", "", message, fix)


def _load(
    root: FilePath,
    part: _Text,
    document: Document | None,
    problems: list[Problem],
    between: list[Finding],
) -> Loaded:
    problems = list(problems)
    hosts = _hosts(part, problems)
    if document is None:
        return Loaded(part.name, None, tuple(sorted(problems)), None)
    file, more = parse(SiteFile, document)
    problems += more
    findings = list(between)
    site = _site(root, part, document, file, hosts or [], problems)
    if site is not None and hosts is not None:
        findings += site_findings(site)
    lines = (part.hosts or b"").decode("utf-8", "replace").split("\n")
    problems += [_located(finding, document, part.hosts_file, lines) for finding in findings]
    problems = sorted(set(problems))
    return Loaded(part.name, None if problems else site, tuple(problems), document)


def _hosts(part: _Text, problems: list[Problem]) -> list[Host] | None:
    """The hosts, None where the list as a whole says nothing (yet)."""
    if part.hosts is None:
        header = ",".join(COLUMNS)
        message, fix = "there is no host list", f"write one that starts with {header}"
        problems.append(_whole(part.hosts_file, Code.FILE_MISSING, message, fix))
        return None
    hosts, found = read_hosts(part.hosts, part.hosts_file)
    problems += found
    if not hosts and not found:
        message, fix = "still to be written: the hosts", "add a line for each host"
        problems.append(Problem(part.hosts_file, 2, 1, Code.TODO_LEFT, "", "", message, fix))
    return hosts or None


def _site(
    root: FilePath,
    part: _Text,
    document: Document,
    file: SiteFile | None,
    hosts: list[Host],
    problems: list[Problem],
) -> Site | None:
    if file is None:
        return None
    if file.site != part.name:
        message, fix = f"the file is named {part.name}.yaml", f"write site: {part.name}"
        problems.append(place(document, ("site",), Code.SITE_NAME_MISMATCH, message, fix))
    release = _release(file, document, problems)
    hardware = hardware_catalogue()
    for name in file.hardware.keys() & hardware.keys():
        message = f"the catalogue already has a hardware profile {name}"
        fix = "give this one another name, so that every site means the same by it"
        problems.append(
            place(document, ("hardware", name), Code.DUPLICATE_NAME, message, fix, key=True)
        )
    texts = dict(_texts(root, file, document, problems))
    if release is None:
        return None
    return Site(file, tuple(hosts), release, {**hardware, **file.hardware}, texts)


def _release(file: SiteFile, document: Document, problems: list[Problem]) -> Release | None:
    known = release_names()
    if file.release not in known:
        near = difflib.get_close_matches(file.release, known, 1)
        fix = f'write "{near[0]}"' if near else f"write one of {', '.join(known)}"
        message = f"there is no release {file.release}"
        problems.append(place(document, ("release",), Code.UNKNOWN_RELEASE, message, fix))
        return None
    release, faults = load_release(file.release)
    problems += faults
    if release is not None:
        if release.release != file.release:
            message = f"schemas/catalogue/releases/{file.release}.yaml says release: " + str(
                release.release
            )
            fix = "make the name in the file equal to the file's"
            problems.append(place(document, ("release",), Code.UNKNOWN_RELEASE, message, fix))
        for message in release_findings(release):
            fix = "name a release whose parts go together, or correct the release"
            problems.append(place(document, ("release",), Code.VERSION_UNSUPPORTED, message, fix))
    return release


def _texts(
    root: FilePath, file: SiteFile, document: Document, problems: list[Problem]
) -> Iterator[tuple[str, str]]:
    for path, where in _named_files(file):
        text = _text(root / "sites", path)
        if isinstance(text, Finding):
            problems.append(place(document, where, text.code, text.message, text.fix))
        else:
            yield path, text


def _named_files(file: SiteFile) -> Iterator[tuple[str, tuple[str | int, ...]]]:
    yield file.cluster.pod_network.manifests, ("cluster", "pod_network", "manifests")
    for number, path in enumerate(file.first_boot.ca_certificates):
        yield path, ("first_boot", "ca_certificates", number)
    for index, pool in enumerate(file.pools):
        for number, path in enumerate(pool.first_boot.ca_certificates if pool.first_boot else ()):
            yield path, ("pools", index, "first_boot", "ca_certificates", number)


def _text(folder: FilePath, path: str) -> str | Finding:
    """The text of a file below ``folder``, or what is wrong with it."""
    target = folder / path
    if not target.is_file() or not target.resolve().is_relative_to(folder.resolve()):
        return Finding(
            Code.FILE_MISSING,
            (),
            f"there is no file sites/{path}",
            "add the file, or correct the path",
        )
    data = target.read_bytes()
    try:
        if len(data) > MAX_TEXT_BYTES:
            raise ValueError
        return data.decode("utf-8")
    except ValueError:
        return Finding(
            Code.FILE_CONTENT, (), f"sites/{path} is not UTF-8 text under {MAX_TEXT_BYTES} bytes",
            "save it as UTF-8, and leave out what the site does not need",
        )  # fmt: skip


def _located(finding: Finding, document: Document, hosts_file: str, lines: list[str]) -> Problem:
    if not isinstance(finding.place, HostCell):
        return place(
            document, finding.place, finding.code, finding.message, finding.fix, key=finding.key
        )
    cell = finding.place
    header, line = lines[0].rstrip("\r").split(","), lines[cell.line - 1]
    value = line.rstrip("\r").split(",")[header.index(cell.column)]
    column = cell_column(line, header, cell.column)
    return Problem(
        hosts_file,
        cell.line,
        column,
        finding.code,
        cell.column,
        value,
        finding.message,
        finding.fix,
    )
