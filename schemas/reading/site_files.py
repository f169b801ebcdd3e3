"""The files below sites/, as bytes: which there are, and why one cannot be had.

Nothing outside sites/ is read, whatever a link says, as what is read may be shown; nothing that has
no end is read either.
"""

import errno
import os
from pathlib import Path
from typing import NamedTuple

from schemas.kubernetes.masking import shorten
from schemas.model.codes import Code
from schemas.reading.bounded import read_regular

MAX_BYTES = 4 * 1024 * 1024
"""Size of any file below sites/, at most."""
SITE_FILE, HOST_LIST = ".yaml", ".hosts.csv"
_SITE_ENDINGS = (SITE_FILE, HOST_LIST, ".yml")


class Refused(NamedTuple):
    """The reason why a file cannot be had, and what to do about it."""

    code: Code
    message: str
    fix: str


def names_in(folder: Path) -> list[str]:
    """The names of the sites that a folder has a file of, sorted; hidden files are editors'."""
    try:
        files = [path.name for path in folder.iterdir()]
    except OSError:
        return []
    return sorted(
        {
            name.removesuffix(ending)
            for name in files
            for ending in _SITE_ENDINGS
            if name.endswith(ending) and not name.startswith(".")
        }
    )


def has_site(folder: Path, name: str) -> bool:
    """True if a folder has the file of a site, by the rule of ``names_in``, without listing it."""
    if not name or "/" in name or name.startswith("."):
        return False
    files = (folder / f"{name}{ending}" for ending in _SITE_ENDINGS)
    # A link that leads nowhere is there too, and is a problem.
    return any(os.path.lexists(file) for file in files)


def read(folder: Path, path: str, shown: str = "sites") -> bytes | Refused:
    """The bytes of a file below ``folder``, which is ``shown`` in what a person gets to read."""
    target, name = folder / path, f"{shown}/{shorten(path, 200)}"
    try:
        real = target.resolve(strict=True)
        if not real.is_relative_to(folder.resolve()):
            message, fix = f"{name} leads out of {shown}/", "put the file itself there, not a link"
            return Refused(Code.FILE_UNREADABLE, message, fix)
        return read_regular(real, MAX_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        what = "is a link to a file that is not there" if target.is_symlink() else "is not there"
        return Refused(Code.FILE_MISSING, f"{name} {what}", "add the file")
    except (OSError, RuntimeError) as error:  # RuntimeError: a link that leads to itself
        return _refusal(name, error)


def _refusal(name: str, error: OSError | RuntimeError) -> Refused:
    why = getattr(error, "strerror", None) or "the link leads to itself"
    number = getattr(error, "errno", None)
    if number == errno.EFBIG:
        fix = "leave out what the site does not need"
        return Refused(Code.FILE_TOO_LARGE, f"{name} has {why}", fix)
    if number in (errno.EINVAL, errno.EISDIR):
        return Refused(Code.FILE_UNREADABLE, f"{name} is {why}", "put a file there")
    fix = "make it a file that you may read"
    return Refused(Code.FILE_UNREADABLE, f"{name} cannot be read: {why}", fix)
