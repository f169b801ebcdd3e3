"""From a repository's files to typed sites, with every problem on the way at its place. Owns what
makes up a site and the order in which it is judged; knows no Kubernetes objects. A fault in one
part never keeps another from being judged in the same run."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple

from schemas.facts.site import Site
from schemas.kubernetes.masking import shorten
from schemas.model.codes import Code
from schemas.model.problem import MAX_FINDINGS, Problem, first_problems, problem_at, whole_file
from schemas.model.release import Release
from schemas.model.site_file import SiteFile
from schemas.model.texts import nearest, words
from schemas.reading import catalogue, regions
from schemas.reading.host_list import COLUMNS, HostList, cell_column, read_hosts
from schemas.reading.literal_secrets import in_file, merge_literals
from schemas.reading.partial import Hole
from schemas.reading.site_files import HOST_LIST, SITE_FILE, has_site, names_in, read
from schemas.reading.tree import Folder, Refused
from schemas.reading.typed_document import parse, place, places, readable
from schemas.reading.yaml_reader import Document, read_yaml
from schemas.rules import site_findings
from schemas.rules.accelerators import own_models
from schemas.rules.files import site_texts
from schemas.rules.finding import Finding, HostCell, TextPlace, advise, attempt, say
from schemas.rules.identity import own_hardware, placeholders, site_name
from schemas.rules.management import named_management
from schemas.rules.sites import Footprint, clashes, footprint
from schemas.rules.versions import release_findings

# Both states of a repository have most files alike. What is kept here is never changed.
_yaml, _host_list = lru_cache(maxsize=4)(read_yaml), lru_cache(maxsize=4)(read_hosts)
_typed, _literals = lru_cache(maxsize=4)(parse), lru_cache(maxsize=8)(in_file)


class Loaded(NamedTuple):
    """The result for one site; ``site`` is None where it has problems. ``hints`` fail nothing.
    ``faulty`` is a site with problems between values that are each valid."""

    name: str
    site: Site | None
    problems: tuple[Problem, ...]
    document: Document | None
    hints: tuple[Problem, ...] = ()
    faulty: Site | None = None


class _Files(NamedTuple):
    """The two files of one site, read as far as they can be."""

    name: str
    shown: str
    document: Document | None
    hosts: HostList
    hosts_data: bytes
    problems: list[Problem]

    @property
    def hosts_file(self) -> str:
        return f"sites/{self.shown}{HOST_LIST}"


def site_names(root: Folder) -> list[str]:
    """The names of a repository's sites, sorted; also of those that lack one of their files."""
    return names_in(root / "sites")


def load(
    root: Folder,
    names: Iterable[str] | None = None,
    among: Iterable[str] | None = None,
    *,
    hints: bool = True,
) -> dict[str, Loaded]:
    """The named sites (or all), each with its problems, sorted. To find clashes all footprints are
    looked at, or those of ``among`` and the named. Without ``hints`` they are not placed, which
    takes as long as a rule. Never raises for what a user can write."""
    folder = root / "sites"
    chosen = list(dict.fromkeys(names)) if names is not None else names_in(folder)
    near = names_in(folder) if among is None else sorted({*chosen, *among})
    files = {name: _read(root, name) for name in near if has_site(folder, name)}
    between = clashes([*map(_footprint, files.values())]) if len(files) > 1 else {}
    return {
        name: _load(root, files[name], between.get(name, []), hints=hints)
        if name in files
        else _unknown(name, names_in(folder))
        for name in chosen
    }


def load_site(root: Folder, name: str) -> Loaded:
    """One site; see ``load``."""
    return load(root, [name])[name]


def _read(root: Folder, name: str) -> _Files:
    folder = root / "sites"
    shown = shorten(name, 200)  # a file's name may hold what no terminal should be sent
    file, hosts_file = f"sites/{shown}{SITE_FILE}", f"sites/{shown}{HOST_LIST}"
    document, hosts, hosts_data = None, HostList([], [], complete=False), b""
    data = read(folder, name + SITE_FILE)
    if isinstance(data, Refused):
        if data.code is Code.FILE_MISSING:
            there = f"{shown}.yml" if not isinstance(read(folder, f"{name}.yml"), Refused) else ""
            other = f"{data.fix}, or remove {hosts_file}"
            data = data._replace(fix=f"rename {there} to {shown}.yaml" if there else other)
        problems = [whole_file(file, *data)]
    else:
        document, found = _yaml(data, file)
        problems = [*found, *_literals(file, data)]
        document, more = regions.with_region(root, document) if document else (None, [])
        problems += more
    raw = read(folder, name + HOST_LIST)
    if not isinstance(raw, Refused):
        hosts, hosts_data = _host_list(raw, hosts_file), raw
        problems += [*hosts.problems, *_literals(hosts_file, raw)]
        if not hosts.hosts and not hosts.problems:
            problems.append(problem_at(hosts_file, (2, 1), words("hosts-to-be-written")))
            hosts = hosts._replace(complete=False)
    elif raw.code is not Code.FILE_MISSING:
        problems.append(whole_file(hosts_file, *raw))
    elif not isinstance(data, Refused):
        problems.append(whole_file(hosts_file, *words("hosts-missing", ",".join(COLUMNS))))
    return _Files(name, shown, document, hosts, hosts_data, problems)


