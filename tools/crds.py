"""Write the compact schemas under schemas/kubernetes/objects/data/ from the real ones.

``python -m tools.crds`` reads the CRDs of the projects below and Kubernetes' own definitions and
writes each with its source and hash in the form of :mod:`schemas.kubernetes.objects.dialect`,
without texts.
``--check`` writes nothing and says whether the files on disk are what would be written.

To add a kind, extend tools/kinds.toml and run the command; :mod:`tools.fetched` takes those that
the folder of the real ones lacks.

Exit codes: 0 done or up to date, 1 the files differ, 2 a source is absent or not what was pinned.
"""

import hashlib
import json
import sys
from importlib import metadata, resources
from pathlib import Path
from typing import Any

import yaml

from schemas.kubernetes.objects import dialect
from tools.kinds import CRDS, KUBERNETES, NEWEST, SourceError, native_kinds, stored_documents
from tools.toolchain.installed import upstream_folder

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "schemas" / "kubernetes" / "objects" / "data"

CONTRACT_GROUPS = {f"{x}.cluster.x-k8s.io" for x in ("bootstrap", "controlplane", "infrastructure")}
CONTRACT_LABELS = {f"cluster.x-k8s.io/{v}": v for v in ("v1beta1", "v1beta2")}
"""Cluster API finds a version by these labels on the CRD, which upstream adds by kustomize."""

_PACKAGE = "kubernetes_validate"

LARGE = 40_000
"""Characters of a CRD from which on an API server takes long to serve it: those with whole pods."""

FIELDS = {"properties", "additionalProperties"}
QUANTITY = {"type": ["string", "number", "null"], "format": "quantity"}
PORT = {dialect.INT_OR_STRING: True, "format": "int32", "nullable": True}
SPECIAL: dict[str, dict[str, Any]] = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": QUANTITY,
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": PORT,
}
"""Told upstream as a oneOf whose branches both take null, so that null is refused: said plainly."""


class _Loader(yaml.CSafeLoader):
    """PyYAML reads a plain ``=`` as a tag that nothing constructs; here it is a string."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, regexp) for tag, regexp in pairs if tag != "tag:yaml.org,2002:value"]
    for first, pairs in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}


# --- custom resources -------------------------------------------------------------------------


def lock_entries(upstream: Path) -> list[dict[str, Any]]:
    """The lock's entries of the CRDs that are wanted, by name."""
    try:
        more = sorted(upstream.glob("crds-*.lock.json"))
        texts = [each.read_text("utf-8") for each in (upstream / "crds.lock.json", *more)]
    except OSError as error:
        raise SourceError(f"no CRDs under {upstream}: set FORESITE_UPSTREAM ({error})") from error
    lock = [entry for text in texts for entry in json.loads(text)]
    # As cluster-api and kubeadmconfigs, of crds/cluster-api/kubeadmconfigs.bootstrap.….yaml.
    found = [(e["file"].split("/")[1], e["crd"].partition(".")[0], e) for e in lock]
    chosen = [e for project, head, e in found if {head, "*"} & set(CRDS.get(project, ()))]
    missing = {(project, head) for project, heads in CRDS.items() for head in heads}
    missing -= {(project, name) for project, head, _ in found for name in (head, "*")}
    if missing:
        names = ", ".join("/".join(pair) for pair in sorted(missing))
        raise SourceError(f"not in a lock of {upstream}: {names}")
    return sorted(chosen, key=lambda entry: str(entry["crd"]))


def crd_document(entry: dict[str, Any], upstream: Path) -> dict[str, Any]:
    """The compact form of one pinned CRD: source, names, scope, labels, and the stored version.
    Older ones are left out: nobody writes them, and no webhook would translate them."""
    try:
        text = (upstream / entry["file"]).read_bytes()
    except OSError as error:
        raise SourceError(f"in the lock, but absent: {error}") from error
    if hashlib.sha256(text).hexdigest() != entry["sha256"]:
        raise SourceError(f"{entry['file']}: sha256 is not the one in the lock")
    spec = yaml.load(text, _Loader)["spec"]  # a safe loader
    stored = next(version for version in spec["versions"] if version["storage"])
    return {
        "source": {key: entry[key] for key in ("source", "tag", "commit", "path", "sha256")},
        "labels": CONTRACT_LABELS if spec["group"] in CONTRACT_GROUPS else {},
        "group": spec["group"],
        "names": dict(sorted(spec["names"].items())),
        "scope": spec["scope"],
        "versions": [_version(stored, entry["crd"])],
    }


def _version(version: dict[str, Any], where: str) -> dict[str, Any]:
    """The stored version with its texts left out and what is empty too."""
    columns = [
        {key: column[key] for key in sorted(column) if key != "description"}
        for column in version.get("additionalPrinterColumns", [])
    ]
    result = {
        "name": version["name"],
        "served": True,
        "storage": True,
        "subresources": version.get("subresources", {}),
        "additionalPrinterColumns": columns,
        "schema": {"openAPIV3Schema": dialect.compact(version["schema"]["openAPIV3Schema"], where)},
    }
    return {key: value for key, value in result.items() if value not in ({}, [])}


# --- Kubernetes' own --------------------------------------------------------------------------


