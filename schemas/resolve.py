"""The meaning of a path in a site: its value, its purpose, and its source.

A path goes through what the site names: ``pools.v100.hardware.reimage_minutes`` leads into the
hardware profile, ``release.cluster_api.core`` into the release, ``hosts.<name>.ip`` into the host
list. Lists are walked by name (``pools.v100``) or by number (``zones[0]``); a key with dots may
stand in brackets (``labels[example.com/team]``).
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import Enum, StrEnum
from typing import Any

from schemas.facts.site import Site
from schemas.model.primitives import Model, field_docs, plain
from schemas.model.site_file import Pool, SiteFile
from schemas.model.texts import nearest
from schemas.reading.catalogue import BUILT_IN, Catalogues, catalogue_document
from schemas.reading.host_list import COLUMNS, cell_column, column_of
from schemas.reading.regions import FLEET_FILE, naming, replaced
from schemas.reading.yaml_reader import Document
from schemas.refusal import UsageError


class Origin(StrEnum):
    """The origin of a value."""

    SITE_FILE = "site file"
    REGION = "region"
    FLEET = "fleet"
    HOST_LIST = "host list"
    PROFILE = "hardware profile"
    RELEASE = "release"
    DEFAULT = "default"
    COMPUTED = "computed"


@dataclass(frozen=True, slots=True)
class Meaning:
    """The value at a path. ``place`` is file:line:column where a file gives it. ``change`` makes
    the site with another value there; None where the value follows from others. ``others`` are
    values that would fit, where the site knows them. ``replaces`` is where the region says another
    value, which does not hold; ``by`` is where the site names its region, or the bundle."""

    path: str
    value: Any
    description: str
    origin: Origin
    place: str
    change: Callable[[Any], Site] | None
    others: tuple[Any, ...] = ()
    replaces: str = ""
    by: str = ""


class UnknownPathError(UsageError):
    """There is nothing at the path; the message says what is there instead."""


MAX_PATH = 512
"""Characters of a path at most; the longest that leads anywhere takes half of it."""
COMPUTED: dict[str, tuple[str, Callable[[Site, Pool], Any]]] = {
    "replicas": ("Machines of the pool: its hosts less the spares.", Site.replicas),
    "version": ("Kubernetes version of the pool's machines.", Site.version),
    "os_name": ("Operating system of the pool.", Site.os_name),
    "zones": ("Zones that the pool has hosts in.", lambda site, pool: list(site.zones_of(pool))),
}
"""Values computed from other fields of a pool; they can be shown but not set."""


def resolve(
    site: Site, document: Document, hosts_text: str, path: str, catalogue: Catalogues = BUILT_IN
) -> Meaning:
    """The meaning of ``path``; ``catalogue`` is the site's. Raises UnknownPathError."""
    if len(path) > MAX_PATH:
        raise UnknownPathError(f"a path of {len(path)} characters leads nowhere")
    steps = re.findall(r"\[[^\]]*\]|[^.\[]+|\[", path)
    if not steps:
        raise UnknownPathError(f"write a path, such as {', '.join(SiteFile.model_fields)}")
    if steps[0] == "hosts":
        return _host(site, hosts_text, steps, path)
    return _Walk(site, document, path, catalogue).walk(steps)


