"""``foresite recover``: after an ``up`` that did not come to its end, back to what the next one can
build on. Says what it finds before it does anything, and proves at the end that the next ``up`` has
nothing to do that the site and the clusters do not explain. Each step leaves something that the
same command goes on from, so it may be killed as well."""

import argparse
import re
import shlex
from collections.abc import Iterable

from components.making.told import Told
from foresite.command import FOUND, UsageError, repository
from foresite.commands.check import show_problems
from foresite.delivery.recovery.examined import (
    DamagedError,
    Examined,
    count_text,
    examine,
    lines,
    of_note,
)
from foresite.delivery.recovery.explained import explain_steps
from foresite.delivery.recovery.remains import restore_fields
from foresite.delivery.recovery.report import Report
from foresite.delivery.servers.inventory import delete
from foresite.delivery.stack.engine import Engine, EngineError, demand_success, lock_site
from foresite.delivery.stack.engines import engine_for
from foresite.delivery.stack.live import next_steps
from foresite.delivery.stack.locks import Lock, parse_locks
from foresite.delivery.stack.statefile import edit_state
from preview.gates import REMOVE, parse_allowances
from schemas.facts.site import Site
from schemas.site_parts import load_stack

TOLD = Told(__file__)
LOCK = r"[0-9]+@[^@\s]+@\S*"
"""The name of a lock; one that cannot be read has no time."""


def run(options: argparse.Namespace) -> int:
    """Recover one site, or with ``--plan`` say what there is to recover."""
    root = repository(options)
    if options.take_over and not re.fullmatch(LOCK, options.take_over):
        raise UsageError(TOLD.say("no_lock", site=options.site))
    loaded = {options.site: load_stack(root, options.site)}
    (found,) = loaded.values()
    if (site := found.site) is None:
        show_problems(options.format, loaded, list(found.problems))
        return FOUND
    allow = parse_allowances(options.allow, "").get(REMOVE, 0)
    # Policies are not asked: what is half done must be mended also where an exception has ended.
    engine = engine_for(root, site, trial=options.trial)
    report = Report(site.name, options.format)
    with lock_site(engine):
        try:
            return _run(options, engine, site, report, allow)
        except DamagedError as error:
            report.say("left", str(error))
            return report.end("its state is damaged", FOUND)
        except (UsageError, OSError) as error:
            report.end(report.progress)
            raise UsageError(f"{site.name}: {report.progress}: {error}") from None


def _run(
    options: argparse.Namespace, engine: Engine, site: Site, report: Report, allow: int
) -> int:
    _check_locks(engine.locks(), options.take_over)
    seen = examine(engine, site)
    for line in lines(seen):
        report.say("found", line)
    report.orphans += [
        {**each._asdict(), "cluster": seen.contexts[each.target]} for each in seen.found.orphans
    ]
    if options.plan:
        if _needs_recovery(seen):
            return report.end("there is something to recover", FOUND)
        return report.end("there is nothing to recover")
    _check_losses(seen, options.rebuild)
    _act(options, engine, seen, report)
    _orphans(allow, seen, report)
    return _prove(engine, site, report)


def _needs_recovery(seen: Examined) -> bool:
    """True if a run was interrupted, or left something out of order."""
    found = seen.found
    return any((seen.locks, seen.state.pending, seen.noted, seen.forgettable, found.unrecorded,
                found.left, found.lost, found.gone, found.other, found.orphans))  # fmt: skip


def _check_locks(locks: Iterable[Lock], take_over: str) -> None:
    """Refuse to break the lock of a run that may live. Raises UsageError."""
    held = [each for each in locks if each.alive is not False and each.name != take_over]
    if held:
        named = "\n  ".join(map(str, held))
        raise UsageError(TOLD.say("locked", locks=named, name=held[0].name))


def _check_losses(seen: Examined, rebuild: int | None) -> None:
    """Refuse to forget a site whose cluster has lost it, or is another. Raises UsageError."""
    count = seen.rebuild_count
    if count > (rebuild or 0):
        said = {
            "the cluster has lost objects that the state and the site have": seen.found.lost,
            "the cluster has objects that match the applied ones by name alone": seen.strange,
        }
        losses = (f"{what}, {count_text(some)}" for what, some in said.items() if some)
        raise UsageError(TOLD.say("losses", losses="; ".join(losses), count=count))