def kubernetes_document() -> dict[str, Any]:
    """Kubernetes' own kinds with every definition that they reach."""
    raw: dict[str, Any] = {}
    sources = []
    # The oldest minor comes last: what several know is as the oldest has it.
    for minor in (NEWEST, KUBERNETES):
        path = f"kubernetes-json-schema/v{minor}.0-local/_definitions.json"
        try:
            text = resources.files(_PACKAGE).joinpath(path).read_bytes()
        except (ImportError, OSError) as error:
            raise SourceError(f"the package {_PACKAGE} is absent or has no {path}") from error
        raw |= json.loads(text.replace(b'"#/$defs/', b'"#/definitions/'))["$defs"]
        digest = hashlib.sha256(text).hexdigest()
        sources.append({"path": f"{_PACKAGE}/{path}", "sha256": digest})
    kinds, package = _kinds(raw), _PACKAGE.replace("_", "-")
    version = metadata.version(_PACKAGE)
    return {
        "source": {"package": package, "version": version, "files": sources},
        "kinds": kinds,
        "definitions": {name: _definition(name, raw) for name in sorted(_reach(raw, kinds))},
    }


def _kinds(raw: dict[str, Any]) -> dict[str, str]:
    """``apiVersion/Kind`` -> name of its definition, for the wanted kinds."""
    every = {
        "/".join(filter(None, (gvk["group"], gvk["version"], gvk["kind"]))): name
        for name, definition in raw.items()
        for gvk in definition.get("x-kubernetes-group-version-kind", ())
    }
    try:
        return {kind: every[kind] for kind in native_kinds()}
    except KeyError as error:
        raise SourceError(f"Kubernetes {KUBERNETES} to {NEWEST} has no {error}") from error


def _reach(raw: dict[str, Any], kinds: dict[str, str]) -> set[str]:
    """Every definition that the kinds need."""
    seen: set[str] = set()
    todo = list(kinds.values())
    while todo:
        name = todo.pop()
        if name not in seen:
            seen.add(name)
            todo += dialect.references(raw[name])
    return seen


def _definition(name: str, raw: dict[str, Any]) -> dict[str, Any]:
    """A definition with references into this file; an object that names no field holds any."""
    definition = dialect.compact(SPECIAL.get(name, raw[name]), name)
    if "object" in definition.get("type", ()) and not definition.keys() & FIELDS:
        definition[dialect.OPEN] = True
    return definition


# --- files ------------------------------------------------------------------------------------


def documents(upstream: Path) -> dict[str, Any]:
    """File name under ``data/`` -> what it holds, with an index of the kinds."""
    crds = {f"crds/{e['crd']}.json": crd_document(e, upstream) for e in lock_entries(upstream)}
    crds = dict(sorted((crds | stored_documents(DATA, make_whole)).items()))
    native = "kubernetes.json"
    rows = [{"kind": k, "scope": scope, "file": native} for k, scope in native_kinds().items()]
    rows += [_row(file, crd) for file, crd in crds.items()]
    rows.sort(key=lambda row: str(row["kind"]))
    return {"index.json": rows, native: kubernetes_document(), **_without_repetition(crds)}


def _row(file: str, crd: dict[str, Any]) -> dict[str, Any]:
    """A CRD's line in the index."""
    kind = f"{crd['group']}/{crd['versions'][0]['name']}/{crd['names']['kind']}"
    large = {"large": True} if len(json.dumps(crd)) >= LARGE else {}
    return {"kind": kind, "scope": crd["scope"], "file": file, **large}


def _without_repetition(crds: dict[str, Any]) -> dict[str, Any]:
    """The CRDs, and the file of what their schemas repeat."""
    places = [crd["versions"][0]["schema"] for crd in crds.values()]
    schemas = [place["openAPIV3Schema"] for place in places]
    shorter, repeated = dialect.share(schemas)
    for place, schema, before in zip(places, shorter, schemas, strict=True):
        if make_whole(schema, repeated) != before:
            raise SourceError("two schemas have the same name in repeated.json: lengthen the names")
        place["openAPIV3Schema"] = schema
    return {**crds, "repeated.json": repeated}


def make_whole(schema: dict[str, Any], repeated: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """A schema with what it shares with others in place."""

    def find(name: str) -> dict[str, Any]:
        return dialect.expand(repeated[name], find)

    return dialect.expand(schema, find)


def generate(upstream: Path) -> dict[Path, bytes]:
    """Every file that belongs under ``data/``, and its bytes."""
    every = documents(upstream)
    return {DATA / name: f"{dialect.dump(document)}\n".encode() for name, document in every.items()}


def differences(files: dict[Path, bytes]) -> list[str]:
    """Stale, missing or left-over files under ``data/``, as paths in the repository."""
    there = {path for path in DATA.rglob("*") if path.is_file()}
    stale = {p for p, text in files.items() if p not in there or p.read_bytes() != text}
    return sorted(str(path.relative_to(ROOT)) for path in stale | (there - files.keys()))


def write(files: dict[Path, bytes]) -> None:
    """Make ``data/`` hold exactly these files."""
    for name in differences(files):
        path = ROOT / name
        if path in files:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(files[path])
        else:
            path.unlink()


def main(arguments: list[str]) -> int:
    """Write the files, or with ``--check`` compare them; see the module's docstring."""
    if arguments not in ([], ["--check"]):
        print("usage: python -m tools.crds [--check]", file=sys.stderr)
        return 2
    try:
        files = generate(upstream_folder())
    except (SourceError, dialect.UnknownFact) as error:
        print(f"tools.crds: {error}", file=sys.stderr)
        return 2
    changed = differences(files)
    if not arguments:
        write(files)
    for name in changed:
        print(f"{'differs' if arguments else 'written'}: {name}")
    return 1 if arguments and changed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
