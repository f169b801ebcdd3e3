"""``foresite chart add`` and ``update``: render a chart once, and keep what comes of it in Git. The
only command that needs helm, and the network where the chart is not a folder. Everything else reads
the committed objects; the lock proves that they are what the chart and its values gave."""

import argparse
import hashlib
import re
import shutil
import subprocess
import tempfile
from itertools import zip_longest
from pathlib import Path
from typing import Any

from components.making.brought import logical_name
from components.making.dump import dump, dump_all
from components.making.manifest import CRD, Json
from foresite.command import OK, UsageError, few, repository, show
from schemas.kubernetes.manifests import ManifestError, read_manifests
from schemas.kubernetes.masking import shorten
from schemas.kubernetes.objects import brought_kinds, store
from schemas.kubernetes.tables import read_table
from schemas.model.extra import LOCK, RENDERED, VALUES, ChartLock
from schemas.reading.bounded import read_regular
from schemas.reading.site_files import MAX_BYTES
from schemas.reading.typed_document import parse
from schemas.reading.yaml_reader import read_yaml

HOOK = "helm.sh/hook"
_SAID = read_table(__file__)
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?")
DEADLINE_S = 600


def run(options: argparse.Namespace) -> int:
    """Render a chart, and write it with its lock; nothing is written where it cannot be kept."""
    root = repository(options)
    if not _NAME.fullmatch(options.name):
        raise UsageError(f"{shorten(options.name)!r} is no name: small letters, digits and dashes")
    folder = root / "sites" / "charts" / options.name
    before = _lock(folder) if options.action == "update" else None
    if options.action == "add" and folder.exists():
        raise UsageError(f"{folder} is there already: foresite chart update {options.name}")
    wanted = _wanted(options, before)
    helm = options.helm or shutil.which("helm")
    if helm is None:
        raise UsageError("helm is not there: install it (https://helm.sh), or say --helm PATH")
    version = _run(helm, "version", "--template", "{{.Version}}").strip()
    given = options.values or (folder / VALUES if before else None)
    values = _bytes(given) if given else b"{}\n"
    with tempfile.TemporaryDirectory(prefix="foresite-") as scratch:
        chart, digest = _fetch(helm, wanted, Path(scratch))
        (Path(scratch) / VALUES).write_bytes(values)
        bodies, hooks = _render(helm, wanted, chart, Path(scratch) / VALUES)
    if hooks and not options.without_hooks:
        raise UsageError(
            f"the chart has hooks of helm, which nobody would run: {few(hooks, 5)}; choose values "
            "that do without, or say --without-hooks if the site does not need them"
        )
    rendered = dump_all(bodies).encode()
    lock = {
        **wanted, "digest": digest, "helm": version, "hooks": hooks,
        "values": _digest(values), "rendered": _digest(rendered),
    }  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    text = "# Written by foresite chart: do not edit.\n" + dump(lock)
    for name, data in ((VALUES, values), (RENDERED, rendered), (LOCK, text.encode())):
        (folder / name).write_bytes(data)
    show(f"{folder}: {len(bodies)} objects of {wanted['chart']} {wanted['version']}")
    show(f"name it in a site file, as chart: charts/{options.name}; then: foresite check")
    return OK


def _wanted(options: argparse.Namespace, before: ChartLock | None) -> dict[str, Any]:
    """The inputs of a render by their names in the lock: as they are said, or as they were."""
    said = {
        "chart": options.chart, "repository": options.repository, "version": options.version,
        "release": options.release, "namespace": options.namespace,
        "kube_version": (options.kube_version or "").lstrip("v"),
        "api_versions": options.api_versions,
    }  # fmt: skip
    usual = {"repository": "", "release": options.name, "namespace": options.name}
    known = before.model_dump(include=set(said)) if before else usual
    found = {key: value or known.get(key, [] if key == "api_versions" else "")
             for key, value in said.items()}  # fmt: skip
    for key in ("chart", "version", "kube_version"):
        if not found[key] or str(found[key]).startswith("-"):
            raise UsageError(f"say --{key.replace('_', '-')}: nothing else tells it")
    return found


