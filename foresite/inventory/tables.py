"""Hosts of a table: CSV of any separator, and spreadsheets (xlsx)."""

import csv
import io
import re
import zipfile
import zlib
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from foresite.command import UsageError, few
from foresite.inventory.records import MAX_FILE, Intake, Rules
from schemas.kubernetes.masking import shorten
from schemas.reading.bounded import read_regular

MAX_CSV, MAX_LINES, _TOP = 16 * 1024 * 1024, 100_000, 65_536
"""Bytes and lines of a CSV file, at most, and its first letters, which say what separates cells."""
MAX_UNPACKED = 128 * 1024 * 1024
"""Bytes that a spreadsheet may unpack to."""
_FAR = re.compile(rb"""\br\s*=\s*["'](?:[A-Z]{3}|[A-Z]*[0-9]{5})""")
"""A place of a cell that is far off: calamine makes room for all cells before it, and aborts."""
_BOOK, _ZIPPED = "xl/workbook.xml", {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}
"""The part that makes a file an xlsx, and the ways in which its parts are packed."""
_ABOVE = 20
"""Lines in which the headings are looked for: titles stand above them."""

Table = tuple[str, Sequence[Sequence[Any]]]
"""The name of a file and sheet, and its rows."""


def read_csv(path: Path) -> Table:
    """A CSV file; its first lines say what separates the cells. Raises UsageError."""
    try:
        text = read_regular(path, MAX_CSV).decode("utf-8-sig")
        separator = max(",;\t", key="".join(text[:_TOP].splitlines()[:_ABOVE]).count)
        lines = csv.reader(io.StringIO(text), delimiter=separator)
        rows = list(islice(lines, MAX_LINES + 1))
        if len(rows) > MAX_LINES:
            raise UsageError(f"{path}: more than {MAX_LINES} lines; copy those of one site")
        return str(path), rows
    except (UnicodeDecodeError, csv.Error) as error:
        raise UsageError(f"{path}: {error}; save it as CSV UTF-8") from None


def read_sheet(path: Path, sheet: str) -> Table:
    """A sheet of a spreadsheet: of formulas their saved values. Raises UsageError."""
    data = io.BytesIO(read_regular(path, MAX_FILE))
    try:
        from python_calamine import CalamineError, CalamineWorkbook
    except ImportError:
        raise UsageError("install what reads it: pip install 'foresite[inventory]'") from None
    try:
        parts = zipfile.ZipFile(data).infolist()
        packed = {each.compress_type for each in parts}
        if packed - _ZIPPED or _BOOK not in [each.filename for each in parts]:
            raise UsageError(f"{path} is no xlsx; save it as an Excel workbook")
        if sum(each.file_size for each in parts) > MAX_UNPACKED:
            raise UsageError(f"{path} unpacks to more than {MAX_UNPACKED} bytes")
        if any(_FAR.search(zipfile.ZipFile(data).read(each)) for each in parts):
            raise UsageError(f"{path} has cells beyond column ZZ or line 9999; copy what is needed")
        data.seek(0)
        book = CalamineWorkbook.from_filelike(data)
        sheets = book.sheets_metadata
        seen = [each.name for each in sheets if str(each.visible).endswith(".Visible")]
        if sheet not in seen and (sheet or len(seen) != 1):
            names = few(seen, 10) or "none that is visible"
            raise UsageError(f"{path}: say --sheet, one of {names}")
        name = sheet or seen[0]
        rows = book.get_sheet_by_name(name).to_python(skip_empty_area=False)
    except (CalamineError, zipfile.BadZipFile, zlib.error, RuntimeError) as error:
        raise UsageError(f"{path} is no xlsx: {shorten(str(error), 200)}") from None
    return f"{path} {name}", rows


def read_rows(table: Table, rules: Rules) -> Intake:
    """The hosts of a table, below the line of its headings. Raises UsageError where it has none."""
    (name, lines), intake = table, Intake(rules)
    known = {_bare(heading): heading for each in rules.columns.values() for heading in each}
    tops = [[known.get(_bare(each), "") for each in cells] for cells in lines[:_ABOVE]]
    top = next((at for at, each in enumerate(tops) if len({*each} - {""}) > 1), None)
    if top is None:
        names = few(sorted(known.values()), 100)
        raise UsageError(f"{name}: no line has two headings of {names}; say yours in --map")
    twice = sorted({each for each in tops[top] if each and tops[top].count(each) > 1})
    if twice:
        raise UsageError(f"{name}:{top + 1}: {few(twice, 5)} stands twice as a heading")
    for number, row in enumerate(lines[top + 1 :], start=top + 2):
        if any(str(cell).strip() for cell in row):
            place = f"{name}:{number}"
            intake.add(place, place, dict(zip(tops[top], row, strict=False)))
    return intake


def _bare(heading: object) -> str:
    return "".join(filter(str.isalnum, str(heading).casefold()))
