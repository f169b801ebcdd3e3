"""The shares of long proofs that take a minute or more, so that no landing gets too many at once.

``python -m tests.kit.proof_shares`` takes over the seconds of the last ``make test``. A proof keeps
its share, since a move costs it a turn, unless its share has become too long.
"""

import sys
import tomllib
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from tests.measure.proof import RESULTS, read

TABLE = Path(__file__).with_suffix(".toml")
SHARES = 20
"""Every proof is run in one of so many landings."""
LIMIT = 700
"""Seconds of a share's proofs, added up: six minutes on two cores, as none uses more than one
all the time. The longest single run takes as many."""
LONG = 60
"""Proofs of so many seconds get a row."""


class Turn(NamedTuple):
    """The share of a proof, and its seconds while others ran beside it."""

    share: int
    seconds: int


def turns(table: Path = TABLE) -> dict[str, Turn]:
    """The rows of the table."""
    return {name: Turn(**row) for name, row in tomllib.loads(table.read_text("utf-8")).items()}


def find_row(name: str, rows: Collection[str]) -> str | None:
    """The row of a test: its case's, its function's or its file's."""
    names = (name, name.partition("[")[0], name.partition("::")[0])
    return next((each for each in names if each in rows), None)


def loads(rows: Mapping[str, Turn]) -> list[int]:
    """The seconds of each share."""
    return [sum(each.seconds for each in rows.values() if each.share == n) for n in range(SHARES)]


def take_over(rows: Mapping[str, Turn], seen: Iterable[tuple[str, float]]) -> dict[str, Turn]:
    """The rows with new seconds, and rows for proofs that have become long; those that no share has
    room for beside the others go to the shortest."""
    found: dict[str, float] = {}
    for name, seconds in seen:
        row = find_row(name, rows) or name
        found[row] = found.get(row, 0) + seconds
    new = dict(rows)
    for name, taken in sorted(found.items()):
        if name in new:
            new[name] = new[name]._replace(seconds=round(taken))
        elif taken >= LONG:
            new[name] = Turn(_shortest(new), round(taken))
    for name in sorted(new, key=lambda name: new[name].seconds):
        share = new[name].share
        if loads(new)[share] > max(LIMIT, new[name].seconds):
            to = _shortest(new)
            if loads(new)[to] + new[name].seconds < loads(new)[share]:
                new[name] = new[name]._replace(share=to)
    return new


def _shortest(rows: Mapping[str, Turn]) -> int:
    return loads(rows).index(min(loads(rows)))


def main() -> int:
    """Write the table anew."""
    cases = [case for path in sorted(RESULTS.glob("*.xml")) for case in read(path).cases]
    ran = [
        (each.name, each.seconds) for each in cases if each.command == "proof" and not each.skipped
    ]
    rows = take_over(turns(), (each for each in ran if not _in_every_landing(each[0])))
    head = [line for line in TABLE.read_text("utf-8").splitlines() if line.startswith("#")]
    lines = (f'"{name}" = {{ share = {t.share}, seconds = {t.seconds} }}'
             for name, t in sorted(rows.items()))  # fmt: skip
    TABLE.write_text("\n".join([*head, *lines, ""]), "utf-8")
    return 0


def _in_every_landing(name: str) -> bool:
    """True for tests of which each landing has a part of equal length, by their own marks."""
    return "test_after_a_kill_recover" in name or "test_no_play_of_the_controllers" in name


if __name__ == "__main__":
    sys.exit(main())
