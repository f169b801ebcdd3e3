"""The web pages of the files of a change, to which reports link."""

from typing import NamedTuple
from urllib.parse import quote


class Forge(NamedTuple):
    """The web pages of the files of both sides: the address before a path, empty if unknown."""

    base: str = ""
    head: str = ""

    def link(self, file: str, line: int, gone: bool = False) -> str:
        """The page of a line, on the earlier side where what stood there is gone."""
        start = self.base if gone else self.head
        return f"{start}{quote(file)}{f'#L{line}' if line else ''}" if start else ""


NO_FORGE = Forge()
