"""A proposed host list: what a source adds to the list in Git, in its order, and where the two
differ, which is shown, and changed only where ``--take`` names the column."""

import csv
import io
from collections import Counter, defaultdict
from typing import NamedTuple

from foresite.command import few
from foresite.inventory.records import Cell, Intake, Record, say
from schemas.reading.host_list import COLUMNS, cell_column

KEYS = ("serial", "bmc", "name")
"""Columns by which a host of a source is found in the list."""
_FIXED = ("bmc", "mac")
"""Columns that the Bare Metal Operator lets nobody change (BMO 0.13, webhooks, validateChanges)."""
_GONE = "returned"
"""State of a line that keeps the serial of a host that its maker has."""
_CHANGES = ("new", "filled", "taken", "differs", "left")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""How a cell starts that a spreadsheet would compute."""


class Change(NamedTuple):
    """A cell in which list and source differ: a row of the CSV diff."""

    change: str
    host: str
    line: int
    column: str
    in_list: str = ""
    in_source: str = ""
    proposed: str = ""
    origin: str = ""


class Proposal:
    """The list as it would be with what a source says; ``file`` is the list's name for people."""

    def __init__(self, lines: list[str], file: str, intake: Intake, take: list[str]) -> None:
        self._file, self._take = file, take
        self._lines = lines or [",".join(COLUMNS)]
        self._header = self._lines[0].split(",")
        self._rows = [dict(zip(self._header, e.split(","), strict=True)) for e in self._lines[1:]]
        self._new: dict[int, list[dict[str, str]]] = defaultdict(list)
        self._ends = {key: at for at, row in enumerate(self._rows) for key in _racks(row)}
        self.changes: list[Change] = []
        self.problems = intake.problems
        left = {at for at, row in enumerate(self._rows) if row.get("state") != _GONE}
        for line, record in self._pairs(intake, left):
            if line is None:
                self._add(record)
            else:
                for column, cell in record.cells.items():
                    self._compare(line, record, column, cell)
        more = {column: None for record in intake.records for column in record.cells}
        self._header += [column for column in more if column not in self._header]
        for line in sorted(left):
            name = self._rows[line]["name"]
            self.changes.append(Change("left", name, line + 2, "name", name, "", name))
            self.problems.append(say("left", file, {"name": name}, (line + 2, 1)))

    def _pairs(self, intake: Intake, left: set[int]) -> list[tuple[int | None, Record]]:
        """Each host of the source with its line, none for a new one; without those whose line is
        not sure, which are problems. ``left`` keeps the lines that nothing leads to."""
        clashing = intake.clashing()
        index: dict[tuple[str, str], list[int]] = defaultdict(list)
        for line, row in enumerate(self._rows):
            for column in KEYS[:1] if row.get("state") == _GONE else KEYS:
                for each in {row[column], _short(row[column])}:
                    index[column, each.casefold()].append(line)
        pairs: dict[int, list[Record]] = defaultdict(list)
        new: list[tuple[int | None, Record]] = []
        for record in intake.records:
            keys = {c: value for c in KEYS if (value := record.key(c))}
            hits = [(at, c) for c, value in keys.items()
                    for at in index[c, value] or index[c, _short(value)]]  # fmt: skip
            lines = sorted({at for at, _ in hits})
            left.difference_update(lines)
            if lines[1:]:
                named = few([f"line {at + 2} by {column}" for at, column in hits], 5)
                self.problems.append(say("two-lines", record.place, {"hits": named}))
            elif record.place not in clashing:
                pairs[lines[0]].append(record) if lines else new.append((None, record))
        for line, (first, *rest) in pairs.items():
            if rest:
                others = few([each.called for each in rest], 5)
                said = {"line": line + 2, "others": others}
                self.problems.append(say("same-line", first.place, said, also=rest))
        return [*((line, e[0]) for line, e in sorted(pairs.items()) if len(e) == 1), *new]

    def _compare(self, line: int, record: Record, column: str, cell: Cell) -> None:
        row = self._rows[line]
        before = row.get(column, "")
        if before in (cell.value, _short(cell.value)) or (before and not cell.raw):
            return
        change = "filled" if not before else "taken" if column in self._take else "differs"
        row[column] = before if change == "differs" else cell.value
        done = before, cell.value, row[column], cell.origin
        self.changes.append(Change(change, row["name"], line + 2, column, *done))
        if change == "differs" or (change == "taken" and column in _FIXED):
            at = line + 2, cell_column(self._lines[line + 1], self._header, column)
            what = "fixed" if column in _FIXED else "differs"
            said = {"column": column, "before": before, "after": cell.value, "origin": cell.origin}
            self.problems.append(say(what, self._file, said, at, [record]))

    def _add(self, record: Record) -> None:
        """A new line, at the end of its rack, or of the list."""
        row = {column: cell.value for column, cell in record.cells.items()}
        ends = [self._ends[key] for key in _racks(row) if key in self._ends]
        self._new[ends[0] if ends else len(self._rows) - 1].append(row)
        name = row.get("name") or record.called
        missing = [column for column in COLUMNS if not row.get(column)]
        if missing:
            said = {"columns": ", ".join(missing), "name": name}
            self.problems.append(say("missing", record.place, said))
        for column, cell in record.cells.items():
            done = "", cell.value, cell.value, cell.origin
            self.changes.append(Change("new", name, 0, column, *done))

    def text(self) -> str:
        """The proposed list."""
        rows = [*self._new[-1]]
        for at, row in enumerate(self._rows):
            rows += [row, *self._new[at]]
        lines = (",".join(row.get(column, "") for column in self._header) for row in rows)
        return "".join(f"{line}\n" for line in (",".join(self._header), *lines))

    def summary(self) -> str:
        """How many hosts and cells change, and how."""
        found = {(e.change, e.host, e.change == "new" or e.column) for e in self.changes}
        counts = Counter(change for change, *_ in found)
        return ", ".join(f"{counts[each]} {each}" for each in _CHANGES)


def _racks(row: dict[str, str]) -> tuple[tuple[str, ...], ...]:
    """What a new line stands at the end of, the best first."""
    zone, rack = row.get("zone", ""), row.get("rack", "")
    return (zone, rack), (rack,)


def _short(value: str) -> str:
    """The address of a BMC without its path."""
    return value.partition("/")[0]


def as_csv(changes: list[Change]) -> str:
    """The diff as CSV, whose cells no spreadsheet computes."""
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(Change._fields)
    for each in changes:
        cells = (str(cell or "") for cell in each)
        writer.writerow([f"'{cell}" if cell.startswith(_FORMULA) else cell for cell in cells])
    return table.getvalue()