class _Walk:
    """One walk along a path: what is underfoot, and how to put another value there."""

    def __init__(self, site: Site, document: Document, path: str, catalogue: Catalogues) -> None:
        self.site, self.path, self.catalogue = site, path, catalogue
        self.document: Document | None = document
        self.origin, self.description = Origin.SITE_FILE, "The site."
        self.at: tuple[str | int, ...] = ()
        self.value: Any = site.file
        self.put: Callable[[Any], Site] = lambda file: _with(site, file=file)

    def walk(self, steps: list[str]) -> Meaning:
        while steps:
            if isinstance(self.value, Pool) and len(steps) == 1 and steps[0] in COMPUTED:
                description, compute = COMPUTED[steps[0]]
                value = compute(self.site, self.value)
                return Meaning(self.path, value, description, Origin.COMPUTED, "", None)
            self._enter()
            step = self._next(steps)
            self._step(step)
        description = plain(self.description)
        change, others = self._alternatives()
        by, replaces = "", ""
        if self.document is not None and self.origin is Origin.SITE_FILE:
            by, replaces = naming(self.document, self.at), replaced(self.document, self.at)
        place, origin = self._place(), self.origin
        if by:
            origin = Origin.FLEET if place.startswith(FLEET_FILE) else Origin.REGION
        found = (description, origin, place, change, others, replaces, by)
        return Meaning(self.path, self.value, *found)

    def _next(self, steps: list[str]) -> str:
        """Take the next step; a key of a map may have dots (``v1.34.3``), so the longest fits."""
        if isinstance(self.value, Mapping):
            for size in range(len(steps), 0, -1):
                if (key := ".".join(steps[:size])) in self.value:
                    del steps[:size]
                    return key
            return steps.pop(0).removeprefix("[").removesuffix("]")
        return steps.pop(0)

    def _alternatives(self) -> tuple[Callable[[Any], Site], tuple[Any, ...]]:
        """How to change the value, and to what, where only certain values fit."""
        site, put, value = self.site, self.put, self.value
        if not isinstance(value, str):
            return put, ()
        if value in site.texts:
            text = site.texts[value]
            return lambda path: _with(put(path), texts={**site.texts, path: f"{text}\n"}), ()
        field = self._field()
        if field == "release" and self.origin is Origin.SITE_FILE:
            others = tuple(_variants(site.release))
            return lambda release: _with(put(release.release), release=release), others
        if field in ("pools.name", "zones.name"):
            return self._rename_column(field[: field.index("s.")]), ()
        choices: dict[str, Iterable[str]] = {
            "cluster.kubernetes": site.release.kubernetes,
            "cluster.workers": site.release.kubernetes,
            "pools.hardware": site.hardware,
            "pools.os": site.release.operating_systems,
            "default_os": site.release.operating_systems,
        }
        return put, tuple(each for each in choices.get(field, ()) if each != value)

    def _field(self) -> str:
        """The field of the model at the present step, wherever in a list it stands."""
        return ".".join(step for step in self.at if isinstance(step, str))

    def _rename_column(self, column: str) -> Callable[[Any], Site]:
        """A function that renames a pool or a zone, which the lines of the host list name too."""
        put, old = self.put, self.value

        def change(name: Any) -> Site:
            site = put(name)
            hosts = (
                host._replace(**{column: name}) if getattr(host, column) == old else host
                for host in site.hosts
            )
            return _with(site, hosts=tuple(hosts))

        return change

    def _place(self) -> str:
        if self.document is None or self.origin is Origin.DEFAULT:
            return ""
        return ":".join(map(str, self.document.place(self.at)))

    def _enter(self) -> None:
        """Go from a name to what it names, where the walk goes on behind it."""
        field = self._field()
        if field == "release" and self.origin is Origin.SITE_FILE:
            self.value, self.origin, self.at = self.site.release, Origin.RELEASE, ()
            file = f"releases/{self.site.file.release}.yaml"
            self.document = catalogue_document(file, (), self.catalogue)
            self.put = lambda release: _with(self.site, release=release)
        elif field == "pools.hardware":
            name, site, entry = self.value, self.site, ("hardware", self.value)
            self.value, self.origin, self.at = site.hardware[name], Origin.PROFILE, entry
            if name not in site.file.hardware:
                self.document = catalogue_document("hardware.yaml", entry, self.catalogue)
            self.put = lambda profile: _with(site, hardware={**site.hardware, name: profile})

    def _step(self, step: str) -> None:
        parent, put = self.value, self.put
        if isinstance(parent, Model):
            field = _known_name(step, [*type(parent).model_fields], self.path)
            self.description = field_docs(type(parent)).get(field, self.description)
            self.value, self.at = getattr(parent, field), (*self.at, field)
            if field not in parent.model_fields_set:
                self.origin = Origin.DEFAULT
            self.put = lambda value: put(parent.model_copy(update={field: value}))
        elif isinstance(parent, Mapping):
            key = _known_name(step, [*map(str, parent)], self.path)
            self.value, self.at = parent[key], (*self.at, key)
            self.put = lambda value: put({**parent, key: value})
        elif isinstance(parent, list):
            index = self._index(step, parent)
            self.value, self.at = parent[index], (*self.at, index)
            self.put = lambda value: put([*parent[:index], value, *parent[index + 1 :]])
            if isinstance(self.value, Model):
                self.description = type(self.value).__doc__ or ""
        else:
            here, name = ".".join(map(str, self.at)), self.site.name
            said = f"{name} has no {here}" if parent is None else f"{here} is a value"
            raise UnknownPathError(f"{said}; nothing is below it")

    def _index(self, step: str, items: list[Any]) -> int:
        names = [str(getattr(item, "name", "")) for item in items]
        number = re.fullmatch(r"\[?([0-9]{1,6})\]?", step)
        if number is None or step in names:
            return names.index(_known_name(step, [name for name in names if name], self.path))
        if int(number[1]) < len(items):
            return int(number[1])
        raise UnknownPathError(f"there are {len(items)} items, from [0]")


