"""``foresite up``: check a site, make sure that it may be applied, and register it with Pulumi.

Check, select the stack, ask the API servers, guard against losses, register. What stops before
the last step has changed nothing; what stops in it is taken up by the same command.
"""

import argparse
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from components.making.manifest import Manifest
from components.site import is_management
from foresite.command import FAILED, FOUND, OK, UsageError, repository, say, show
from foresite.commands.check import all_problems, show_problems
from foresite.delivery import leaving
from foresite.delivery.ready import Ready, ready
from foresite.delivery.stack.engine import Engine, complaint, lock_site
from foresite.delivery.stack.engines import engine_for
from foresite.delivery.stack.live import follows
from foresite.delivery.stack.register import Outcome, register
from preview.gates import parse_allowances
from schemas.facts.adopted import management_names
from schemas.facts.site import Site
from schemas.load import load
from schemas.model.management import STACK
from schemas.site_parts import load_stack


def run(options: argparse.Namespace) -> int:
    """Check, then ``pulumi up`` (or ``preview``) for one site."""
    root = repository(options)
    allow = parse_acknowledgements(options.allow)
    name = STACK + options.management if options.management else options.site
    sites = sound(root, [name], options.format)
    if sites is None:
        return FOUND
    (site,) = sites
    engine = engine_for(root, site, trial=options.trial)
    if options.preview:
        return _preview(engine, site, allow)
    with lock_site(engine):
        return _up(options, engine, site, allow)


def parse_acknowledgements(flags: Sequence[str], request: str = "") -> dict[str, int]:
    """The counts that ``--allow`` and a pull request's text acknowledge. Raises UsageError."""
    try:
        return parse_allowances(flags, request)
    except ValueError as error:
        raise UsageError(str(error)) from None


def sound(root: Path, names: Sequence[str], form: str) -> list[Site] | None:
    """The named sites (all, where none is named); None where one has problems, which are shown."""
    of_stacks = any(each.startswith(STACK) for each in names)
    loaded = {n: load_stack(root, n) for n in names} if of_stacks else load(root, names or None)
    every = (problem for each in loaded.values() for problem in all_problems(each, root))
    problems = list(dict.fromkeys(every))  # a file that two sites share has its faults once
    if problems:
        show_problems(form, loaded, problems)
        return None
    return [each.site for each in loaded.values() if each.site is not None]


def select(engine: Engine) -> None:
    """Make sure of the stack, and that nobody else works on it. Raises UsageError.

    Hold the site alone for it: a dead lock is released, and with it goes every other.
    """
    if not engine.release_dead_lock(say):
        raise UsageError("nothing was changed; wait for the other run, or end it")
    _make_sure(engine)


def _make_sure(engine: Engine) -> None:
    selected = engine.select()
    if selected.returncode:
        raise UsageError(complaint(selected))


def _preview(engine: Engine, site: Site, allow: Mapping[str, int]) -> int:
    for lock in engine.locks():  # Pulumi's preview takes none, and minds none
        say(f"{engine.stack} is locked, so this report may show an unfinished run: {lock}")
    _make_sure(engine)
    found = ready(engine, site)
    code = engine.follow(
        ["preview", "--stack", engine.stack, "--non-interactive", "--color", "never",
         *engine.policies], show,
    )  # fmt: skip
    show(*found.report_lines())
    if code != 0:
        return FAILED
    try:
        found.guard(allow)
    except UsageError as error:
        show(f"`foresite up` would refuse this: {error}")
        return FOUND
    return OK


def _up(options: argparse.Namespace, engine: Engine, site: Site, allow: Mapping[str, int]) -> int:
    select(engine)
    outcome = apply(engine, ready(engine, site, writes=True), allow, refresh=options.refresh)
    if outcome is None:
        return FAILED
    _report(options, engine, site, outcome)
    return OK


def apply(
    engine: Engine,
    found: Ready,
    allow: Mapping[str, int],
    message: str = "",
    *,
    refresh: bool = False,
) -> Outcome | None:
    """Register a site that is ready; None where that failed.

    Raises UsageError for what would be lost without being named, and then nothing was changed.
    """
    for line in found.report_lines():
        say(line)
    found.guard(allow)
    found.forget_lost(engine)
    leaving.mark(engine, found.site)
    outcome = register(engine, found.site, message, refresh=refresh)
    if outcome is not None:
        leaving.delete(engine, found.site)
    return outcome


def _report(options: argparse.Namespace, engine: Engine, site: Site, outcome: Outcome) -> None:
    objects, left, seconds = outcome
    later = [m for made in objects.values() for m in made if follows(site, m)]
    counts = {
        name: dict(Counter(each.kind for each in made if not follows(site, each)))
        for name, made in objects.items()
    }
    if options.format == "json":
        following = [" ".join(filter(None, each.key)) for each in later]
        report = {"site": site.name, "objects": counts, "following": following,
                  "left_behind": left, "seconds": seconds}  # fmt: skip
        show(json.dumps(report, indent=2))
        return
    show(*_summary(site, counts, later, left, seconds), *_what_next(options, engine, site))


def _summary(
    site: Site,
    counts: dict[str, dict[str, int]],
    later: list[Manifest],
    left: list[tuple[str, ...]],
    seconds: float,
) -> list[str]:
    total, there = sum(sum(kinds.values()) for kinds in counts.values()), management_names(site)
    lines = [f"\n{site.name}: {total} objects on {site.file.management}, {seconds} s"]
    for name, kinds in counts.items():
        lines.append(f"  {name}")
        lines += [f"    {number:5} {kind}" for kind, number in kinds.items()]
    if later:
        lines += [
            f"\n{len(later)} objects follow once the site's own cluster answers:",
            f"  clusterctl get kubeconfig {there.cluster} -n {there.namespace}",
            f"  then write its context as cluster.context in sites/{site.name}.yaml",
        ]
    lines += [
        f"left by an interrupted run, and no longer in the site: {' '.join(filter(None, key))}"
        for key in left
    ]
    return lines


def _what_next(options: argparse.Namespace, engine: Engine, site: Site) -> list[str]:
    context, namespace = site.file.management, management_names(site).namespace
    where, place = f"namespace {namespace} on {context}", f"-n {namespace} get baremetalhosts"
    if is_management(site):
        where, place = context, "get coreproviders,infrastructureproviders,ironics -A"
    flag = f" --kubeconfig {engine.environment['KUBECONFIG']}" if options.trial else ""
    kubectl = str(engine.kubectl or "kubectl")
    if site.file.decommission is not None:
        return _after_the_end(site)
    return [
        f"\nwhere:     {where}",
        f"look:      {kubectl}{flag} --context {context} {place}",
        f"log:       {engine.log}",
        *(["take down: make down"] if options.trial else []),
    ]


def _after_the_end(site: Site) -> list[str]:
    where = f"--context {site.file.management} -n {management_names(site).namespace}"
    look = f"kubectl {where} get cluster,baremetalhosts"
    return [
        f"\n{site.name} is decommissioned: its hosts are wiped and stay registered",
        f"look:      {look}",
        "then:      once no Cluster and no Machine is left, remove its files from sites/, merge,",
        f"           and run pulumi destroy --stack {site.name}: no tool does that for you",
    ]