def _run(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, check=False, timeout=DEADLINE_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UsageError(f"{command[0]} cannot be run: {error}") from None
    if done.returncode:
        said = done.stderr.decode("utf-8", "replace").strip()
        raise UsageError(f"helm {command[1]} fails: {shorten(said, 1000)}")
    return done.stdout.decode("utf-8", "replace")


def _fetch(helm: str, wanted: dict[str, Any], scratch: Path) -> tuple[str, str]:
    """The chart as a folder or an archive, and its digest."""
    local = Path(wanted["chart"])
    if local.is_dir():
        files = sorted(path for path in local.rglob("*") if path.is_file())
        every = (f"{path.relative_to(local)}\0".encode() + path.read_bytes() for path in files)
        return str(local), _digest(b"\0".join(every))
    source = ("--repo", wanted["repository"]) if wanted["repository"] else ()
    where = ("--version", wanted["version"], "--destination", str(scratch))
    _run(helm, "pull", wanted["chart"], *source, *where)
    (archive,) = scratch.glob("*.tgz")
    return str(archive), _digest(archive.read_bytes())


def _render(
    helm: str, wanted: dict[str, Any], chart: str, values: Path
) -> tuple[list[Json], list[str]]:
    """The objects of a chart that can be kept, definitions of kinds first, and its hooks."""
    more = [word for each in wanted["api_versions"] for word in ("--api-versions", each)]
    command = (
        "template", wanted["release"], chart, "--namespace", wanted["namespace"], "--values",
        str(values), "--kube-version", wanted["kube_version"], "--include-crds", *more,
    )  # fmt: skip
    first, again = (_read(_run(helm, *command)) for _ in range(2))
    hooks = sorted(map(logical_name, filter(_is_hook, first)))
    first, again = ([each for each in bodies if not _is_hook(each)] for bodies in (first, again))
    for body, other in zip_longest(first, again):
        if body is None or body["kind"] == "Secret" or body != other:
            raise UsageError(_not_kept(body or other))
    own = brought_kinds(each for each in first if each["kind"] == CRD)
    found = [_in_namespace(each, wanted["namespace"], own) for each in first]
    return sorted(found, key=lambda each: each["kind"] != CRD), hooks


def _read(text: str) -> list[Json]:
    try:
        return list(read_manifests(text))
    except ManifestError as error:
        raise UsageError(f"line {error.line} of what helm renders: {error}; {error.fix}") from None


def _is_hook(body: Json) -> bool:
    notes = body["metadata"].get("annotations")
    return isinstance(notes, dict) and HOOK in notes


def _not_kept(body: Json) -> str:
    """The reason why a chart is refused, with the value that helps, where it is known."""
    name = body["metadata"]["name"]
    secret = body["kind"] == "Secret"
    what = "is a Secret, which no repository may hold" if secret else "is another at each render"
    fix = next((said for part, said in _SAID["values"].items() if part in name), _SAID["usual"])
    return f"{logical_name(body)} {what}; {fix}"


def _in_namespace(body: Json, namespace: str, own: dict[str, store.Kind]) -> Json:
    """An object with the release's namespace, where it needs one and says none."""
    name = f"{body['apiVersion']}/{body['kind']}"
    kind = store.kinds().get(name) or own.get(name)
    if body["metadata"].get("namespace") or kind is None or kind.scope != "Namespaced":
        return body
    return {**body, "metadata": {**body["metadata"], "namespace": namespace}}


def _lock(folder: Path) -> ChartLock:
    path = folder / LOCK
    document, problems = read_yaml(_bytes(path), str(path))
    lock, more = parse(ChartLock, document) if document else (None, [])
    if lock is None or problems or more:
        raise UsageError(f"{path} has problems: {few([*problems, *more], 3)}; add the chart anew")
    return lock


def _bytes(path: Path) -> bytes:
    try:
        return read_regular(path, MAX_BYTES)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}") from None


def _digest(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"
