"""``foresite opinion``: what Pulumi says of a change with the clusters at hand, beside what the
offline preview says of it.

Both compare the same two states: what was last applied, and HEAD. What of it rests on an answer of
a server is said, never implied: of a site without changes ``pulumi preview`` asks no server at all,
and without the right to patch the provider leaves the server's dry run out, silently
(pulumi-kubernetes 4.25, provider.go).
"""

import argparse
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from components.effects.vocabulary import Action
from components.making.manifest import Manifest, Target
from foresite.command import FAILED, FOUND, OK, UsageError, count, repository, show
from foresite.commands.check import sound
from foresite.delivery.servers.probe import Need, kubectl_of, probe
from foresite.delivery.stack import live
from foresite.delivery.stack.applied import Commits, last_record
from foresite.delivery.stack.engine import Engine, EngineError
from foresite.delivery.stack.engines import engine_for
from preview.report.phrase import visible
from preview.states.git import commit_of
from preview.states.snapshot import at
from preview.survey import survey
from schemas.facts.site import Site

MARK = "<!-- foresite-second-opinion -->"
_SHOWN = 50
"""Sites and differences that are named; the others are counted."""
_TEXT = 400


class Opinion(NamedTuple):
    """The opinion of an API server on a site. ``read`` is how many objects the API server was asked
    for; ``dry_run`` says whether it tried the changes. ``ours`` and ``theirs`` are the objects that
    the offline preview and Pulumi would touch. ``refused`` is what Pulumi complains of; ``failed``,
    why it could not be asked. ``asked`` says of each API server what it was asked, and what not."""

    site: Site
    read: int = 0
    dry_run: str = ""
    ours: frozenset[live.Key] = frozenset()
    theirs: frozenset[live.Key] = frozenset()
    refused: str = ""
    failed: str = ""
    asked: tuple[str, ...] = ()

    @property
    def verdict(self) -> str:
        """The opinion in a few words."""
        if self.failed:
            return "not asked"
        if self.refused:
            return "**Pulumi refuses**"
        return "agree" if self.ours == self.theirs else "**differ**"


def run(options: argparse.Namespace) -> int:
    """Ask about the named sites, or about all that the change since ``--base`` concerns."""
    root = repository(options)
    sites = sound(root, options.sites, "text", FAILED)
    commits = Commits(root)
    base = commit_of(root, options.base)
    concerned = [s for s in sites if options.sites or commits.since(s.name, base)]
    opinions = [_ask(root, site, base, commits, trial=options.trial) for site in concerned]
    text = "\n".join(report(opinions)) + "\n"
    if options.out:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(text, encoding="utf-8")
    show(text, end="")
    if any(each.failed for each in opinions):
        return FAILED
    return FOUND if any(e.refused or e.ours != e.theirs for e in opinions) else OK


def _ask(root: Path, site: Site, base: str, commits: Commits, *, trial: bool) -> Opinion:
    opinion = Opinion(site)
    try:
        engine = engine_for(root, site, trial=trial)
        record, under_way = last_record(engine)
        if record is None:
            return opinion._replace(failed="nothing was applied yet, so there is no stack")
        applied = commits.standing(site.name, record, under_way).commit or base
        servers = tuple(map(str, probe(engine, site, Need.KINDS)))
        there = [each for each in live.read(engine).values() if each is not None]
        ours, left = _offline(root, site, applied, commits.head)
    except UsageError as error:
        return opinion._replace(failed=str(error))
    opinion = opinion._replace(read=len(there), ours=ours, asked=servers)
    try:
        steps = live.next_steps(engine)
    except EngineError as error:
        return opinion._replace(refused=str(error))
    theirs = frozenset(key for step in steps if (key := live.key_of(step["urn"]))) - left
    tried = [each for key, each in live.expected_objects(site).items() if key in theirs]
    return opinion._replace(theirs=theirs, dry_run=tries(engine, site, tried))


def _offline(
    root: Path, site: Site, before: str, after: str
) -> tuple[frozenset[live.Key], set[live.Key]]:
    """The objects that the offline preview says are touched, and those that are merely left."""
    touched: set[live.Key] = set()
    left: set[live.Key] = set()
    for judged in survey(at(root, before), at(root, after), [site.name]).sites:
        for each in judged.objects:
            if not live.follows(site, each.change.one):
                component, name = each.change.name
                found = left if each.action is Action.LEFT else touched
                found.add((live.resource_name(component), name))
    return frozenset(touched), left


def tries(engine: Engine, site: Site, manifests: Iterable[Manifest]) -> str:
    """A few words on whether the API server tried the changes, which takes the right to patch."""
    kubectl = kubectl_of(engine)
    kinds = {(each.body["apiVersion"], each.kind): each for each in manifests}
    if not kinds:
        return "no change to try"
    if kubectl is None:
        return "not known: kubectl is missing"
    for (api, kind), manifest in kinds.items():
        group, _, version = api.rpartition("/")
        context = site.file.cluster.context if manifest.target is Target.SITE else None
        where = ("--context", context or site.file.management)
        what = ("patch", f"{kind}.{version}.{group}" if group else kind)
        namespace = manifest.key[2] or "default"
        if kubectl.run(*where, "auth", "can-i", *what, "--namespace", namespace).returncode:
            return f"no: the account may not patch a {kind}"
    return "yes"


def report(opinions: list[Opinion]) -> Iterator[str]:
    """The comment: a line a site, then where the two differ, and what failed."""
    yield MARK
    yield "### Second opinion: Pulumi, with the clusters"
    yield ""
    if not opinions:
        yield "The change concerns no site."
        return
    yield "| site | cluster | objects read | server dry run | offline preview | Pulumi | |"
    yield "|---|---|---|---|---|---|---|"
    for each in opinions[:_SHOWN]:
        touched = [count(len(keys), "object") for keys in (each.ours, each.theirs)]
        cells = (count(each.read, "object"), each.dry_run or "no", *touched)
        cells = ("nothing", "no", "", "") if each.failed else cells
        context = each.site.file.management
        yield f"| {' | '.join((_code(each.site.name), _code(context), *cells, each.verdict))} |"
    if len(opinions) > _SHOWN:
        yield f"\nand {len(opinions) - _SHOWN} more sites"
    yield ""
    lines = [line for each in opinions for line in _details(each)]
    yield from lines[:_SHOWN]
    if len(lines) > _SHOWN:
        yield f"- and {len(lines) - _SHOWN} more"
    yield "This compares the last applied state of each site with this change."


def _details(opinion: Opinion) -> Iterator[str]:
    site = _code(opinion.site.name)
    for what, text in (("not asked", opinion.failed), ("refused", opinion.refused)):
        if text:
            yield f"- {site}: {what}: {_code(text)}"
    for each in opinion.asked:
        yield f"- {site}: {_code(each)}"
    if opinion.failed or opinion.refused:
        return
    for who, keys in (
        ("the offline preview", opinion.ours - opinion.theirs),
        ("Pulumi", opinion.theirs - opinion.ours),
    ):
        for _, name in sorted(keys):
            yield f"- {site}: only {who} changes {_code(name)}"


def _code(text: str) -> str:
    """Text of others as a span of code, in which nothing is a link, a mention or a table's edge."""
    return "`" + visible(text, _TEXT).replace("`", "'").replace("|", "\\|") + "`"