def _known_name(step: str, names: list[str], path: str) -> str:
    if step in names:
        return step
    near = nearest(step, names)
    hint = f"did you mean {near}?" if near else f"there is: {', '.join(names) or 'nothing'}"
    raise UnknownPathError(f"there is no {step} in {path}; {hint}")


def _variants(value: Any) -> Iterator[Any]:
    """Copies of ``value``, each with one text in it changed."""
    if isinstance(value, Model):
        for field in type(value).model_fields:
            for each in _variants(getattr(value, field)):
                yield value.model_copy(update={field: each})
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from ({**value, key: each} for each in _variants(item))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from ([*value[:index], each, *value[index + 1 :]] for each in _variants(item))
    elif isinstance(value, Enum):
        yield from (each for each in type(value) if each is not value)
    elif isinstance(value, str):
        yield f"{value}x"


def _with(site: Site, **changes: Any) -> Site:
    file = changes.get("file")
    if file is not None and "hardware" not in changes:
        changes["hardware"] = {**site.hardware, **file.hardware}
    if file is not None and file.accelerators is not None:
        changes["accelerators"] = {**site.accelerators, **file.accelerators.models}
    return replace(site, **changes)


def _host(site: Site, text: str, steps: list[str], path: str) -> Meaning:
    names = {host.name: host for host in site.hosts}
    if len(steps) < 2:
        raise UnknownPathError("write hosts.<name>.<column>")
    if steps[1] not in names:
        near = nearest(steps[1], names)
        hint = f"did you mean {near}?" if near else "write hosts.<name>.<column>"
        raise UnknownPathError(f"there is no host {steps[1]}; {hint}")
    host = names[steps[1]]
    lines = text.split("\n")
    header = lines[0].rstrip("\r").split(",")
    columns = list(dict.fromkeys((*COLUMNS, *header)))
    column = _known_name(steps[2] if len(steps) > 2 else "name", columns, path)
    if len(steps) > 3:
        raise UnknownPathError(f"{column} of a host is a value; nothing is below it")
    at = cell_column(lines[host.line - 1], header, column)
    place = f"sites/{site.name}.hosts.csv:{host.line}:{at}"
    meaning = f"{column} of a host: {column_of(column).meaning}."
    known = {
        "pool": [pool.name for pool in site.file.pools],
        "zone": [zone.name for zone in site.file.zones],
        "root_disk": ["serial_number=other"],
    }
    value = host.cell(column)
    others = tuple(each for each in known.get(column, ()) if each != value)

    def change(value: Any) -> Site:
        other = host.with_cell(column, value)
        return replace(site, hosts=tuple(other if h is host else h for h in site.hosts))

    return Meaning(path, value, meaning, Origin.HOST_LIST, place, change, others)
