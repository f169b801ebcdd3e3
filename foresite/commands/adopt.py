"""``foresite adopt``: a running cluster comes under Foresite, and no machine is replaced.

``read`` and ``prove`` ask the management cluster and change nothing there; ``plan`` is offline and
writes all its files or none; ``finish`` changes who owns the fields, never a value.
"""

import argparse
import json
import os
import shutil
import tempfile
from pathlib import Path

from components.making.manifest import Json
from foresite.adoption.bundle import Bundle, parse, read, title
from foresite.adoption.refusals import refusals
from foresite.adoption.shape import shape_of
from foresite.adoption.verdict import Judged, judge_adoption
from foresite.adoption.written import Facts, texts_of
from foresite.command import FOUND, OK, UsageError, repository, show, show_text
from foresite.commands.check import all_problems, show_problems
from foresite.commands.new import write_all
from foresite.delivery.servers.apiserver import ApiServer, Kubectl, NoAnswerError, RefusedError
from schemas.facts.site import Site
from schemas.load import load, load_site, site_names
from schemas.model.codes import Code
from schemas.reading.catalogue import catalogue_of, load_release, release_names

_GUESSED = {"serial": ",unknown-", "rack": ",unknown,"}
"""Columns of a host list, and what stands there where no object says it."""


def run(options: argparse.Namespace) -> int:
    """One step of an adoption."""
    if options.action == "read":
        return _read(options)
    if options.what is None:
        noun = "BUNDLE" if options.action == "plan" else "SITE"
        raise UsageError(f"foresite adopt {options.action} {noun}: name the {noun.lower()}")
    return _plan(options)


def kubectl() -> Kubectl:
    """The kubectl of the caller. Raises UsageError without one."""
    path = shutil.which("kubectl")
    if path is None:
        raise UsageError("install kubectl, which asks the management cluster")
    return Kubectl(Path(path), os.environ)


def _read(options: argparse.Namespace) -> int:
    given = {"context": options.context, "namespace": options.namespace, "out": options.out}
    if missing := [f"--{name}" for name, each in given.items() if not each]:
        raise UsageError(f"foresite adopt read needs {', '.join(missing)}")
    try:
        with ApiServer(kubectl(), options.context) as server:
            text = read(server, options.namespace)
    except (NoAnswerError, RefusedError) as error:
        raise UsageError(f"{options.context}: nothing was read: {error}") from None
    write_all(Path(), {str(options.out): text})
    objects = len(json.loads(text)["items"])
    show(f"written: {options.out} ({objects} objects of {options.namespace}, Secrets by name)")
    return OK


def _plan(options: argparse.Namespace) -> int:
    root, bundle = repository(options), parse(Path(options.what))
    if found := list(refusals(bundle)):
        return _tell(options, {"refused": found}, "not adopted, and nothing was written")
    shape = shape_of(bundle)
    site = options.site or shape.cluster
    if site in site_names(root):
        raise UsageError(f"there is a site {site} already; name another with --site")
    version = str(shape.control_plane["spec"]["version"])
    facts = Facts(site, options.region or "", _release(root, version))
    made = _tried(root, site, texts_of(bundle, shape, facts, marks=False), options.format)
    if made is None:
        return FOUND
    judged = judge_adoption(bundle, made)
    if judged.wrong:
        return _tell(options, {"wrong": judged.wrong}, "the verdict is not none; nothing written")
    texts = texts_of(bundle, shape, facts, marks=True)
    write_all(root, texts)
    return _written(options, bundle, judged, root, texts, shape.left_out)


def _release(root: Path, version: str) -> str:
    """The newest release that knows a version of Kubernetes; else the newest."""
    catalogue = catalogue_of(root)
    names = release_names(catalogue)
    for name in reversed(names):
        release, _ = load_release(name, catalogue)
        if release is not None and version in release.kubernetes:
            return name
    return names[-1] if names else ""


def _tried(root: Path, site: str, texts: dict[str, str], form: str) -> Site | None:
    """The site of texts that are not written yet; None where it has problems, which are shown."""
    with tempfile.TemporaryDirectory(prefix="foresite-") as folder:
        copy = Path(folder)
        for name in ("sites", "regions", "catalogue", "schemas/catalogue"):
            if (root / name).is_dir():
                shutil.copytree(root / name, copy / name)
        write_all(copy, texts)
        loaded = load(copy, [site])
        if problems := all_problems(loaded[site], copy):
            show_problems(form, loaded, problems)
            return None
        return loaded[site].site


def _tell(options: argparse.Namespace, found: Json, last: str) -> int:
    if options.format == "json":
        show(json.dumps(found, indent=2))
    else:
        show_text("\n".join([*(f"- {each}" for e in found.values() for each in e), last]))
    return FOUND


def _written(
    options: argparse.Namespace, bundle: Bundle, judged: Judged, root: Path,
    texts: dict[str, str], left_out: list[str],
) -> int:  # fmt: skip
    site = next(name for name in texts if name.endswith(".yaml")).split("/")[1][:-5]
    left = [each for each in load_site(root, site).problems if each.code is Code.TODO_LEFT]
    hosts = texts[f"sites/{site}.hosts.csv"]
    said = {
        "written": list(texts),
        "verdict": [f"none, for each of {judged.hosts} hosts"],
        "in place": judged.in_place,
        "new objects": judged.added,
        "left out": [f"BareMetalHost {each}: no pool's hostSelector takes it" for each in left_out],
        "stay, and are nobody's": [title(each) for each in bundle.of("MachineHealthCheck")],
        "to write": [f"{each.file}:{each.line}:{each.column}: {each.path}" for each in left],
        "unknown in the host list": [name for name, mark in _GUESSED.items() if mark in hosts],
    }  # fmt: skip
    if options.format == "json":
        show(json.dumps(said, indent=2))
        return OK
    for about, lines in said.items():
        if lines:
            show_text("\n".join([f"{about}:", *(f"  {each}" for each in lines)]))
    show(f"\nthen: foresite check {site}, and foresite adopt prove {site}")
    return OK
