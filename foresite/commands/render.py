"""``foresite render``: a site's manifests as files, ready for Argo CD or Flux.

<out>/<site>/<cluster>/<component>/<kind>.yaml, where the cluster is ``management`` or ``site``;
<out>/<site>/index.json says which files there are. A site's folder is replaced as a whole or not at
all. For an engine, <out>/<engine>/ has its objects, a folder for each management cluster.
"""

import argparse
import hashlib
import json
import os
from collections import Counter
from pathlib import Path

from components.engines import ENGINES
from components.engines.fleet import Fleet, Member, member
from components.engines.fleet import advice as fleet_advice
from components.machines.fleet import from_site
from components.machines.rollout import full_minutes
from components.making.dump import dump_all
from components.making.manifest import Json, Manifest
from components.site import site_objects
from foresite import parallel
from foresite.command import FOUND, OK, UsageError, count, no_site, print_report, repository
from foresite.commands.check import Examined, examine, findings, show_problems, stacks
from foresite.scratch import clear, folder_at, put, scratch
from schemas.facts.site import Site
from schemas.kubernetes.grouping import group_by_key
from schemas.kubernetes.masking import shorten
from schemas.model.fleet import FleetFile
from schemas.model.management import FOLDER, STACK
from schemas.reading.bounded import parse_json, read_regular
from schemas.reading.fleet_file import read_fleet
from schemas.reading.site_files import names_in
from schemas.rules.engines import engine_problems
from schemas.site_parts import load_stack

INDEX = "index.json"
ARGO_KEPT = {"argocd.argoproj.io/compare-options": "IgnoreExtraneous"}
MAX_INDEX = 64 * 1024 * 1024
"""Bytes of an index at most: a large site's has 10,000, an engine's 5 million for as many sites."""


def run(options: argparse.Namespace) -> int:
    """Render the named sites, or a management cluster in a folder with the name of its stack, or
    with an engine's objects all of them; nothing is written where one has a problem."""
    root, engine = repository(options), options.engine
    if options.management and options.sites:
        raise UsageError("give sites, or --management: they are rendered apart")
    if engine and (options.management or options.sites):
        raise UsageError(
            "--for takes the whole fleet, as rings wait: leave sites and management out"
        )
    folder_at(options.out, "name a folder for the manifests, as --out rendered")
    loaded = stacks(root, [STACK + options.management] if options.management else options.sites)
    if not loaded:
        raise UsageError(no_site(root))
    file, fleet_file, problems = read_fleet(root) if engine else (FleetFile(), None, [])
    if engine:
        loaded |= {n: load_stack(root, n) for n in (STACK + e for e in names_in(root / FOLDER))}
        read = ((e.site, e.document) for e in loaded.values() if e.site and e.document)
        problems = problems or [*engine_problems(engine, file.manifests, fleet_file, read)]
    problems += [problem for each in loaded.values() for problem in each.problems]
    sites = [each.site for each in loaded.values() if each.site is not None and not problems]
    made = parallel.each(_files, sites)
    for _, examined, _ in made:
        problems += findings(loaded[examined.site], examined, root)
    if problems:
        show_problems(options.format, loaded, problems)
        return FOUND
    rendered = {examined.site: files for files, examined, _ in made}
    advice = list[str]()
    if engine and file.manifests:
        fleet = Fleet(file.rings, file.manifests, tuple(e for _, _, e in made if e))
        own = ENGINES[engine]
        rendered[engine] = indexed({"engine": engine}, own.files(fleet))
        advice = [*fleet_advice(fleet), *own.advice(fleet)]  # what it does not do
    places = {name: _own_folder(options.out / name) for name in rendered}
    for name, folder in places.items():
        _put(folder, rendered[name])
    _report(options, rendered, advice)
    return OK


def _files(site: Site) -> tuple[dict[str, str], Examined, Member | None]:
    """The files of a site, if its objects are sound, the findings, and what an engine must know."""
    objects = site_objects(site)
    examined = examine(site, objects)
    if not examined.sound:
        return {}, examined, None
    minutes = full_minutes(from_site(site), objects)
    return files_of(site, objects), examined, member(site, objects, minutes)


