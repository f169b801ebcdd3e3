"""The files that a team brings, as a site names them: by a path, by a pattern, or as a chart."""

from collections.abc import Iterator
from contextlib import suppress
from fnmatch import fnmatchcase
from typing import NamedTuple

from schemas.facts.own_components import OwnComponentError, make, named
from schemas.facts.site import Site
from schemas.kubernetes.objects import store
from schemas.model.extra import RENDERED, Extra

Path = tuple[str | int, ...]
OWN = "components"
"""The section of the site file of components of one's own."""
MANAGED = ("cluster.x-k8s.io", "metal3.io")
"""Domains of the API groups whose objects make machines; they live on the management cluster."""


class Brought(NamedTuple):
    """A file of objects: its path below sites/, its text, and the place that names it."""

    path: str
    text: str
    named: Path


def is_managed(group: str) -> bool:
    """True for an API group of Cluster API or Metal3."""
    return any(group == each or group.endswith(f".{each}") for each in MANAGED)


def has_own_rules(group: str, kind: str) -> bool:
    """True for a kind of Kubernetes or of a project that Foresite knows, and of every kind that
    makes machines: no owner states what its objects do."""
    known = (each.rpartition("/") for each in store.kinds())
    groups = (api.rpartition("/")[0] for api, _, name in known if name == kind)
    return is_managed(group) or group in groups


def fits(path: str, pattern: str) -> bool:
    """True if a path is one of a pattern's: ``*`` stands for any text within the last part."""
    folder, _, name = path.rpartition("/")
    its_folder, _, its_name = pattern.rpartition("/")
    hidden = name.startswith(".")
    return path == pattern or (folder == its_folder and not hidden and fnmatchcase(name, its_name))


def files_of(site: Site, entry: Extra, at: Path) -> list[Brought]:
    """The files with objects of an entry that could be read, each once, in a fixed order. What a
    component of one's own makes is one; none where it fails, which is told as such."""
    texts = site.texts
    if at[0] == OWN:
        with suppress(OwnComponentError):
            return [Brought("", make(site, entry.name), at)]
        return []
    paths = enumerate(entry.manifests)
    named_by: list[tuple[str, Path]] = [(path, ("manifests", n)) for n, path in paths]
    if entry.chart:
        named_by.append((f"{entry.chart}/{RENDERED}", ("chart",)))
    found: dict[str, Brought] = {}
    for pattern, place in named_by:
        for path in sorted(texts):
            if fits(path, pattern):
                found.setdefault(path, Brought(path, texts[path], (*at, *place)))
    return list(found.values())


def every_extra(site: Site) -> Iterator[tuple[Path, Extra]]:
    """What a site brings, with its place in the site file; nothing of parts without a file."""
    for index, entry in enumerate(getattr(site.file, "extra", ())):
        yield ("extra", index), entry
    for component, settings in named(site):
        its = {name: getattr(component, name) for name in ("name", "cluster", "protect")}
        given = {name: getattr(settings, name) for name in ("why", "owner", "allow")}
        entry = Extra.model_construct(**its, **given, rules=list(component.effects))
        yield (OWN, component.name), entry
