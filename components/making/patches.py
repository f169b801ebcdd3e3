"""Objects with a site's patches, before the names of templates follow from their content.

Components know nothing of it. A template is named by a hash of its spec, so a patched one gets the
name of what it now says, and what refers to it refers to the new name: Cluster API replaces
machines, and the preview sees it. Rows of patches.toml say what no patch may change: what rules and
the preview take from the site file would no longer be true.
"""

import json
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from posixpath import normpath
from typing import Any, NamedTuple

from components.making.json_patch import PatchError, Selected, apply_operation, same, tokens
from components.making.manifest import ARGO_OPTIONS, FLUX_GUARD, Manifest, hash_name, name_content
from schemas.facts.site import Site
from schemas.kubernetes.node_labels import is_own
from schemas.kubernetes.tables import read_table
from schemas.model.codes import Code
from schemas.model.patches import Patch
from schemas.rules.finding import advise

_ROWS: list[dict[str, Any]] = read_table(__file__)["refused"]
_GUARDS = {ARGO_OPTIONS, *FLUX_GUARD, "app.kubernetes.io/managed-by"}
_APPLIERS = ("argoproj.io", "fluxcd.io", "helm.sh", "pulumi.com", "config.kubernetes.io")
"""Domains of keys by which those who apply an object skip, replace, hook or delete it."""


class PatchFault(NamedTuple):
    """A fault of a patch: its path in the site file, what is wrong, and what to write."""

    path: tuple[str | int, ...]
    code: Code
    message: str
    fix: str


class Patched(NamedTuple):
    """The objects of a component with all patches that they take, and the faults of the others."""

    manifests: list[Manifest]
    faults: list[PatchFault]


def patches_of(site: Site, component: str) -> list[tuple[int, Patch]]:
    """The patches of a component's objects with their numbers; none of parts without a file."""
    found: Sequence[Patch] = getattr(site.file, "patches", ())
    return [(n, each) for n, each in enumerate(found) if each.component == component]


def patched(site: Site, component: str, manifests: list[Manifest]) -> Patched:
    """The objects with a site's patches; those of a site without any are the very same."""
    faults: list[PatchFault] = []
    found = list(manifests)
    patches = patches_of(site, component)
    for number, patch in patches:
        place = ("patches", number)
        hits = [n for n, each in enumerate(found) if fnmatchcase(each.name, patch.object)]
        if not hits:
            known = [each.name for each in manifests]
            fix = advise(patch.object, known, f"names of {component}: {', '.join(known[:8])}")
            message = f"{component} makes no object {patch.object}"
            faults.append(PatchFault((*place, "object"), Code.PATCH_UNUSED, message, fix))
        results = [_apply(component, found[n], patch, place) for n in hits]
        wrong = [each for each in results if isinstance(each, PatchFault)]
        faults += wrong[:1]
        for n, result in zip(hits, results, strict=True):
            if isinstance(result, Manifest) and not wrong:
                found[n] = result
                if same(result.body, manifests[n].body):
                    message = f"it undoes what patches before it change of {result.title}"
                    fix = "remove both, or what they undo of each other"
                    faults.append(PatchFault(place, Code.PATCH_UNUSED, message, fix))
    return Patched(_named_anew(manifests, found) if patches else found, faults)


def _apply(
    component: str, manifest: Manifest, patch: Patch, place: tuple[str | int, ...]
) -> Manifest | PatchFault:
    """An object after a patch, or the first fault of it."""
    body = manifest.body
    for number, operation in enumerate(patch.operations):
        at = (*place, "operations", number, "path")
        try:
            after = apply_operation(body, operation)
        except PatchError as error:
            message = f"{manifest.title} cannot take {operation.op} {operation.path}: {error}"
            return PatchFault(at, Code.PATCH_FAILED, message, error.fix)
        looks = operation.op == "test"
        if not looks and (row := _refusal(component, manifest, operation.path, body, after)):
            message = f"{operation.path} of {manifest.title} is not for a patch: {row['why']}"
            return PatchFault(at, Code.PATCH_REFUSED, message, row["instead"])
        body = after
    if same(body, manifest.body):
        fix = "remove the patch; the object is that way without it"
        message = f"it changes nothing of {manifest.title}"
        return PatchFault(place, Code.PATCH_UNUSED, message, fix)
    return manifest._replace(body=body)


