"""The sections on objects: how many of which component, and what differs in each."""

from collections import Counter
from collections.abc import Iterable, Sequence

from components.effects.vocabulary import ABSENT, Action, FieldChange, ObjectChange
from preview.differences.fields import show_path, text_lines
from preview.differences.fields.listkeys import Item
from preview.report.blocks import Code, Line, Room, Row, Section, Table, heads
from preview.report.phrase import Phrase, Strong, change, join_phrases, prose, value, visible
from preview.report.words import count, few, first_few, ranges
from preview.result import ObjectVerdict, SitePreview, State
from schemas.kubernetes.grouping import group_by_key

_ORDER = tuple(map(Action, ("refused", "deleted", "replaced", "left", "changed", "added")))
"""Actions on objects, worst first."""
_MEANING = {
    Action.REFUSED: "pulumi up stops there",
    Action.LEFT: "no longer made, and left in the cluster",
}
COMPARED = 200_000
"""Characters of two texts that are compared line by line."""
LINE = 160
"""Characters of a line of a compared text that are shown."""


# --- objects --------------------------------------------------------------------------------------
def objects(site: SitePreview) -> Section:
    """Objects by component and by what becomes of them; what is refused or lost by name."""
    if site.state is State.ADDED:
        return Section("objects", ("Objects by component",), tuple(_added_lines(site)))
    pairs = group_by_key((each.change.component, each.action) for each in site.objects)
    actions = {name: Counter(each) for name, each in pairs.items()}
    used = [action for action in _ORDER if any(each[action] for each in actions.values())]
    columns = heads("component", *(f"{action.value}:" for action in used))
    rows = tuple(
        Row(((value(name),), *((f"{found[action]:,}",) for action in used)))
        for name, found in actions.items()
    )
    table = [Table(columns, rows)] if rows else []
    return Section("objects", ("Objects",), (*_warnings(site), *table))


def _added_lines(site: SitePreview) -> Iterable[Line]:
    """What a new site gets, a line a component."""
    found = group_by_key((each.change.component, each.change.kind) for each in site.objects)
    for component, kinds in found.items():
        some, more = first_few(Counter(kinds).most_common())
        named = join_phrases([(f"{number:,} ", value(kind)) for kind, number in some])
        rest = f" and {count(more, 'more kind')}" if more else ""
        total = count(len(kinds), "object")
        yield Line((Strong("added"), " ", value(component), f", {total}: ", *named, rest))


def _warnings(site: SitePreview) -> Iterable[Line]:
    if site.deletions:
        things = join_phrases((*prose(e.what), f" ({e.count:,})") for e in site.deletions)
        said = ", so to be acknowledged in the pull request: "
        yield Line((Strong("Deleted for good"), said, *things))
    names = [each.change.one.title for each in site.objects if each.action is Action.REFUSED]
    if names:
        said = "; the API server, a webhook or Pulumi refuses the change, and pulumi up stops there"
        yield Line((Strong("Refused"), ": ", *few(ranges(names), 160), said))


# --- what differs ---------------------------------------------------------------------------------
def differences(site: SitePreview, room: Room) -> Section:
    """Per object and field what was and what will be, worst first; alike objects as one."""

    def likeness(each: ObjectVerdict) -> object:
        paths = tuple(field.path for field in each.change.fields)
        return each.change.component, each.change.kind, each.action, paths

    def badness(group: Sequence[ObjectVerdict]) -> tuple[int, int]:
        reasons = {index for each in group for index in each.reasons}
        worst = max((site.reasons[index].effect.impact.rank for index in reasons), default=0)
        return (-worst, _ORDER.index(group[0].action))

    groups = group_by_key((likeness(each), each) for each in site.objects)
    found = sorted(groups.values(), key=badness)
    lines = tuple(_group(group, room) for group in found[: room.groups])
    rest = sum(map(len, found[room.groups :]))
    more = (Line((f"and {count(rest, 'more object')}",)),) if rest else ()
    return Section("differences", ("What differs in each object",), (*lines, *more))


def _group(group: Sequence[ObjectVerdict], room: Room) -> Line:
    first = group[0].change
    action = Strong(group[0].action.value)
    meaning = _MEANING.get(group[0].action)
    note = f" ({meaning})" if meaning else ""
    if len(group) == 1:
        return Line((action, " ", value(first.one.title, 120), note), tuple(_fields(first, room)))
    some, more = first_few(ranges(each.change.one.key[3] for each in group), room.ranges)
    names = [*few(some)] if not more else [*few(some), " and others"]
    same = all(each.change.fields == first.fields for each in group)
    own = "" if same else ", the same fields, each with its own values; the first one:"
    kind: Phrase = (f" {len(group):,} ", value(first.kind), ": ", *names, note, own)
    return Line((action, *kind), tuple(_fields(first, room)))


def _fields(found: ObjectChange, room: Room) -> Iterable[Line]:
    """The fields that differ; those of many items of a list that change alike as one."""

    def likeness(each: FieldChange) -> object:
        at = tuple(isinstance(step, Item) or step for step in each.path)
        return at, repr(each.before), repr(each.after)

    alike = list(group_by_key((likeness(each), each) for each in found.fields).values())
    some, more = first_few(alike, room.fields)
    for fields in some:
        line = _field(fields[0], room)
        same: Phrase = (f", and so in {len(fields) - 1:,} more",) if len(fields) > 1 else ()
        yield line._replace(phrase=(*line.phrase, *same))
    if more:
        rest = sum(map(len, alike[-more:]))
        yield Line((f"and {count(rest, 'more field')}",))


def _field(field: FieldChange, room: Room) -> Line:
    path: Phrase = (value(show_path(field.path), LINE), ": ")
    # A side that is not there counts as empty.
    before, after = ("" if side is ABSENT else side for side in (field.before, field.after))
    texts = isinstance(before, str) and isinstance(after, str)
    if not texts or "\n" not in before + after:
        return Line((*path, *change(field.before, field.after)))
    if len(before) + len(after) > COMPARED:
        sizes = f"a text of {len(before):,} characters became one of {len(after):,}"
        return Line((*path, f"{sizes}, too long to compare"))
    lines = text_lines(before, after)
    some, more = first_few(lines, room.lines)
    rest = (f"… {count(more, 'more line')}",) if more else ()
    cut = tuple(visible(line, LINE) for line in some)
    went = "text gone" if field.after is ABSENT else "text changed"
    what = "new text" if field.before is ABSENT else went
    return Line((*path, what), (Code((*cut, *rest)),))
