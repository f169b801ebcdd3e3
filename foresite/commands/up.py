"""``foresite up``: check a site, make sure that it may be applied, and register it with Pulumi.
Check, select the stack, ask the API servers, guard against losses, register. What stops before the
last step has changed nothing; what stops in it is taken up by the same command."""

import argparse
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from components.making.told import Told
from components.site import is_management
from foresite.command import FAILED, FOUND, OK, UsageError, print_report, repository, say, show
from foresite.commands.check import sound
from foresite.delivery import leaving
from foresite.delivery.ready import Ready, ready
from foresite.delivery.stack.applied import Commits, last_success
from foresite.delivery.stack.engine import PLAIN, Engine, EngineError, lock_site
from foresite.delivery.stack.engines import engine_for
from foresite.delivery.stack.live import follows
from foresite.delivery.stack.register import Outcome, register
from preview.gates import parse_allowances
from preview.states.git import GitError
from schemas.facts.adopted import management_names
from schemas.facts.maintenance import closed
from schemas.facts.site import Site
from schemas.model.management import STACK

TOLD = Told(__file__)


def run(options: argparse.Namespace) -> int:
    """Check, then ``pulumi up`` (or ``preview``) for one site."""
    root = repository(options)
    allow = parse_allowances(options.allow, "")
    name = STACK + options.management if options.management else options.site
    (site,) = sound(root, [name], options.format)
    engine = engine_for(root, site, trial=options.trial)
    if options.preview:
        return _preview(engine, site, allow)
    with lock_site(engine):
        return _up(options, engine, site, allow)


def select(engine: Engine) -> None:
    """Make sure of the stack, and that nobody else works on it. Raises UsageError. Hold the site
    alone for it: with a dead lock every other is released."""
    if not engine.release_dead_lock(say):
        raise UsageError("nothing was changed; wait for the other run, or end it")
    engine.select()


def _preview(engine: Engine, site: Site, allow: Mapping[str, int]) -> int:
    for lock in engine.locks(ask=False):  # Pulumi's preview takes none, and minds none
        say(f"{engine.stack} is locked, so this report may show an unfinished run: {lock}")
    engine.select()
    found = ready(engine, site)
    code = engine.follow(["preview", "--stack", engine.stack, *PLAIN, *engine.policies], show)
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
    why = closed(site.file.maintenance, datetime.now(UTC))
    if why and not options.outside_maintenance:
        fix = "wait, or if it cannot wait: --outside-maintenance"
        raise UsageError(f"{site.name}: nothing was changed: {why}; {fix}")
    select(engine)
    if older := _older(repository(options), engine):
        say(f"{site.name}: {older}, which was applied last; what it brought is taken back")
    outcome = apply(engine, ready(engine, site, writes=True), allow, refresh=options.refresh)
    if outcome is None:
        return FAILED
    engine.unmark()  # of an apply that was killed: what was asked for by hand is whole
    _report(options, engine, site, outcome)
    return OK


def _older(root: Path, engine: Engine) -> str:
    """A word on a work tree that is not based on the last commit that was applied."""
    try:
        if last := last_success(engine):
            Commits(root).demand(last)
    except (GitError, EngineError) as error:
        return str(error)
    return ""


def apply(
    engine: Engine,
    found: Ready,
    allow: Mapping[str, int],
    message: str = "",
    *,
    refresh: bool = False,
) -> Outcome | None:
    """Register a site that is ready; None where that failed. Raises UsageError, with nothing
    changed, for what would be lost without being named."""
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
    following = [" ".join(filter(None, each.key)) for each in later]
    data = {"site": site.name, "objects": counts, "following": following,
            "left_behind": left, "seconds": seconds}  # fmt: skip
    there, context = management_names(site), site.file.management
    values = {"site": site.name, "context": context,
              "namespace": there.namespace, "cluster": there.cluster}  # fmt: skip
    total = sum(sum(kinds.values()) for kinds in counts.values())
    lines = [f"\n{site.name}: {total} objects on {context}, {seconds} s"]
    for name, kinds in counts.items():
        lines += [f"  {name}", *(f"    {number:5} {kind}" for kind, number in kinds.items())]
    lines += [TOLD.say("later", number=len(later), **values)] if later else []
    lines += [TOLD.say("left", object=" ".join(filter(None, key))) for key in left]
    lines += _what_next(options, engine, site, values)
    print_report(options.format, data, lines, folded=False)


def _what_next(
    options: argparse.Namespace, engine: Engine, site: Site, values: dict[str, str]
) -> list[str]:
    if site.file.decommission is not None:
        return [TOLD.say("ended", **values)]
    context, namespace = values["context"], values["namespace"]
    where, place = f"namespace {namespace} on {context}", f"-n {namespace} get baremetalhosts"
    if is_management(site):
        where, place = context, "get coreproviders,infrastructureproviders,ironics -A"
    flag = f" --kubeconfig {engine.environment['KUBECONFIG']}" if options.trial else ""
    kubectl = f"{engine.kubectl or 'kubectl'}{flag}"
    text = TOLD.say("done", where=where, place=place, kubectl=kubectl, log=engine.log, **values)
    return [text, *(["take down: make down"] if options.trial else [])]