def _refusal(
    component: str, manifest: Manifest, path: str, before: Any, after: Any
) -> dict[str, Any] | None:
    """The row that an operation breaks; None where it may be done."""
    steps = tokens(path)
    for row in _ROWS:
        its = component in row.get("components", [component])
        mine = any(fnmatchcase(manifest.kind, each) for each in row["kinds"])
        if not mine or not its or component in row.get("but", ()):
            continue
        starts = [tokens(each) for each in row.get("only", ())]
        if "only" in row and all(each != steps[: len(each)] for each in starts):
            return row
        texts = (f"{a}{b}" for a in row.get("templates", [""]) for b in row.get("paths", ()))
        kept = [tokens(each) for each in texts]
        if any(not same([*_at(before, each)], [*_at(after, each)]) for each in kept):
            return row
    if [*_own(before)] != [*_own(after)]:
        why = "rules, selectors and guards of Foresite know objects by it"
        return {"why": why, "instead": "leave it out"}
    if _not_in_name(before, manifest) != _not_in_name(after, manifest):
        why = "the host agent writes it on running hosts, as the site file says it"
        return {"why": why, "instead": "write the setting, or take its part out of host_agent"}
    ignored = [tokens(f"/{each.replace('.', '/')}") for each in manifest.ignore]
    if any([*_at(before, each)] != [*_at(after, each)] for each in ignored):
        return {"why": "a controller owns the field", "instead": "leave it out"}
    return None


def _not_in_name(body: Any, manifest: Manifest) -> list[Any]:
    """What the name of a template does not follow."""
    if not manifest.not_in_name:
        return []
    config = body["spec"]["template"]["spec"]
    files = [each for each in config["files"] if each["path"] in manifest.not_in_name]
    return [files, config.get("ntp") if "ntp" in manifest.not_in_name else None]


def _at(value: Any, path: Sequence[str | Selected]) -> Iterator[Any]:
    """The values at a path, in which ``*`` stands for any step or text, each with the keys of maps
    that lead to it: one under another key is another."""
    if not path:
        yield value
        return
    token, *rest = path
    rows = value if isinstance(value, list) else ()
    for key, item in value.items() if isinstance(value, dict) else enumerate(rows):
        if isinstance(token, Selected):
            fits = isinstance(item, dict) and fnmatchcase(_selected(item, token), token.value)
        else:
            fits = fnmatchcase(str(key), token)
        if fits:
            where = key if isinstance(value, dict) else ""
            yield from ((where, each) for each in _at(item, rest))


def _selected(item: dict[str, Any], token: Selected) -> str:
    """The text of an item's field; a path as programs open it, to which ``/a//b`` is ``/a/b``."""
    text = str(item.get(token.field))
    return f"/{normpath(text).lstrip('/')}" if token.field == "path" else text


def _own(value: Any) -> Iterator[str]:
    """Keys of Foresite's domain and of guards with their values, wherever they are; sorted keys
    keep a list's order out of it."""
    if isinstance(value, dict):
        for key in sorted(value, key=str):
            domain = str(key).rpartition("/")[0]
            applies = any(domain == each or domain.endswith(f".{each}") for each in _APPLIERS)
            if is_own(str(key)) or key in _GUARDS or applies:
                yield json.dumps([key, value[key]], sort_keys=True)
            yield from _own(value[key])
    elif isinstance(value, list):
        for each in value:
            yield from _own(each)


def _named_anew(made: Sequence[Manifest], found: Sequence[Manifest]) -> list[Manifest]:
    """The objects, those that are named by their content under the name of what they now say; what
    refers to a template comes after it."""
    names: dict[str, str] = {}
    result = []
    for old, new in zip(made, found, strict=True):
        body = _renamed(new.body, names) if names else new.body
        name, spec = old.key[3], old.body.get("spec")
        prefix = name.rpartition("-")[0]
        other = "spec" in body and body["spec"] != spec
        if spec is not None and other and _named(prefix, spec, old) == name:
            names[name] = _named(prefix, body["spec"], old)
            body = {**body, "metadata": {**body["metadata"], "name": names[name]}}
        result.append(new._replace(body=body))
    return result


def _named(prefix: str, spec: Any, made: Manifest) -> str:
    return hash_name(prefix, name_content(spec, made.not_in_name))


def _renamed(value: Any, names: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _renamed(each, names) for key, each in value.items()}
    if isinstance(value, list):
        return [_renamed(each, names) for each in value]
    return names.get(value, value) if isinstance(value, str) else value