def _act(options: argparse.Namespace, engine: Engine, seen: Examined, report: Report) -> None:
    """Release the lock, mend the state, and read it anew. Raises UsageError and EngineError."""
    if locks := engine.locks():
        _check_locks(locks, options.take_over)  # another may have been quicker
        report.begun = True
        engine.cancel()
        report.say("done", "the lock is released")
    report.begun = True
    if seen.exported is None:
        engine.select()
        return
    changed = {
        held.urn: restore_fields(held.body, seen.found.left[held.ident])
        for held in seen.state.held
        if not held.leaving and held.ident in seen.found.left
    }
    drop = {each.urn for each in seen.forgettable}
    state = edit_state(seen.exported, changed, drop)
    if state != seen.exported:
        if engine.export_state() != seen.exported:
            raise UsageError("another run has changed the state; run foresite recover again")
        engine.replace_state(state)
        if changed:
            report.say("done", f"the state now has the leftover fields of {len(changed)} objects")
        if drop:
            told = f"{len(drop)} objects of the site's own cluster are removed from the state"
            report.say("done", told)
    _refresh(options, engine)
    pending = len(seen.state.pending)
    more = f"; {pending} pending operations are cleared" if pending else ""
    report.say("done", f"the state is refreshed from the clusters{more}")


def _refresh(options: argparse.Namespace, engine: Engine) -> None:
    """Read every object of the state from its cluster, and clear what was pending. A create that is
    cleared is not lost: ``up`` takes over what the cluster has; the rest is found by label."""
    done = engine.refresh((), "--clear-pending-creates")
    locks = parse_locks(done.stderr + done.stdout) if done.returncode else []
    if locks:
        _check_locks(locks, options.take_over)
        engine.cancel()
        done = engine.refresh((), "--clear-pending-creates")
    demand_success(done)


def _orphans(allow: int, seen: Examined, report: Report) -> None:
    """Delete what nobody knows, where as many are named; else it is left for a person."""
    orphans = seen.found.orphans
    if len(orphans) > allow:
        said = TOLD.say("orphans", site=seen.site.name, word=REMOVE, count=len(orphans))
        report.say("left", said)
        return
    for each in orphans:
        context = seen.contexts[each.target]
        try:
            delete(seen.kubectl, context, seen.live[each])
        except EngineError as error:  # a policy of the cluster may guard it as well
            report.say("left", f"the orphan {each} is not deleted: {error}")
        else:
            report.say("done", f"{each} is deleted from {context}")


def _prove(engine: Engine, site: Site, report: Report) -> int:
    """Show the next ``up``, and hold each step against what explains it."""
    seen = examine(engine, site)
    if site.file.decommission is not None and seen.found.to_go:
        report.say("left", TOLD.say("ends", site=site.name, count=len(seen.found.to_go)))
        return report.end("sound, and not at its end")
    if protected := [each for each in seen.found.to_go if each.protect]:
        objects = count_text(protected)
        urns = " ".join(shlex.quote(each.urn) for each in protected)
        report.say("left", TOLD.say("protected", objects=objects, site=site.name, urns=urns))
        return report.end("some findings need a person", FOUND)
    try:
        # Without the policies: what they refuse is told by `foresite check`, and is no damage.
        steps = next_steps(engine)
    except EngineError as error:
        report.say("left", f"the next up would fail: {error}")
        return report.end("not sound", FOUND)
    for step in explain_steps(steps, seen.wanted, seen.state, seen.found):
        report.step(step)
        if not step.why:
            report.left.append(f"{step}: examine it before the next up")
    mended = {step.object for step in report.steps}
    for each in sorted(each for each in seen.found.open if str(each) not in mended):
        report.say("left", f"{each} differs from the site, and the next up does not correct it")
    _forget(engine, seen, report)
    if report.left:
        return report.end("some findings need a person", FOUND)
    count = len(report.steps)
    more = f"takes {count} steps, each explained" if count else "has nothing to do"
    return report.end(f"sound; the next up {more}")


def _forget(engine: Engine, seen: Examined, report: Report) -> None:
    """Leave in the note what the next ``up`` takes over, and orphans; with neither it goes."""
    if not seen.noted:
        return
    if not report.steps and not report.left:
        engine.finish()
        return
    wanted = {(m.target.value, *m.key) for m in seen.wanted.values()}
    orphans = set(seen.found.orphans)
    engine.renote([key for key in seen.noted if key in wanted or of_note(key) in orphans])
