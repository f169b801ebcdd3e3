"""Faults in the text of a table: encoding, separators, header, as spreadsheets write them. What a
cell may hold belongs to schemas/reading/host_list.py."""

from schemas.kubernetes.masking import shorten
from schemas.model.problem import Problem, problem_at
from schemas.model.texts import Words, nearest, words

MAX_BYTES = 4 * 1024 * 1024
"""Size of a table at most; 4,000 hosts take 400 kB."""
_MOST_COLUMNS = 256
"""Cells of a header at most; NICs and networks of a host take 1 each."""


class _Refusal(Exception):
    """The reason why a text is no table, and where it shows."""

    def __init__(self, said: Words, line: int = 1, column: int = 1) -> None:
        super().__init__(said.message)
        self.said, self.at = said, (line, column)


def table_lines(data: bytes, file: str, most: int, header: str) -> tuple[list[str], list[Problem]]:
    """The lines of a table, or the problems of its text; ``most`` lines may follow the header."""
    try:
        text = _text(data)
        if not text.strip():
            raise _Refusal(words("hosts-empty", header))
        lines = text.removesuffix("\n").split("\n")
        if len(lines) > most + 1:
            raise _Refusal(words("hosts-too-many", len(lines) - 1, most), most + 2)
    except _Refusal as refusal:
        return [], [problem_at(file, refusal.at, refusal.said)]
    return lines, []


def _text(data: bytes) -> str:
    """The text of a table, its lines ended by line feeds alone."""
    if len(data) > MAX_BYTES:
        raise _Refusal(words("hosts-too-large", len(data), MAX_BYTES))
    try:
        text = data.decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        good = data[: error.start].decode("utf-8")
        place = good.count("\n") + 1, len(good) - good.rfind("\n")
        raise _Refusal(words("hosts-not-utf8"), *place) from None
    if text.startswith("\ufeff") or "\0" in text:
        what = "starts with a byte order mark" if text[0] == "\ufeff" else "holds zero bytes"
        raise _Refusal(words("hosts-encoding", what))
    alone = text.find("\r")
    if alone >= 0:
        place = text.count("\n", 0, alone) + 1, alone - text.rfind("\n", 0, alone)
        raise _Refusal(words("hosts-carriage-return"), *place)
    return text


def header_problems(line: str, file: str, columns: list[str], optional: list[str]) -> list[Problem]:
    """Every problem of the line that names the columns."""
    names = line.split(",")
    other = sum(name not in optional for name in names[:_MOST_COLUMNS])
    if not {*names} & {*columns} or other > 2 * len(columns) or len(names) > _MOST_COLUMNS:
        column, said = _no_header(line, columns)
        return [problem_at(file, (1, column), said, value=line)]
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
            said = words("column-unfit", message, fix)
            problems.append(problem_at(file, (1, at), said, value=name))
        at += len(name) + 1
    if missing:
        said = words("column-missing", ", ".join(missing), ",".join(columns))
        problems.append(problem_at(file, (1, 1), said))
    return problems


def _no_header(line: str, columns: list[str]) -> tuple[int, Words]:
    """The fault of a first line that does not hold the names of columns."""
    for separator, name in ((";", "semicolons"), ("\t", "tabs")):
        cells = {cell.strip('" ') for cell in line.split(separator)}
        if cells & set(columns) or line.lower() == f"sep={separator}":
            return max(line.find(separator), 0) + 1, words("hosts-separator", name)
    if '"' in line:
        return line.index('"') + 1, words("hosts-quotes")
    return 1, words("hosts-header-missing", ",".join(columns))
