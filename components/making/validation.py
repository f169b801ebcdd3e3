"""The objects of a site that the schemas of the real API server and CRDs refuse, and those that are
one and the same. Both sides of this are plain data."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from components.making.architecture import wrong_images
from components.making.manifest import CRD, Manifest, Spot
from schemas.facts.site import Site
from schemas.kubernetes.bodies import identity
from schemas.kubernetes.objects import brought_kinds, check_object
from schemas.kubernetes.objects.words import first_fault
from schemas.model.codes import Code
from schemas.model.problem import Problem

EXTRA = "extra"
"""The component of what a team brings."""
Named = tuple[str, Manifest]
"""An object with its component."""
Placed = tuple[Spot, Problem]
"""A problem, and where in an object it is."""


def object_problems(
    site: Site, objects: Mapping[str, Iterable[Manifest]], there: Sequence[Named] = ()
) -> list[Placed]:
    """The problems of a site's objects, each with its spot; all at once, in their order. ``there``
    are all objects of the site, where ``objects`` are only some."""
    file = f"sites/{site.name}.yaml"
    every = [(name, m) for name, manifests in objects.items() for m in manifests]
    there = there or every
    return [
        *_invalid(file, every, there),
        *_duplicates(file, every),
        *_intruders(file, every, there),
        *wrong_images(site, every),
    ]


def _invalid(file: str, objects: Sequence[Named], there: Sequence[Named]) -> Iterator[Placed]:
    brought = brought_kinds(each.body for _, each in there if each.kind == CRD)
    for component, manifest in objects:
        faults = check_object(manifest.body, brought)
        fix = "write what the schema takes"
        # One mistake may be all of several faults.
        if len(faults) > 1 and (first := first_fault(manifest.body)):
            fix += f"; of the object's {len(faults)} faults begin with {first}"
        for fault in faults:
            spot = Spot(component, manifest.name, "".join(f"[{step}]" for step in fault.path))
            where = ".".join(map(str, (component, manifest.name, *fault.path)))
            message = f"{_title(manifest)}: {fault.message}"
            yield spot, Problem(file, 0, 0, Code.OBJECT_INVALID, where, "", message, fix)


def _duplicates(file: str, objects: Iterable[Named]) -> Iterator[Placed]:
    owners: dict[tuple[str, ...], str] = {}
    for component, manifest in objects:
        path, fix = f"{component}.{manifest.name}", "rename one of the two"
        one = (manifest.target.value, *identity(manifest.body))
        if one in owners:
            message = f"{_title(manifest)} is also made as {owners[one]}"
            problem = Problem(file, 0, 0, Code.DUPLICATE_NAME, path, "", message, fix)
            yield Spot(component, manifest.name, "[metadata][name]"), problem
        owners[one] = path


def _intruders(file: str, objects: Sequence[Named], there: Sequence[Named]) -> Iterator[Placed]:
    """What a team brings into a namespace that is Foresite's own; those of teams are theirs."""
    spaces = ((name, each) for name, each in there if each.kind == "Namespace")
    others = (EXTRA, "machines", "teams")
    ours = {(each.target, each.key[3]): name for name, each in spaces if name not in others}
    for component, manifest in objects:
        owner = ours.get((manifest.target, manifest.key[2])) if component == EXTRA else None
        if owner:
            path = f"{component}.{manifest.name}"
            message = f"{_title(manifest)} is in {manifest.key[2]}, the namespace of {owner}"
            fix = "bring a namespace of your own"
            problem = Problem(file, 0, 0, Code.EXTRA_REACH, path, "", message, fix)
            yield Spot(component, manifest.name, "[metadata][namespace]"), problem


def _title(manifest: Manifest) -> str:
    return f"{manifest.kind} {manifest.key[3]}"
