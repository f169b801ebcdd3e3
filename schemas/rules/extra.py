"""Rules on what a team brings: its files can be applied, and reach nothing that is Foresite's."""

import hashlib
from collections.abc import Iterator
from contextlib import suppress
from functools import lru_cache
from typing import NamedTuple

from schemas.facts.adopted import management_names
from schemas.facts.brought import OWN, Brought, every_extra, files_of, has_own_rules, is_managed
from schemas.facts.site import Site
from schemas.kubernetes.bodies import Json, mapping, nodes
from schemas.kubernetes.manifests import ManifestError, read_objects
from schemas.kubernetes.node_labels import is_own
from schemas.kubernetes.tables import read_table
from schemas.model.codes import Code
from schemas.model.extra import LOCK, RENDERED, VALUES, ChartLock, Extra
from schemas.reading.paths import each_at
from schemas.reading.typed_document import parse
from schemas.reading.yaml_reader import read_yaml
from schemas.rules.finding import Finding, Path, TextPlace, say

HOOK = "helm.sh/hook"
OF_SERVER = tuple(read_table(__file__)["of_server"])
"""Metadata that is the API server's."""
ENGINES = tuple(read_table(__file__)["engines"])
"""Annotations by which an engine does not as Git says."""
_MARKS = (("metadata", "labels"), ("metadata", "annotations"))
ADDRESSES = "ipam.metal3.io"
"""The one API group of Metal3 whose objects do nothing to a host by themselves."""


class _Item(NamedTuple):
    """An object that is brought: its file, and the line that it starts on."""

    body: Json
    file: Brought
    line: int

    def say(self, row: str, *values: object) -> Finding:
        """A fault of the object, whose title is the first value of the row."""
        title = f"{self.body['kind']} {self.body['metadata']['name']}"
        return say(row, _at(self.file, self.line, 1), title, *values)


def _at(file: Brought, line: int, column: int) -> Path | TextPlace:
    """A place in a file; of what a component of one's own makes, its section."""
    at = file.named
    return at if at[0] == OWN else TextPlace(f"sites/{file.path}", line, column, at)


def extra(site: Site) -> Iterator[Finding]:
    """What is brought is there once."""
    names: set[str] = set()
    for place, entry in every_extra(site):
        if entry.name in names:
            yield say("extra-twice", (*place, "name"), entry)
        names.add(entry.name)


def extra_objects(site: Site) -> Iterator[Finding]:
    """What is brought are objects that Foresite may apply, and none that is its own."""
    for place, entry in every_extra(site):
        kinds, read = set[str](), False
        for file in files_of(site, entry, place):
            yield from brought_faults(file)
            for item in _items(file):
                group = str(item.body["apiVersion"]).rpartition("/")[0]
                kind, domain = _definition(item.body)
                kinds, read = kinds | {kind, f"{kind}.{domain}"}, True
                yield from _reach(site, entry, item, group)
        for number, rule in enumerate(entry.rules if read else ()):
            if rule.kind not in kinds:
                at = (*place, "rules", number, "kind")
                yield say("extra-rule-of-other-kind", at, entry, rule)


def _definition(body: Json) -> tuple[str, str]:
    """The kind that a definition defines, and its group; empty of other objects."""
    spec = mapping(body, "spec")
    if body["kind"] != "CustomResourceDefinition" or not spec:
        return "", ""
    return str(mapping(spec, "names").get("kind")), str(spec.get("group"))


def _items(file: Brought) -> list[_Item]:
    """The objects of a file; none of one that cannot be read, which ``brought_faults`` tells."""
    with suppress(ManifestError):
        return [_Item(body, file, line) for body, line in read_objects(file.text)]
    return []


@lru_cache(maxsize=64)  # sites bring the same files
def brought_faults(file: Brought) -> tuple[Finding, ...]:
    """The faults of a file that is brought, whatever it is for: no objects, or Secrets, or objects
    that take what is helm's or Foresite's."""
    try:
        read_objects(file.text)
    except ManifestError as error:
        at = _at(file, error.line, error.column)
        return (Finding(Code.FILE_CONTENT, at, str(error), error.fix),)
    if (items := _items(file)) or file.named[0] == OWN:
        return tuple(fault for item in items for fault in _taken(item))
    return (say("extra-without-object", file.named, file),)


def _taken(item: _Item) -> Iterator[Finding]:
    if item.body["kind"] == "Secret":
        yield item.say("extra-secret")
    metadata, notes = item.body["metadata"], mapping(item.body, "metadata", "annotations")
    if HOOK in notes:
        yield item.say("extra-hook", notes[HOOK])
    for key in (*(k for k in OF_SERVER if metadata.get(k)), *(k for k in ENGINES if k in notes)):
        yield item.say("extra-not-as-git-says", key)
    for path, _ in nodes(item.body):  # labels and annotations, of pods that it makes too
        if path[-3:-1] in _MARKS and is_own(str(path[-1])):
            yield item.say("extra-own-label", str(path[-1]))
    kind, group = _definition(item.body)
    if has_own_rules(group, kind):
        yield item.say("extra-redefines", kind)


def _reach(site: Site, entry: Extra, item: _Item, group: str) -> Iterator[Finding]:
    """An object stays on the cluster, and in the namespace, that the entry is for."""
    metadata = item.body["metadata"]
    namespace = metadata.get("namespace", "")
    if entry.cluster == "management":
        if namespace != management_names(site).namespace:
            yield item.say("extra-other-namespace", namespace or "no namespace", site)
        if is_managed(group) and group != ADDRESSES:
            yield item.say("extra-manages-hosts")
    elif is_managed(group):
        yield item.say("extra-other-cluster", entry, site)


def charts(site: Site) -> Iterator[Finding]:
    """What a chart's lock says of its files is true, and of this site's Kubernetes."""
    for place, folder in each_at(site.file, "cluster.pod_network.chart", "extra.*.chart"):
        if folder:
            yield from _chart(site, folder, place)


def _chart(site: Site, folder: str, place: Path) -> Iterator[Finding]:
    path = f"{folder}/{LOCK}"
    if path not in site.texts:
        return
    document, problems = read_yaml(site.texts[path].encode(), f"sites/{path}")
    lock, more = parse(ChartLock, document) if document else (None, [])
    for each in (*problems, *more):
        at = TextPlace(each.file, each.line, each.column, place)
        yield Finding(each.code, at, each.message, each.fix)
    if lock is None or problems or more:
        return
    again = f"foresite chart update {folder.rpartition('/')[2]} --version {lock.version}"
    for name, digest in ((VALUES, lock.values), (RENDERED, lock.rendered)):
        text = site.texts.get(f"{folder}/{name}")
        if text is not None and digest != f"sha256:{hashlib.sha256(text.encode()).hexdigest()}":
            yield say("chart-changed", place, folder, name, again)
    wanted = site.file.cluster.kubernetes.lstrip("v").rsplit(".", 1)[0]
    if lock.kube_version.rsplit(".", 1)[0] != wanted:
        version = site.file.cluster.kubernetes.lstrip("v")
        yield say("chart-for-other-version", place, lock, wanted, again, version)
