"""The host list: one line a host, read into ``Host`` records with the line they came from. A plain
table (no quoting, as no cell needs it), so that a diff of one host is one line. What must hold
between hosts is in schemas/rules/identity.py, words for a broken table in table_text.py."""

import re
from functools import cache
from operator import itemgetter
from typing import NamedTuple

from schemas.kubernetes.forms import PORT
from schemas.kubernetes.masking import HIDDEN, shorten
from schemas.kubernetes.tables import read_table
from schemas.model.hardware import BY_PATH, DISK_ID, DISK_WORDS, HCTL
from schemas.model.primitives import IPV4_PATTERN
from schemas.model.problem import MAX_PROBLEMS, Problem, first_problems, problem_at
from schemas.model.site_file import SiteFile
from schemas.model.texts import Words, words
from schemas.reading.not_yet import is_ipv6
from schemas.reading.suggested_value import tidy
from schemas.reading.table_text import header_problems, table_lines

SPARE, OUT, RETURNED = "spare", "out", "returned"
"""States of a host besides being in service (docs/host-life.md)."""
MAX_HOSTS = 10_000
"""Hosts of one site, at most: the largest that anyone runs as one cluster has half of it."""


class Host(NamedTuple):
    """A bare-metal host: its place, and the addresses that find it; ``line`` counts from 1. Wrong
    cells are empty; then the list has problems. ``more``: cells of further NICs and networks."""

    name: str
    pool: str
    zone: str
    rack: str
    bmc: str
    mac: str
    ip: str
    serial: str
    line: int
    root_disk: str = ""
    state: str = ""
    more: tuple[tuple[str, str], ...] = ()

    def cell(self, column: str) -> str:
        """The cell of a column; empty where the list has no such one."""
        return dict(self.more).get(column, "") if is_further(column) else str(getattr(self, column))

    def with_cell(self, column: str, value: str) -> "Host":
        """The host with another cell."""
        if is_further(column):
            return self._replace(more=tuple({**dict(self.more), column: value}.items()))
        return self._replace(**{column: value})  # type: ignore[arg-type]

    @property
    def out(self) -> bool:
        """True if no Machine may be on the host: it is away, or waits for a repair."""
        return self.state == OUT

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that may say something of it."""
        return (*EVERY_COLUMN, *dict(self.more))

    @property
    def bmc_address(self) -> str:
        """The address of the BMC, without its port and path."""
        return self.bmc.split("/")[0].split(":")[0]


class HostList(NamedTuple):
    """The content of a host list. ``complete``: every host's pool and zone is known, so that the
    hosts of each can be counted. ``returned`` are lines for the record, of hosts that are gone."""

    hosts: list[Host]
    problems: list[Problem]
    complete: bool
    returned: tuple[Host, ...] = ()

    def countable(self, file: SiteFile) -> bool:
        """True if every host's pool and zone are known; else no rule may count the hosts of one."""
        try:
            pools = {pool.name for pool in file.pools}
            zones = {zone.name for zone in file.zones}
        except AttributeError:  # a hole
            return False
        return self.complete and all(h.pool in pools and h.zone in zones for h in self.hosts)


class Column(NamedTuple):
    """The allowed content of a column's cells, and the words for it."""

    pattern: str
    meaning: str
    example: str


_IPV4 = IPV4_PATTERN.strip("^$").replace("(", "(?:")
_LABEL = r"[a-z0-9](?:[-a-z0-9]{0,38}[a-z0-9])?"
_MAC = r"[0-9a-f]{2}(?::[0-9a-f]{2}){5}"
# The second digit is even for one network card, odd for a group of them.
_NIC = r"(?!00:00:00:00:00:00)[0-9a-f][02468ace](?::[0-9a-f]{2}){5}"
_UUID = r"[0-9a-f]{8}-?(?:[0-9a-f]{4}-?){3}[0-9a-f]{12}"
_HINTS = {
    "device_name": BY_PATH + DISK_ID,  # a kernel's name would be another disk after a reboot
    "hctl": HCTL,
    "min_size_gigabytes": "[1-9][0-9]{0,6}",
    "rotational": "true|false",
    "(?:model|vendor)": DISK_WORDS,
    "(?:serial_number|wwn(?:_with_extension|_vendor_extension)?)": DISK_ID,
}
_HINT = "|".join(f"{name}=(?:{pattern})" for name, pattern in _HINTS.items())
_PARTS = {"IPV4": _IPV4, "PORT": PORT.replace("(", "(?:"), "LABEL": _LABEL, "NIC": _NIC}
_PARTS |= {"UUID": _UUID, "HINT": _HINT}


def _columns(kind: str) -> dict[str, Column]:
    """The columns of a kind in the table, with the parts of their patterns in place."""
    found = {}
    for name, row in read_table(__file__)[kind].items():
        pattern = re.sub("<([A-Z0-9]+)>", lambda part: _PARTS[part[1]], row["pattern"])
        found[name] = Column(pattern, row["meaning"], row["example"])
    return found


COLUMNS, OPTIONAL_COLUMNS, _FURTHER = map(_columns, ("columns", "optional", "further"))
EVERY_COLUMN = COLUMNS | OPTIONAL_COLUMNS
_COUNTED = ("pool", "zone")


def read_hosts(data: bytes, file: str) -> HostList:
    """The hosts of a host list, in the file's order, and every problem of its text. A line gives a
    host if it has a cell for each column. Never raises for any input."""
    lines, problems = table_lines(data, file, MAX_HOSTS, ",".join(COLUMNS))
    if problems:
        return HostList([], problems, complete=False)
    header = lines[0].split(",")
    optional = [*OPTIONAL_COLUMNS, *filter(is_further, header)]
    problems = header_problems(lines[0], file, list(COLUMNS), optional)
    if problems:
        return HostList([], problems, complete=False)
    return _Rows(header, file).read(lines)


