"""What a rule says: a fault at a place in the data; where that is in a file, the loader knows."""

from dataclasses import dataclass

from schemas.codes import Code


@dataclass(frozen=True, slots=True)
class HostCell:
    """A place in the host list: a line, counting from 1, and the name of a column."""

    line: int
    column: str


@dataclass(frozen=True, slots=True)
class Finding:
    """A fault: its code, where it is (a path in the site file, or a cell of the host list), what
    is wrong, and what to write instead. ``key`` says that the place is a key, not its value."""

    code: Code
    place: tuple[str | int, ...] | HostCell
    message: str
    fix: str
    key: bool = False
