"""Versions: reading them out of what tools print, and which of them fit together."""

import re
from enum import StrEnum
from typing import NamedTuple, Self

_VERSION = re.compile(r"(?<![\d.])v?(\d+)\.(\d+)\.(\d+)(?!\d|\.\d)")


class Version(NamedTuple):
    """A released version; what follows the patch number does not count."""

    major: int
    minor: int
    patch: int

    @classmethod
    def find(cls, text: str) -> Self | None:
        """The first version in ``text``, such as a tool's answer to ``--version``."""
        match = _VERSION.search(text)
        return cls(*map(int, match.groups())) if match else None

    @classmethod
    def parse(cls, text: str) -> Self:
        """The version that ``text`` starts with; raises ValueError where there is none."""
        match = _VERSION.match(text)
        if match is None:
            raise ValueError(f"not a version: {text!r}")
        return cls(*map(int, match.groups()))

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}"


class Fits(StrEnum):
    """The versions of an installed tool that will do in place of the pinned one."""

    MINOR = "minor"
    """The same minor: what is tried here is what that minor of Kubernetes or etcd does."""

    NEWER = "newer"
    """The same major, and the same minor or a newer one: an older engine lacks what SDKs ask."""

    EXACT = "exact"
    """This version only: an SDK of one version asks for the plugin of that version."""

    def accepts(self, found: Version, wanted: Version) -> bool:
        """True if ``found`` will do where ``wanted`` is pinned."""
        match self:
            case Fits.MINOR:
                return found[:2] == wanted[:2]
            case Fits.NEWER:
                return found.major == wanted.major and found.minor >= wanted.minor
            case Fits.EXACT:
                return found == wanted
