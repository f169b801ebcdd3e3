"""What keeps a fleet from being rendered for an engine: gaps in fleet.yaml, and names twice."""

import re
from collections.abc import Iterable, Iterator

from schemas.facts.adopted import management_names
from schemas.facts.site import Site
from schemas.model.fleet import FleetFile
from schemas.model.problem import Problem, whole_file
from schemas.model.texts import Words, words
from schemas.reading.fleet_file import FILE
from schemas.reading.site_files import read
from schemas.reading.tree import Folder, Refused
from schemas.reading.typed_document import place
from schemas.reading.yaml_reader import Document, read_yaml

FLUX_NAMESPACE = "foresite"
"""That of Flux's objects on a management cluster (components/engines/flux.yaml). It is no option:
with another one, all that was made in the first would go on beside it."""


def engine_problems(
    root: Folder, engine: str, file: FleetFile, sites: Iterable[tuple[Site, Document]]
) -> Iterator[Problem]:
    """The problems of a fleet with an engine, which is also the name of the engine's folder."""
    manifests = file.manifests
    if manifests is None:
        yield _in_fleet(root, words("manifests-missing", engine))
        return
    if engine == "flux" and manifests.secret is None and manifests.repository.startswith("ssh:"):
        yield _in_fleet(root, words("repository-without-key"), "manifests", "repository")
    tag = manifests.tag or ""
    if engine == "argocd" and not tag:
        yield _in_fleet(root, words("tag-missing"), "manifests")
    elif engine == "argocd" and (tag == manifests.branch or not re.search("[0-9]", tag)):
        yield _in_fleet(root, words("tag-moves", tag), "manifests", "tag")
    taken = dict[tuple[str, str], str]()
    for site, document in sites:
        if site.name in (engine, "kustomization"):
            yield place(document, ("site",), *words("engine-name-taken", site.name, engine))
        namespace = management_names(site).namespace
        at = ("adopted", "namespace") if site.file.adopted else ("site",)
        if engine == "flux" and namespace == FLUX_NAMESPACE:
            yield place(document, at, *words("engine-namespace-taken", FLUX_NAMESPACE))
        other = taken.setdefault((site.file.management, namespace), site.name)
        if other != site.name:
            yield place(document, at, *words("engine-namespace-shared", namespace, other))
        if {"/", ":"} & set(site.file.management):
            yield place(document, ("management",), *words("engine-folder-unfit"))


def _in_fleet(root: Folder, said: Words, *path: str) -> Problem:
    """A problem at a path of fleet.yaml, or of the file as a whole where it is not there."""
    data = read(root, FILE, ".")
    document = None if isinstance(data, Refused) else read_yaml(data, FILE)[0]
    return place(document, path, *said) if document else whole_file(FILE, *said)
