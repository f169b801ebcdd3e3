"""The differences in meaning between two versions of a Kubernetes object, field by field.

Lists that Kubernetes keeps as maps or sets have no order, quantities count by their value, and data
inside the texts of files is compared as data. The types of values count: 1, 1.0, "1" and true are
four values, and null is not the same as an absent field.
"""

import difflib
import marshal
import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from components.effects.vocabulary import ABSENT, FieldChange, Path
from components.making.manifest import Json
from preview.differences.fields.kinds import field_of
from preview.differences.fields.listkeys import Item
from preview.differences.fields.pairing import Pairing, Slot, differing, same

MAX_LINES = 60
CONTEXT = 2
MAX_MATCHES = 200_000
"""Pairs of equal lines in two texts; difflib takes seconds for more."""
_PLAIN_STEP = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


def compare_fields(before: Json, after: Json) -> tuple[tuple[FieldChange, ...], tuple[Path, ...]]:
    """The fields that differ, and the lists with keys, and sets, in another order; sorted by path.

    A subtree that comes or goes is one change. Of a list with keys a step is the item's key
    (several joined by ``/``), of a set the member, of other lists the index: of an item that goes
    that before, of one that comes that after. Into a text that holds data the path goes on, with a
    step for the document if there are several or it is a Kubernetes object
    (``kind/namespace/name``). If only the text's form differs, the change is one of the text.
    Swapped objects give the same changes, swapped.

    No field changes by another order. But an API server keeps the order that was applied last, and
    a workload whose template differs in nothing else makes new pods: the order of variables and of
    init containers counts. Source: structured-merge-diff 6.3, typed/merge.go, visitListItems;
    Kubernetes 1.34.3, pkg/controller/daemon/update.go, Match, and
    pkg/controller/deployment/util/deployment_util.go, EqualIgnoreHash.
    """
    old, new = differing(before, after)
    try:
        return _compared(marshal.dumps(old, 2), marshal.dumps(new, 2))
    except ValueError:  # of a type that JSON does not have
        return _compare(old, new)


@lru_cache(maxsize=512)  # hundreds of hosts change alike, and so do sites
def _compared(before: bytes, after: bytes) -> tuple[tuple[FieldChange, ...], tuple[Path, ...]]:
    return _compare(*map(marshal.loads, (before, after)))  # our own bytes


def _compare(before: Json, after: Json) -> tuple[tuple[FieldChange, ...], tuple[Path, ...]]:
    pairing = Pairing()
    pair = pairing.lay_out(before, after, field_of(before, after))
    moved = tuple(sorted(pairing.reordered, key=_order))
    try:
        changes = list(_values(*pair, ())) if pair else []
    except KeyError:
        changes = _entries(*pair) if pair else []
    changes.sort(key=lambda each: (_order(each.path), each.before is ABSENT))
    return tuple(_merge_changes(changes)), moved


def show_path(path: Path) -> str:
    """A path for people: ``spec.template.spec.containers[web].image``; items of lists are in
    brackets, and so are keys that are no plain words."""
    steps = (
        f".{step}"
        if isinstance(step, str) and not isinstance(step, Item) and _PLAIN_STEP.fullmatch(step)
        else f"[{step}]"
        for step in path
    )
    return "".join(steps).removeprefix(".")


def text_lines(before: str, after: str) -> list[str]:
    """The lines in which two texts differ, as a unified diff without file names, at most 60 and how
    many more; invisible characters as escapes."""
    left, right = _lines(before), _lines(after)
    if before and after and before.endswith("\n") != after.endswith("\n"):
        (right if before.endswith("\n") else left).append(_NO_END)
    counts = Counter(right)
    if sum(counts[line] for line in left) > MAX_MATCHES:
        return [f"{len(left)} lines became {len(right)}, too many to compare"]
    lines = list(difflib.unified_diff(left, right, n=CONTEXT, lineterm=""))[2:]
    more = len(lines) - MAX_LINES
    return lines if more <= 0 else [*lines[:MAX_LINES], f"{more} more lines"]


_NO_END = "\\ no line break at the end"


def _lines(text: str) -> list[str]:
    if not text:
        return []
    lines = text.removesuffix("\n").split("\n")
    return [line if line.isprintable() else "".join(map(_visible, line)) for line in lines]


def _visible(character: str) -> str:
    shown = character.isprintable() or character == "\t"
    return character if shown else character.encode("unicode_escape").decode()


def _values(left: Any, right: Any, path: Path) -> Iterator[FieldChange]:
    """The values that differ in maps of the same keys. Raises KeyError for a key of one alone."""
    if not isinstance(left, dict) or not isinstance(right, dict):
        yield FieldChange(path, left, right)
        return
    if left.keys() != right.keys():
        raise KeyError
    for step, before in left.items():
        at = step.at if isinstance(step, Slot) else step
        yield from _values(before, right[step], (*path, at))


def _entries(left: Any, right: Any) -> list[FieldChange]:
    # A third of a preview's time to import, and most changes are of values.
    from deepdiff import DeepDiff

    found = DeepDiff(
        left,
        right,
        view="tree",
        custom_operators=[_WholeTexts()],
        # Fields that start with two underscores are fields.
        ignore_private_variables=False,
        # However little two maps have in common, each field is compared.
        threshold_to_diff_deeper=0,
    )
    return [_change(level) for levels in found.values() for level in levels]


class _WholeTexts:
    """An operator for deepdiff: it need not look for the lines that differ, as nobody asks it."""

    def match(self, level: Any) -> bool:
        return isinstance(level.t1, str) and isinstance(level.t2, str)

    def give_up_diffing(self, level: Any, diff_instance: Any) -> bool:
        if level.t1 != level.t2:
            diff_instance.custom_report_result("values_changed", level)
        return True


def _change(level: Any) -> FieldChange:
    steps = level.path(output_format="list")
    path = tuple(step.at if isinstance(step, Slot) else step for step in steps)
    before = ABSENT if level.report_type == "dictionary_item_added" else level.t1
    after = ABSENT if level.report_type == "dictionary_item_removed" else level.t2
    return FieldChange(path, before, after)


def _order(path: Path) -> list[str]:
    return [str(step) for step in path]


def _merge_changes(changes: list[FieldChange]) -> Iterator[FieldChange]:
    """One item that goes and one that comes at the same index become one change, if they differ."""
    last: FieldChange | None = None
    for change in changes:
        if last is not None:
            one = last.path == change.path and last.after is change.before is ABSENT
            if one and not same(last.before, change.after):
                last = FieldChange(last.path, last.before, change.after)
                continue
            yield last
        last = change
    if last is not None:
        yield last
