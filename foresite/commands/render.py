"""``foresite render``: a site's manifests as files, ready for Argo CD or Flux.

<out>/<site>/<cluster>/<component>/<kind>.yaml, where the cluster is ``management`` or ``site``;
<out>/<site>/index.json says which files there are. A site's folder is replaced as a whole or not at
all.
"""

import argparse
import hashlib
import json
import os
from collections import Counter
from pathlib import Path

from components.making.dump import dump_all
from components.making.manifest import Manifest
from components.site import site_objects
from foresite import parallel
from foresite.command import FOUND, OK, UsageError, no_site, print_report, repository
from foresite.commands.check import Examined, examine, findings, show_problems, stacks
from foresite.scratch import clear, put, scratch
from schemas.facts.site import Site
from schemas.kubernetes.grouping import group_by_key
from schemas.kubernetes.masking import shorten
from schemas.model.management import STACK
from schemas.reading.bounded import parse_json, read_regular

INDEX = "index.json"
MAX_INDEX = 4 * 1024 * 1024
"""Bytes of an index at most; that of a large site has some 10,000."""


def run(options: argparse.Namespace) -> int:
    """Render the named sites, or a management cluster in a folder with the name of its stack;
    nothing is written where one has a problem."""
    root = repository(options)
    if options.management and options.sites:
        raise UsageError("give sites, or --management: they are rendered apart")
    loaded = stacks(root, [STACK + options.management] if options.management else options.sites)
    if not loaded:
        raise UsageError(no_site(root))
    problems = [problem for each in loaded.values() for problem in each.problems]
    sites = [each.site for each in loaded.values() if each.site is not None and not problems]
    made = parallel.each(_files, sites)
    for _, examined in made:
        problems += findings(loaded[examined.site], examined, root)
    if problems:
        show_problems(options.format, loaded, problems)
        return FOUND
    rendered = {examined.site: files for files, examined in made}
    for site, files in rendered.items():
        write(options.out / site, files)
    _report(options, rendered)
    return OK


def _files(site: Site) -> tuple[dict[str, str], Examined]:
    """The files of a site, none where its objects are not sound, and what was found of these."""
    objects = site_objects(site)
    examined = examine(site, objects)
    return (files_of(site, objects) if examined.sound else {}), examined


def files_of(site: Site, objects: dict[str, list[Manifest]]) -> dict[str, str]:
    """The files of a site by path, in the order that they would be applied; the index last."""
    groups = group_by_key(
        (f"{each.target.value}/{component}/{each.kind.lower()}.yaml", each)
        for component, manifests in objects.items()
        for each in manifests
    )
    files = {path: dump_all([each.body for each in group]) for path, group in groups.items()}
    listed = {
        path: {"objects": len(groups[path]), "sha256": hashlib.sha256(text.encode()).hexdigest()}
        for path, text in files.items()
    }
    index = {"site": site.name, "release": site.release.release, "files": listed}
    return {**files, INDEX: json.dumps(index, indent=2) + "\n"}


def write(folder: Path, files: dict[str, str]) -> None:
    """Put ``files`` in place of ``folder``, at once; what was there before was ours, or it stays.

    Raises UsageError where the folder holds something else, OSError where it cannot be written.
    """
    folder = Path(os.path.realpath(folder))  # a link stays, and what it leads to is replaced
    foreign = _foreign(folder)
    if foreign is not None:
        raise UsageError(
            f"{foreign} is not a file that render wrote; give another --out, or remove it"
        )
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
        ours = data.keys() == {"site", "release", "files"}
        return [INDEX, *map(str, data["files"])] if ours else []
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return []


def _report(options: argparse.Namespace, rendered: dict[str, dict[str, str]]) -> None:
    lines = []
    for site, files in rendered.items():
        index, folders = json.loads(files[INDEX])["files"], Counter[Path]()
        for path, entry in index.items():
            folders[Path(path).parent] += entry["objects"]
        where = shorten(str(options.out / site), 300)
        lines.append(f"{where}: {folders.total()} objects in {len(index)} files")
        lines += [f"  {folder}: {number} objects" for folder, number in folders.items()]
    listed = {site: list(files) for site, files in rendered.items()}
    print_report(options.format, {"out": str(options.out), "sites": listed}, lines, folded=False)
