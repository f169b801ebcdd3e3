"""Faults in the text of a table: its encoding, its separators, its header.

Knows what spreadsheets write when they save one. What a cell may hold belongs to
schemas/reading/host_list.py.
"""

from schemas.kubernetes.masking import shorten
from schemas.model.codes import Code
from schemas.model.nearest import nearest
from schemas.model.problem import Problem

MAX_BYTES = 4 * 1024 * 1024
"""Size of a table at most; 4,000 hosts take 400 kB."""
_MOST_COLUMNS = 256
"""Cells of a header at most; NICs and networks of a host take 1 each."""
_AS_TEXT = "save it as UTF-8 text with commas between the cells (CSV UTF-8), without a mark"


class _Refusal(Exception):
    """The reason why a text is no table, what to do, and where it shows."""

    def __init__(self, message: str, fix: str, line: int = 1, column: int = 1) -> None:
        super().__init__(message)
        self.at, self.said = (line, column), (message, fix)


def table_lines(data: bytes, file: str, most: int, header: str) -> tuple[list[str], list[Problem]]:
    """The lines of a table, or the problems of its text; ``most`` lines may follow the header."""
    try:
        text = _text(data)
        if not text.strip():
            raise _Refusal("the list is empty", f"start with the line {header}")
        lines = text.removesuffix("\n").split("\n")
        if len(lines) > most + 1:
            fix = f"keep it under {most} lines; a larger site is two clusters"
            raise _Refusal(f"the list has {len(lines) - 1} lines below its header", fix, most + 2)
    except _Refusal as refusal:
        return [], [Problem(file, *refusal.at, Code.HOSTS_TEXT, "", "", *refusal.said)]
    return lines, []


def _text(data: bytes) -> str:
    """The text of a table, its lines ended by line feeds alone."""
    if len(data) > MAX_BYTES:
        fix = f"keep it under {MAX_BYTES} bytes"
        raise _Refusal(f"the list has {len(data)} bytes", fix)
    try:
        text = data.decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        good = data[: error.start].decode("utf-8")
        place = good.count("\n") + 1, len(good) - good.rfind("\n")
        raise _Refusal("the file is not UTF-8 text", _AS_TEXT, *place) from None
    if text.startswith("\ufeff") or "\0" in text:
        what = "starts with a byte order mark" if text[0] == "\ufeff" else "holds zero bytes"
        raise _Refusal(f"the file {what}", _AS_TEXT)
    alone = text.find("\r")
    if alone >= 0:
        place = text.count("\n", 0, alone) + 1, alone - text.rfind("\n", 0, alone)
        fix = "end each line with a line feed"
        raise _Refusal("a carriage return alone ends no line", fix, *place)
    return text


def header_problems(line: str, file: str, columns: list[str], optional: list[str]) -> list[Problem]:
    """Every problem of the line that names the columns."""
    names = line.split(",")
    whole = ",".join(columns)
    other = sum(name not in optional for name in names[:_MOST_COLUMNS])
    if not {*names} & {*columns} or other > 2 * len(columns) or len(names) > _MOST_COLUMNS:
        code, column, message, fix = _no_header(line, columns)
        return [Problem(file, 1, column, code, "", shorten(line), message, fix)]
    problems = []
    missing = [name for name in columns if name not in names]
    at = 1
    for number, name in enumerate(names):
        known = name in columns or name in optional
        if not known or name in names[:number]:
            near = None if known else nearest(name.strip("\"' "), [*missing, *optional])
            missing = [each for each in missing if each != near]
            message = f"column {shorten(name)} " + ("stands twice" if known else "is unknown")
            message = message if name else "a column has no name"
            fix = f"write {near}" if near else "remove it, here and in each line"
            value = shorten(name)
            problems.append(Problem(file, 1, at, Code.HOSTS_COLUMNS, "", value, message, fix))
        at += len(name) + 1
    if missing:
        message = f"there is no column {', '.join(missing)}"
        fix = f"write the header {whole}, and each line so"
        problems.append(Problem(file, 1, 1, Code.HOSTS_COLUMNS, "", "", message, fix))
    return problems


def _no_header(line: str, columns: list[str]) -> tuple[Code, int, str, str]:
    """The fault of a first line that does not hold the names of columns."""
    for separator, name in ((";", "semicolons"), ("\t", "tabs")):
        cells = {cell.strip('" ') for cell in line.split(separator)}
        if cells & set(columns) or line.lower() == f"sep={separator}":
            at = max(line.find(separator), 0) + 1
            return Code.HOSTS_TEXT, at, f"{name} separate the cells", "save it with commas instead"
    if '"' in line:
        fix = "save it without quotes, which no cell needs"
        return Code.HOSTS_TEXT, line.index('"') + 1, "the cells are in quotes", fix
    message = "the first line does not name the columns"
    return Code.HOSTS_COLUMNS, 1, message, f"start with the line {','.join(columns)}"