@cache
def column_of(name: str) -> Column:
    """What a column of a name that a host list may have is to hold."""
    own = EVERY_COLUMN.get(name)
    if own is not None:
        return own
    (kind,) = (each for form, each in _FURTHER.items() if re.fullmatch(form, name))
    return kind._replace(pattern=f"(?:{kind.pattern})?")


def is_further(name: str) -> bool:
    """True for the name of a column of a NIC or a network."""
    return any(re.fullmatch(form, name) for form in _FURTHER)


def cell_column(line: str, header: list[str], column: str) -> int:
    """The column where a cell starts in a line, counting from 1."""
    cells = line.split(",")[: header.index(column)]
    return sum(len(cell) + 1 for cell in cells) + 1


class _Rows:
    """The lines below the header, being read."""

    def __init__(self, header: list[str], file: str) -> None:
        self._header, self._file = header, file
        self._ordered = itemgetter(*(header.index(name) for name in COLUMNS))
        self._optional = [header.index(n) if n in header else None for n in OPTIONAL_COLUMNS]
        self._further = [(name, header.index(name)) for name in header if is_further(name)]
        self._problems: list[Problem] = []
        self._unshown = 0
        self._complete = True

    def read(self, lines: list[str]) -> HostList:
        """The hosts of the lines after the first."""
        fitting = re.compile(",".join(f"({column_of(name).pattern})" for name in self._header))
        hosts: list[Host] = []
        for number, line in enumerate(lines[1:], start=2):
            match = fitting.fullmatch(line)
            cells = match.groups() if match else self._cells(line, number)
            if cells:
                rest = ["" if index is None else cells[index] for index in self._optional]
                raw = cells if match else line.split(",")  # a wrong cell is empty, but it is there
                more = tuple((name, cells[at]) for name, at in self._further if raw[at])
                hosts.append(Host._make((*self._ordered(cells), number, *rest, more)))
        there = [host for host in hosts if host.state != RETURNED]
        gone = tuple(host for host in hosts if host.state == RETURNED)
        problems = first_problems(self._problems, self._unshown)
        return HostList(there, problems, self._complete, gone)

    def _is_full(self) -> bool:
        """True if there are problems enough; then the next one is only counted."""
        full = len(self._problems) >= MAX_PROBLEMS
        self._unshown += full
        return full

    def _add(self, at: tuple[int, int], said: Words, path: str = "", value: str = "") -> None:
        self._problems.append(problem_at(self._file, at, said, path, value))

    def _cells(self, line: str, number: int) -> tuple[str, ...]:
        """The cells of a line with problems, the wrong ones empty; none if they cannot be told."""
        comment = line.startswith("#")
        if comment or not line.strip(", \t;"):
            if not self._is_full():
                self._add((number, 1), words("hosts-comment" if comment else "hosts-empty-line"))
            return ()
        cells = line.split(",")
        if len(cells) != len(self._header):
            self._complete = False
            if not self._is_full():
                self._add_shape(line, cells, number)
            return ()
        known = []
        for name, cell in zip(self._header, cells, strict=True):
            fitting = re.fullmatch(column_of(name).pattern, cell) is not None
            known.append(cell if fitting else "")
            if not fitting:
                self._add_cell(line, number, name, cell)
        return tuple(known)

    def _add_shape(self, line: str, cells: list[str], number: int) -> None:
        """Note a line with too few or too many cells, at the first that fits no longer."""
        pairs = list(zip(self._header, cells, strict=False))
        fitting = [bool(re.fullmatch(column_of(name).pattern, cell)) for name, cell in pairs]
        index = fitting.index(False) if False in fitting else len(pairs)
        column = min(sum(len(cell) + 1 for cell in cells[:index]), len(line)) + 1
        count = f"{len(cells)} cell{'s' if len(cells) > 1 else ''}"
        fix = f"write a value for each of {','.join(self._header)}, with no comma inside"
        if not any(cells[len(self._header) :]) and index == len(self._header):
            fix = "remove the commas at the end of the line"
        said = words("hosts-cells", count, len(self._header), fix)
        self._add((number, column), said, value=cells[0])

    def _add_cell(self, line: str, number: int, name: str, cell: str) -> None:
        if name in _COUNTED:
            self._complete = False
        if self._is_full():
            return
        at = cell_column(line, self._header, name)
        if "@" in cell:  # nothing in a host list has one but what people write before an address
            cell = f"{HIDDEN}@{cell.rpartition('@')[2]}"
        self._add((number, at), _cell_fault(name, cell), name, cell)


def _cell_fault(name: str, cell: str) -> Words:
    """The fault of a cell, and what to write instead."""
    column = column_of(name)
    if not cell:
        return words("cell-empty", name, column)
    if name == "name" and re.fullmatch(_UUID, cell):
        return words("cell-uuid", cell, column)
    if name.startswith("mac") and re.fullmatch(_MAC, cell):
        which = "of the NIC that boots" if name == "mac" else f"of {name[4:]}"
        return words("cell-mac-of-group", name, cell, column, which)
    if "IPv4" in column.meaning and is_ipv6(cell):
        return words("cell-ipv6", name, shorten(cell), column)
    fitting = tidy(cell, column.pattern, respelt=name != "serial")
    fitting = fitting or f"{column.meaning}, such as {column.example}"
    return words("cell-unfit", name, shorten(cell), column, fitting)
