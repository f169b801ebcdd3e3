"""``foresite adopt``: a running cluster comes under Foresite, and no machine is replaced. ``read``
and ``prove`` ask the management cluster and change nothing there; ``plan`` is offline and writes
all its files or none; ``finish`` changes who owns the fields, never a value."""

import argparse
import json
import os
import shutil
import tempfile
from pathlib import Path

from components.making.manifest import Json
from foresite.adoption.bundle import Bundle, parse, read, title
from foresite.adoption.engines import engines_of
from foresite.adoption.refusals import refusals
from foresite.adoption.server import Cluster, conflicts, hand_over
from foresite.adoption.shape import addresses_of, shape_of
from foresite.adoption.verdict import Judged, judge_adoption
from foresite.adoption.written import kept_secrets, texts_of
from foresite.command import FOUND, OK, UsageError, repository, show, show_text
from foresite.commands.check import all_problems, show_problems, sound
from foresite.commands.new import demand_new, write_all
from foresite.delivery.servers.apiserver import ApiServer, NoAnswerError, RefusedError
from foresite.delivery.servers.probe import needed_kubectl
from schemas.facts.site import Site
from schemas.kubernetes.masking import HIDDEN, shorten
from schemas.load import load, load_site, site_names
from schemas.model.codes import Code
from schemas.model.problem import Problem
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
    if options.action == "plan":
        return _plan(options)
    (site,) = sound(repository(options), [options.what], options.format)
    if site.file.adopted is None:
        raise UsageError(f"{options.what} was not adopted: its file has no adopted")
    try:
        return (_prove if options.action == "prove" else _finish)(options, site)
    except (NoAnswerError, RefusedError) as error:
        raise UsageError(f"{site.file.management}: {error}") from None


def _read(options: argparse.Namespace) -> int:
    given = {"context": options.context, "namespace": options.namespace, "out": options.out}
    if missing := [f"--{name}" for name, each in given.items() if not each]:
        raise UsageError(f"foresite adopt read needs {', '.join(missing)}")
    try:
        with ApiServer(needed_kubectl(), options.context) as server:
            text = read(server, options.namespace)
    except (NoAnswerError, RefusedError) as error:
        raise UsageError(f"{options.context}: nothing was read: {error}") from None
    before = os.umask(0o077)  # the control plane's files may hold what nobody else should read
    try:
        write_all(Path(), {str(options.out): text})
    finally:
        os.umask(before)
    objects, hidden = len(json.loads(text)["items"]), text.count(f'"{HIDDEN}: ')
    said = f"{objects} objects of {options.namespace}, Secrets by name, {hidden} values hidden"
    show(f"written: {options.out} ({said})")
    return OK


def _plan(options: argparse.Namespace) -> int:
    root, bundle = repository(options), parse(Path(options.what))
    try:
        found = [*kept_secrets(bundle), *refusals(bundle)]
        shape = shape_of(bundle) if not found else None
        if shape is None:
            return _report(options, {"refused": found}, "nothing was written", adopted=False)
        site = options.site or shape.cluster["metadata"]["name"]
        demand_new(site, site_names(root))
        release = _release(root, str(shape.control_plane["spec"]["version"]))
        given = (bundle, shape, site, options.region or "", release)
        texts = [texts_of(*given, marks=marks) for marks in (False, True)]
    except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        what = f"{type(error).__name__}: {shorten(str(error))}"
        raise UsageError(f"{options.what}: no API server has such objects ({what})") from None
    made = _tried(root, site, texts[0], options.format)
    if made is None:
        return FOUND
    judged = judge_adoption(bundle, made)
    if judged.wrong:
        return _report(options, {"wrong": judged.wrong}, "nothing was written", adopted=False)
    write_all(root, texts[1])
    left = [each for each in load_site(root, site).problems if each.code is Code.TODO_LEFT]
    return _written(options, bundle, judged, texts[1], left)


def _release(root: Path, version: str) -> str:
    """The newest release that knows a version of Kubernetes; else the newest."""
    catalogue = catalogue_of(root)
    found = {name: load_release(name, catalogue)[0] for name in release_names(catalogue)}
    fit = [name for name, each in found.items() if each and version in each.kubernetes]
    return [*found, *fit][-1]


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


def _prove(options: argparse.Namespace, site: Site) -> int:
    cluster = Cluster.of(needed_kubectl(), site)
    live = cluster.live()
    wrong = conflicts(cluster, live)
    order, unsure = _engines(options, cluster, live)
    said = {"refused by the server": wrong, "stop in this order": order, "not stopped": unsure}
    last = f"then: foresite up {site.name}, and foresite adopt finish {site.name}"
    if wrong or unsure:
        last = "not proved" if wrong else "proved by the server, and not green: an engine may prune"
    return _report(options, said, last, proved=not wrong, green=not (wrong or unsure))


def _engines(
    options: argparse.Namespace, cluster: Cluster, live: list[Json]
) -> tuple[list[str], list[str]]:
    """How the engines stop, in order, and those that may still apply or prune."""
    with ApiServer(cluster.kubectl, cluster.context) as server:
        found = engines_of(server, live, options.stopped)
    order = [f"{each.name} ({', '.join(each.managers)}): {each.stop}" for each in found]
    return order, [f"{each.name}: {why}" for each in found for why in each.open]


def _finish(options: argparse.Namespace, site: Site) -> int:
    cluster = Cluster.of(needed_kubectl(), site)
    live = cluster.live()
    _, unsure = _engines(options, cluster, live)
    if unsure:  # it would own its fields again
        return _report(options, {"not stopped": unsure}, "nothing was handed over", green=False)
    said = {"handed over": hand_over(cluster, live)}
    return _report(options, said, "what others owned is Foresite's; no value changed")


def _written(
    options: argparse.Namespace, bundle: Bundle, judged: Judged, texts: dict[str, str],
    left: list[Problem],
) -> int:  # fmt: skip
    hosts = next(text for name, text in texts.items() if name.endswith(".csv"))
    shape = shape_of(bundle)
    spares = {each["metadata"]["name"] for own in shape.spares.values() for each in own}
    free = (shape.held | spares) - addresses_of(bundle, shape).keys()
    said = {
        "written": list(texts),
        "verdict": [f"none, for each of {judged.hosts} hosts"],
        "in place": judged.in_place,
        "new objects": judged.added,
        "left out: no pool's hostSelector takes it": shape.left_out,
        "address that no object says, so a free one": sorted(free),
        "stays, and is nobody's": [title(each) for each in bundle.of("MachineHealthCheck")],
        "to write": [f"{each.file}:{each.line}:{each.column}: {each.path}" for each in left],
        "unknown in the host list": [name for name, mark in _GUESSED.items() if mark in hosts],
    }
    return _report(options, said, "then: foresite check SITE, and foresite adopt prove SITE")


def _report(
    options: argparse.Namespace, said: dict[str, list[str]], last: str, **verdict: bool
) -> int:
    if options.format == "json":
        show(json.dumps({**said, **verdict}, indent=2))
    else:
        for about, lines in said.items():
            if lines:
                show_text("\n".join([f"{about}:", *(f"  {each}" for each in lines)]))
        show(last)
    return OK if all(verdict.values()) else FOUND