def _footprint(files: _Files) -> Footprint:
    value = files.document.value if files.document else None
    return footprint(files.name, files.hosts_file, value, files.hosts.hosts)


def _unknown(name: str, known: list[str]) -> Loaded:
    sites = f"known sites: {', '.join(known) or 'none'}"
    said, advice = shorten(name, 200), advise(name, known, sites)
    problem = whole_file(f"sites/{said}.yaml", *words("site-unknown", said, advice))
    return Loaded(name, None, (problem,), None)


def _load(root: Folder, files: _Files, between: list[Finding], *, hints: bool) -> Loaded:
    document, problems = files.document, list(files.problems)
    shared = catalogue.catalogue_of(root)
    hardware, models = catalogue.hardware_catalogue(shared), catalogue.accelerator_catalogue(shared)
    if document is None:
        cells = [each for each in between if isinstance(each.place, HostCell)]
        problems += _locate(cells[:MAX_FINDINGS], document, files)
        return Loaded(files.name, None, tuple(first_problems(merge_literals(problems))), None)
    file, more = _typed(SiteFile, document)
    problems += regions.own_problems(document, problems, more)
    findings = list(between)
    site, holes = None, True
    if file is not None:
        findings += attempt(site_name(file, files.name), holes=bool(problems))
        findings += attempt(own_hardware(file, hardware.entries), holes=bool(problems))
        findings += attempt(own_models(file, models.entries), holes=bool(problems))
        problems += (*hardware.problems, *models.problems)
        site = _site(root, file, files, findings, problems)
        # A part that could not be had leaves a hole, as a value that is wrong does.
        holes = bool(problems or findings) or isinstance(site.by_pool, Hole)
        findings += site_findings(site, holes=holes)
        findings += attempt(placeholders(file), holes=holes)
    findings = [each for each in findings if hints or not each.code.hint]
    placed = _locate(findings[:MAX_FINDINGS], document, files)
    problems += (regions.mention(document, each) for each in placed)
    problems += regions.misspelt_region(root, document)
    found, left = merge_literals(problems), len(findings[MAX_FINDINGS:])
    wrong = tuple(first_problems([e for e in found if not e.code.hint], left))
    told = tuple(each for each in found if each.code.hint)
    faulty = site if wrong and not holes else None
    return Loaded(files.name, None if wrong else site, wrong, document, told, faulty)


def _site(
    root: Folder, file: SiteFile, files: _Files, findings: list[Finding], problems: list[Problem]
) -> Site:
    """The site, with a hole for each part that is not known; ``findings`` say which."""
    shared = catalogue.catalogue_of(root)
    hardware = catalogue.hardware_catalogue(shared).beside(getattr(file, "hardware", None))
    settings: Any = getattr(file, "accelerators", None)
    own = getattr(settings, "models", None if settings else {})
    models = catalogue.accelerator_catalogue(shared).beside(own)
    release: Any = Hole()
    if hasattr(file, "release"):
        release = _release(file.release, shared, findings, problems) or release
    texts = dict(site_texts(root / "sites", file, findings))
    managed, faults = named_management(root, getattr(file, "management", None))
    findings += (each for each in faults if isinstance(each, Finding))
    problems += (each for each in faults if isinstance(each, Problem))
    listed, hosts = files.hosts, tuple(files.hosts.hosts)
    site = Site(file, hosts, release, hardware, texts, models, listed.returned, managed)
    if not listed.countable(file):
        # A frozen dataclass has no other way to leave out what follows from its fields.
        object.__setattr__(site, "by_pool", Hole())
    return site


def _release(
    name: str, shared: catalogue.Catalogues, findings: list[Finding], problems: list[Problem]
) -> Release | None:
    at = ("release",)
    release, faults = catalogue.load_release(name, shared)
    if release is None and not faults:
        names = catalogue.release_names(shared)
        near = nearest(name, names)
        fix = f'write "{near}"' if near else f"write one of {', '.join(names) or 'none'}"
        findings.append(say("release-unknown", at, shorten(name), fix))
        return None
    problems += faults
    if release is not None and not faults:
        if release.release != name:
            file = catalogue.catalogue_document(f"releases/{name}.yaml", (), shared)
            findings.append(say("release-of-other-name", at, file.file if file else name, release))
        findings += (say("release-unfit", at, each) for each in release_findings(release))
    return release


def _locate(findings: list[Finding], document: Document | None, files: _Files) -> Iterator[Problem]:
    """Findings as problems, each at its place in a file."""
    if not findings:
        return
    lines = files.hosts_data.decode("utf-8", "replace").split("\n")
    header = lines[0].rstrip("\r").split(",")
    for each in findings:
        at, said = each.place, (each.message, each.fix)
        if isinstance(at, HostCell):
            line = lines[at.line - 1].rstrip("\r")
            value = shorten(line.split(",")[header.index(at.column)])
            where = (at.line, cell_column(line, header, at.column))
            yield Problem(files.hosts_file, *where, each.code, at.column, value, *said)
        elif isinstance(at, TextPlace):
            path = readable(document, at.named) if document else ""
            yield Problem(at.file, at.line, at.column, each.code, path, "", *said)
        elif document is not None and not regions.is_idle(document, at, each.code):
            found = place(document, at, each.code, *said, key=each.key)
            also = tuple(places(document, each.also, key=each.key))
            yield regions.name_both(document, at, replace(found, also=also))
