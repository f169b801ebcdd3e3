"""Edits of the files that a site names: each run of lines that differs, and how to do it alone."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from difflib import SequenceMatcher
from typing import NamedTuple

from preview.differences.edits.edit import SHOWN, Edit
from preview.result import Cause
from schemas.facts.site import Site
from schemas.kubernetes.masking import shorten

MAX_MATCHES = 200_000
"""Pairs of equal lines in two texts; difflib takes seconds for more, and all is one edit then."""


class _Hunk(NamedTuple):
    """Lines that differ: where they start on each side, from 0, and what they are there."""

    before_at: int
    after_at: int
    before: list[str]
    after: list[str]


def text_edits(mine: Mapping[str, str], theirs: Mapping[str, str]) -> Iterator[Edit]:
    """Every edit of a file that both sides name."""
    for path in sorted(mine.keys() & theirs.keys()):
        for hunk in _hunks(mine[path], theirs[path]):

            def apply(site: Site, forward: bool, path: str = path, hunk: _Hunk = hunk) -> Site:
                before_at, after_at, old, new = hunk
                side = (mine, before_at, old, new) if forward else (theirs, after_at, new, old)
                texts, at, gone, come = side
                lines = texts[path].splitlines(keepends=True)
                lines[at : at + len(gone)] = come
                return replace(site, texts={**site.texts, path: "".join(lines)})

            yield Edit(_cause(path, hunk), apply)


def _hunks(before: str, after: str) -> Iterator[_Hunk]:
    if before == after:
        return
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    counts = Counter(new)
    if sum(counts[line] for line in old) > MAX_MATCHES:
        yield _Hunk(0, 0, old, new)
        return
    for kind, i, i_end, j, j_end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind != "equal":
            yield _Hunk(i, j, old[i:i_end], new[j:j_end])


def _cause(path: str, hunk: _Hunk) -> Cause:
    gone = not hunk.after
    line = (hunk.before_at if gone else hunk.after_at) + 1
    said = (_show_lines(hunk.before), _show_lines(hunk.after))
    return Cause(f"sites/{path}", line, 1, path, *said, gone)


def _show_lines(lines: list[str]) -> str:
    """The first of some lines, and the number of the others."""
    if not lines:
        return ""
    more = f" (and {len(lines) - 1} more lines)" if len(lines) > 1 else ""
    return shorten(lines[0].strip(), SHOWN) + more
