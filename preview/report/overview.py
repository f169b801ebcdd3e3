"""The whole report as blocks: the headline, what stands in the way, and a part for each entry."""

from collections.abc import Iterable, Sequence

from components.effects.vocabulary import Impact
from preview.report import object_cache
from preview.report.blocks import Alert, Line, Part, Report, Room, Row, Section, Table, heads
from preview.report.changes import differences, objects
from preview.report.headline import clauses, figures
from preview.report.phrase import Phrase, join_phrases, prose, value
from preview.report.pools import capacity, installation, pools
from preview.report.scenes import scene
from preview.report.sections import every_host, hosts, problems, services, why
from preview.report.words import (
    count,
    few,
    happening,
    out_at_worst,
    scope_text,
    sites_named,
    sum_doings,
)
from preview.result import Entry, Preview, SitePreview, State
from schemas.kubernetes.grouping import group_by_key


def report(preview: Preview, room: Room) -> Report:
    """The report of a preview; ``room`` is what the format shows of long lists."""
    several = len(preview.entries) > 1
    room = room._replace(forge=preview.forge)
    return Report(
        headline=clauses(preview),
        tone=preview.impact if preview.certain else Impact.UNKNOWN,
        figures=figures(preview),
        facts=tuple(_facts(preview)),
        alerts=tuple(_alerts(preview)),
        table=_table(preview, room) if several else None,
        parts=tuple(
            _part(entry, room, drawn=number < room.pictures)
            for number, entry in enumerate(preview.entries)
        ),
        checked=Line((scope_text(),)),
    )


def _facts(preview: Preview) -> Iterable[Line]:
    """The two sides of the comparison."""
    changed = sum(len(entry.sites) for entry in preview.entries)
    sides: Phrase = (value(preview.base), " → ", value(preview.head))
    of = f"{changed:,} of {count(preview.sites_total, 'site')} touched"
    yield Line((*sides, f"; {of}"))
    for region in preview.regions:
        yield Line((value(region.what, 200), f" {region.does}"))
    if preview.code:
        yield Line(("each side is made by its own code, which differs: ", value(preview.code)))
    for site, (number, when) in sorted(preview.nodes.items()):
        said = (" at ", value(when)) if when else ()
        named = (f"as {count(number, 'node')} of ", value(site), " were when they were last seen")
        yield Line((*named, *said))
    for each in sorted(preview.sites, key=lambda site: site.name):
        if each.patches:
            told = f"{each.patches} patch{'es' * (each.patches > 1)} in force on "
            yield Line((told, value(each.name)))
    if preview.allowed:
        numbers = [(value(name), f" {n:,}") for name, n in sorted(preview.allowed.items())]
        yield Line(("the pull request allows: ", *join_phrases(numbers)))


def _alerts(preview: Preview) -> Iterable[Alert]:
    """The alerts that need a person before anything else."""
    for gate in preview.gates:
        lines = (Line(prose(gate.message)), Line(("to pass the gate: ", *prose(gate.fix))))
        yield Alert(("Blocked by the gate ", value(gate.name)), lines)
    if preview.code_changed:
        said = "what this does to sites is shown by `foresite preview --code each`"
        if preview.program_changed:
            said = "no preview shows what programs and libraries do that Pulumi runs: read them"
        title = f"{count(len(preview.code_changed), 'file')} of Foresite's own code changed"
        yield Alert((title,), (Line((f"{said}: ", *few(preview.code_changed, 120))),))


def _table(preview: Preview, room: Room) -> Table:
    """A row for each entry, or where they are too many for each kind of thing that happens."""
    groups = [entry.members for entry in preview.entries]
    if len(groups) > room.rows:
        groups = _alike(groups)
    named = ((sites_named([site.name for site in group]), group) for group in groups)
    rows = tuple(Row((name, *_columns(group)), group[0].impact) for name, group in named)
    return Table(_HEADS, rows)


def _alike(groups: Iterable[tuple[SitePreview, ...]]) -> list[tuple[SitePreview, ...]]:
    """The sites by which things happen to hosts there, however many; there are few such kinds."""

    def kinds(site: SitePreview) -> object:
        return site.state is State.INVALID, tuple((e.impact, e.at_most) for e in sum_doings([site]))

    found = group_by_key((kinds(site), site) for group in groups for site in group)
    return [tuple(sites) for sites in found.values()]


def _columns(sites: Sequence[SitePreview]) -> tuple[Phrase, Phrase]:
    return happening(sites), out_at_worst(ledger for site in sites for ledger in site.capacity)


_HEADS = heads("site", "what happens", "out at worst")
_STATES = {
    State.ADDED: " (a new site)",
    State.DECOMMISSIONED: " (decommissioned)",
    State.REMOVED: " (no longer there)",
    State.VANISHED: " (its file is gone)",
}


def _part(entry: Entry, room: Room, *, drawn: bool) -> Part:
    site, every = entry.site, entry.members
    harmful, harmless = why(site, room)
    main = [problems(site, room), hosts(site, room), pools(site), installation(site)]
    main += [capacity(site), object_cache.section(site), services(site), harmful, objects(site)]
    # Whose figures follow, where a part is on several sites.
    said = "The same happens in each. Figures and places below are those of "
    intro = (Line((said, value(site.name))),) if len(entry.sites) > 1 else ()
    # Of a new site everything is added: its components say so, a line each.
    new = site.state is State.ADDED
    folded = [] if new else [harmless, differences(site, room)]
    if len(every) > 1:
        rows = tuple(Row(((value(e.name),), *_columns([e])), e.impact) for e in every)
        title = (f"Each of the {len(rows):,} sites",)
        folded.insert(0, Section("sites", title, (Table(_HEADS, rows),)))
    if room.every_host:
        folded += [every_host(each) for each in every if not each.brief]
    return Part(
        title=(*sites_named(entry.sites), _STATES.get(site.state, "")),
        says=happening(every),
        tone=site.impact,
        intro=intro,
        sections=tuple(section for section in main if section.blocks),
        folded=tuple(section for section in folded if section.blocks),
        scene=scene(site) if drawn else None,
    )