def files_of(site: Site, objects: dict[str, list[Manifest]]) -> dict[str, str]:
    """The files of a site by path, in the order that they would be applied; the index last."""
    groups = group_by_key(
        (f"{each.target.value}/{component}/{each.kind.lower()}.yaml", rendered_body(each))
        for component, manifests in objects.items()
        for each in manifests
    )
    return indexed({"site": site.name, "release": site.release.release}, groups)


def rendered_body(manifest: Manifest) -> Json:
    """The object as Argo CD and Flux get it: of what is kept though it is no longer made, the
    Application is in sync (Argo CD v3.2.12, controller/state.go, CompareAppState)."""
    if not manifest.keep:
        return manifest.body
    metadata = manifest.body["metadata"]
    annotations = {**metadata["annotations"], **ARGO_KEPT}
    return {**manifest.body, "metadata": {**metadata, "annotations": annotations}}


def indexed(head: dict[str, str], groups: dict[str, list[Json]]) -> dict[str, str]:
    """The text of each file, and last an index that begins with ``head``."""
    files = {path: dump_all(group) for path, group in groups.items()}
    listed = {
        path: {"objects": len(groups[path]), "sha256": hashlib.sha256(text.encode()).hexdigest()}
        for path, text in files.items()
    }
    return {**files, INDEX: json.dumps({**head, "files": listed}, indent=2) + "\n"}


def _own_folder(folder: Path) -> Path:
    """Where a folder really lies: a link stays, and what it leads to is replaced. Raises UsageError
    where it holds what render did not write."""
    folder = Path(os.path.realpath(folder))
    foreign = _foreign(folder)
    if foreign is not None:
        raise UsageError(
            f"{foreign} is not a file that render wrote; give another --out, or remove it"
        )
    return folder


def _put(folder: Path, files: dict[str, str]) -> None:
    """Put ``files`` in place of ``folder``, at once. Raises OSError where it cannot."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    clear(folder)
    with scratch(folder) as fresh:
        for parent in {(fresh / path).parent for path in files}:
            parent.mkdir(parents=True, exist_ok=True)
        for path, text in files.items():
            (fresh / path).write_text(text, encoding="utf-8", newline="\n")
        put(fresh, folder)


def _foreign(folder: Path) -> Path | None:
    """A file in ``folder`` that its index does not name; None where there is none."""
    if not folder.exists():
        return None
    if not folder.is_dir():
        return folder
    ours = {folder / path for path in _listed_files(folder / INDEX)}
    files = (path for path in sorted(folder.rglob("*")) if path.is_symlink() or not path.is_dir())
    return next((path for path in files if path not in ours), None)


def _listed_files(index: Path) -> list[str]:
    """The files that an index names, and itself; none where it is not an index of ours."""
    try:
        data = parse_json(read_regular(index, MAX_INDEX))
        ours = data.keys() in ({"site", "release", "files"}, {"engine", "files"})
        return [INDEX, *map(str, data["files"])] if ours else []
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return []


def _report(
    options: argparse.Namespace, rendered: dict[str, dict[str, str]], advice: list[str]
) -> None:
    lines = []
    for site, files in rendered.items():
        index, folders = json.loads(files[INDEX])["files"], Counter[Path]()
        for path, entry in index.items():
            folders[Path(path).parent] += entry["objects"]
        where = shorten(str(options.out / site), 300)
        objects, written = count(folders.total(), "object"), count(len(index), "file")
        lines.append(f"{where}: {objects} in {written}")
        lines += [f"  {folder}: {count(number, 'object')}" for folder, number in folders.items()]
    lines += [f"advice: {each}" for each in advice]
    data = {"out": str(options.out), "sites": {name: list(each) for name, each in rendered.items()}}
    if options.engine:
        data |= {"engine": options.engine, "advice": advice}
    print_report(options.format, data, lines, folded=False)
