"""What keeps a fleet from being rendered for an engine: gaps in fleet.yaml, and names twice."""

import re
from collections.abc import Iterable, Iterator

from schemas.facts.adopted import management_names
from schemas.facts.site import Site
from schemas.model.fleet import Manifests
from schemas.model.problem import Problem, whole_file
from schemas.model.texts import words
from schemas.reading.fleet_file import FILE
from schemas.reading.typed_document import place
from schemas.reading.yaml_reader import Document

FLUX_NAMESPACE = "foresite"
"""That of Flux's objects on a management cluster (components/engines/flux.yaml). It is no option:
with another one, all that was made in the first would go on beside it."""


def engine_problems(
    engine: str, given: Manifests | None, file: Document | None,
    sites: Iterable[tuple[Site, Document]],
) -> Iterator[Problem]:  # fmt: skip
    """The problems of a fleet with an engine, which is also the name of the engine's folder;
    ``file`` is fleet.yaml."""
    if given is None or file is None:
        said = words("manifests-missing", engine)
        yield place(file, (), *said) if file else whole_file(FILE, *said)
        return
    if engine == "flux" and given.secret is None and given.repository.startswith("ssh:"):
        yield place(file, ("manifests", "repository"), *words("repository-without-key"))
    tag = given.tag or ""
    if engine == "argocd" and not tag:
        yield place(file, ("manifests",), *words("tag-missing"))
    elif engine == "argocd" and (tag == given.branch or not re.search("[0-9]", tag)):
        yield place(file, ("manifests", "tag"), *words("tag-moves", tag))
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
