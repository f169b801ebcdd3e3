"""The host list: one line a host, read into ``Host`` records with the line they came from.

A plain table (no quoting, as no cell needs it), so that a diff of one host is one line. What must
hold between hosts is in schemas/rules/hosts.py.
"""

import difflib
import re
from typing import NamedTuple

from schemas.codes import Code
from schemas.primitives import IPV4_PATTERN
from schemas.problem import Problem, shorten

MAX_BYTES = 4 * 1024 * 1024
"""Size of a host list at most; 4,000 hosts take 400 kB."""


class Host(NamedTuple):
    """A bare-metal host: its place, and the addresses that find it. ``line`` counts from 1."""

    name: str
    pool: str
    zone: str
    rack: str
    bmc: str
    mac: str
    ip: str
    serial: str
    line: int


class Column(NamedTuple):
    """What a cell of a column may hold, and how to say so."""

    pattern: str
    meaning: str
    example: str


_IPV4 = IPV4_PATTERN.strip("^$").replace("(", "(?:")
_LABEL = r"[a-z0-9](?:[-a-z0-9]{0,38}[a-z0-9])?"
COLUMNS = {
    "name": Column(_LABEL, "a DNS label of at most 40 lower-case characters", "tokyo-1-a-001"),
    "pool": Column(_LABEL, "the name of a pool", "v100"),
    "zone": Column(_LABEL, "the name of a zone", "a"),
    "rack": Column(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?", "a label value", "a-03"),
    "bmc": Column(_IPV4, "an IPv4 address", "10.24.0.11"),
    "mac": Column(r"[0-9a-f]{2}(?::[0-9a-f]{2}){5}", "a MAC in lower case", "52:54:00:00:00:0b"),
    "ip": Column(_IPV4, "an IPv4 address", "10.16.0.11"),
    "serial": Column(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}", "a serial number", "SN0000011"),
}
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def read_hosts(data: bytes, file: str) -> tuple[list[Host], list[Problem]]:
    """The hosts of a host list, in the order of the file, and every problem of its text.

    A line with a problem gives no host. Never raises for any input.
    """
    text, problems = _decode(data, file)
    if text is None:
        return [], problems
    lines = text.split("\n")
    header = lines[0].rstrip("\r").split(",")
    problems = _header_problems(header, file)
    if problems:
        return [], problems
    hosts: list[Host] = []
    order = [header.index(name) for name in COLUMNS]
    row = re.compile(",".join(f"({COLUMNS[name].pattern})" for name in header))
    for number, line in enumerate(lines[1:], start=2):
        line = line.removesuffix("\r")
        match = row.fullmatch(line)
        if match is None:
            problems.extend(_row_problems(line, number, header, file, last=number == len(lines)))
            continue
        cells = match.groups()
        hosts.append(Host(*(cells[i] for i in order), number))  # type: ignore[misc]
    return hosts, problems


def cell_column(line: str, header: list[str], column: str) -> int:
    """Where a column's cell starts in a line, counting from 1."""
    cells = line.split(",")[: header.index(column)]
    return sum(len(cell) + 1 for cell in cells) + 1


def _decode(data: bytes, file: str) -> tuple[str | None, list[Problem]]:
    def refuse(message: str, fix: str) -> tuple[None, list[Problem]]:
        return None, [Problem(file, 1, 1, Code.HOSTS_TEXT, "", "", message, fix)]

    if len(data) > MAX_BYTES:
        return refuse(f"the list has {len(data)} bytes", f"keep it under {MAX_BYTES} bytes")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return None, [
            Problem(
                file, line, 1, Code.HOSTS_TEXT, "", "", "not UTF-8 text", "save the file as UTF-8"
            )
        ]
    if text.startswith("\ufeff"):
        return refuse("the file starts with a byte order mark", "save it as UTF-8 without one")
    if not text.strip():
        return refuse("the list is empty", "start with the line " + ",".join(COLUMNS))
    return text, []


def _header_problems(header: list[str], file: str) -> list[Problem]:
    problems = []
    for name in header:
        if name not in COLUMNS or header.count(name) > 1:
            near = difflib.get_close_matches(name, COLUMNS, 1)
            fix = f"write {near[0]}" if near and name not in COLUMNS else "remove it"
            said = "stands twice" if name in COLUMNS else "is unknown"
            place = ",".join(header[: header.index(name)])
            column = len(place) + (2 if place else 1)
            problems.append(
                Problem(
                    file, 1, column, Code.HOSTS_COLUMNS, name, shorten(name),
                    f"column {shorten(name)!r} {said}", fix,
                )
            )  # fmt: skip
    missing = [name for name in COLUMNS if name not in header]
    if missing:
        problems.append(
            Problem(
                file, 1, 1, Code.HOSTS_COLUMNS, "", "", f"no column {', '.join(missing)}",
                "write the header " + ",".join(COLUMNS),
            )
        )  # fmt: skip
    return problems


def _row_problems(
    line: str, number: int, header: list[str], file: str, *, last: bool
) -> list[Problem]:
    if not line.strip():
        # The newline that ends the file leaves an empty last line: that is how text files end.
        if last:
            return []
        return [
            Problem(file, number, 1, Code.HOSTS_TEXT, "", "", "an empty line", "remove the line")
        ]
    cells = line.split(",")
    if len(cells) != len(header):
        message = f"{len(cells)} cells where the header names {len(header)}"
        return [
            Problem(
                file, number, 1, Code.HOSTS_COLUMNS, "", shorten(line), message,
                f"write {','.join(header)}, without quotes and without commas inside a cell",
            )
        ]  # fmt: skip
    problems = []
    for name, cell in zip(header, cells, strict=True):
        if re.fullmatch(COLUMNS[name].pattern, cell) is None:
            problems.append(_cell_problem(line, number, header, file, name, cell))
    return problems


def _cell_problem(
    line: str, number: int, header: list[str], file: str, name: str, cell: str
) -> Problem:
    column = COLUMNS[name]
    tidy = cell.strip().strip('"').replace("-", ":" if name == "mac" else "-")
    tidy = tidy.lower() if name != "serial" else tidy
    fix = f"write {column.meaning}, such as {column.example}"
    if tidy != cell and re.fullmatch(column.pattern, tidy):
        fix = f"write {tidy}"
    message = f"{name} {shorten(cell)!r} is not {column.meaning}"
    at = cell_column(line, header, name)
    return Problem(file, number, at, Code.HOSTS_CELL, name, shorten(cell), message, fix)
