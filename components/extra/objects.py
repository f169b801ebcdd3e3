"""The objects that a team brings, as its files say them, with Foresite's labels. By the label
foresite.dev/component, ``extra-<name>``, the policies know third-party objects."""

from components.making.brought import registered
from components.making.manifest import CRD, FIRST, Manifest, Target, annotate
from schemas.facts.brought import every_extra, files_of
from schemas.facts.site import Site
from schemas.kubernetes.manifests import read_manifests

COMPONENT = "extra"


def objects(site: Site) -> list[Manifest]:
    """The objects of every entry in its order; definitions of kinds come first. These and
    Namespaces are protected: all objects of them, or in them, go with them."""
    found = []
    for place, entry in every_extra(site):
        mine = [
            registered(body, site.name, f"{COMPONENT}-{entry.name}", f"{entry.name}/")._replace(
                target=Target(entry.cluster), protect=entry.protect or body["kind"] in FIRST
            )
            for file in files_of(site, entry, place)
            for body in read_manifests(file.text)
        ]
        found += sorted(mine, key=lambda each: each.kind != CRD)
    return annotate(found)
