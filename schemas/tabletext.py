"""What is wrong with the text of a table: its encoding, its separators, its header.

Knows what spreadsheets write when they save one. What a cell may hold belongs to
schemas/hostlist.py.
"""

from schemas.codes import Code
from schemas.nearest import nearest
from schemas.problem import Problem, shorten

MAX_BYTES = 4 * 1024 * 1024
"""Size of a table at most; 4,000 hosts take 400 kB."""
_AS_TEXT = "save it as UTF-8 text with commas between the cells (CSV UTF-8), without a mark"


def table_lines(
    data: bytes, file: str, most: int, header: str
) -> tuple[list[str], list[Problem]]:
    """The lines of a table, or the problems of its text; ``most`` lines may follow the header."""

    def refuse(message: str, fix: str, line: int = 1, column: int = 1) -> list[Problem]:
        return [Problem(file, line, column, Code.HOSTS_TEXT, "", "", message, fix)]

    if len(data) > MAX_BYTES:
        return [], refuse(f"the list has {len(data)} bytes", f"keep it under {MAX_BYTES} bytes")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        good = data[: error.start].decode("utf-8")
        line, column = good.count("\n") + 1, len(good) - good.rfind("\n")
        return [], refuse("the file is not UTF-8 text", _AS_TEXT, line, column)
    if text.startswith("\ufeff") or "\0" in text:
        what = "starts with a byte order mark" if text[0] == "\ufeff" else "holds zero bytes"
        return [], refuse(f"the file {what}", _AS_TEXT)
    if not text.strip():
        return [], refuse("the list is empty", f"start with the line {header}")
    text = text.replace("\r\n", "\n")
    if "\r" in text:
        line = text.count("\n", 0, text.index("\r")) + 1
        column = text.index("\r") - text.rfind("\n", 0, text.index("\r"))
        fix = "end each line with a line feed"
        return [], refuse("a carriage return alone ends no line", fix, line, column)
    lines = text.removesuffix("\n").split("\n")
    if len(lines) > most + 1:
        fix = f"keep it under {most} lines; a larger site is two clusters"
        return [], refuse(f"the list has {len(lines) - 1} lines below its header", fix, most + 2)
    return lines, []


def header_problems(line: str, file: str, columns: list[str]) -> list[Problem]:
    """Every problem of the line that names the columns."""
    names = line.split(",")
    whole = ",".join(columns)
    if not set(names) & set(columns) or len(names) > 2 * len(columns):
        code, column, message, fix = _no_header(line, columns)
        return [Problem(file, 1, column, code, "", shorten(line), message, fix)]
    problems = []
    missing = [name for name in columns if name not in names]
    at = 1
    for number, name in enumerate(names):
        known = name in columns
        if not known or name in names[:number]:
            near = None if known else nearest(name.strip("\"' "), missing)
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
    """What stands in the first line in place of the names of columns."""
    for separator, name in ((";", "semicolons"), ("\t", "tabs")):
        cells = {cell.strip('" ') for cell in line.split(separator)}
        if cells & set(columns) or line.lower().startswith("sep="):
            at = max(line.find(separator), 0) + 1
            return Code.HOSTS_TEXT, at, f"{name} separate the cells", "save it with commas instead"
    if '"' in line:
        fix = "save it without quotes, which no cell needs"
        return Code.HOSTS_TEXT, line.index('"') + 1, "the cells are in quotes", fix
    message = "the first line does not name the columns"
    return Code.HOSTS_COLUMNS, 1, message, f"start with the line {','.join(columns)}"
