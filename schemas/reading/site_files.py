"""The files below sites/, as bytes: which there are, and why one cannot be had.

The only place that opens a file of a repository. Nothing outside sites/ is read, whatever a link
says, as what is read may be shown; nothing that has no end is read either.
"""

import os
from pathlib import Path
from typing import NamedTuple

from schemas.kubernetes.masking import shorten
from schemas.model.codes import Code

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


def read(folder: Path, path: str) -> bytes | Refused:
    """The bytes of a file below ``folder``, which is sites/ in what a person gets to read."""
    target = folder / path
    try:
        real = target.resolve(strict=True)
        if not real.is_relative_to(folder.resolve()):
            return _unreadable(path, "leads out of sites/", "put the file itself there, not a link")
        if not real.is_file():
            kind = "a folder" if real.is_dir() else "no regular file"
            return _unreadable(path, f"is {kind}", "put a file there")
        size = real.stat().st_size
        if size > MAX_BYTES:
            message = f"sites/{shorten(path, 200)} has {size} bytes, more than {MAX_BYTES}"
            return Refused(Code.FILE_TOO_LARGE, message, "leave out what the site does not need")
        return real.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        what = "is a link to a file that is not there" if target.is_symlink() else "is not there"
        return Refused(Code.FILE_MISSING, f"sites/{shorten(path, 200)} {what}", "add the file")
    except (OSError, RuntimeError) as error:  # RuntimeError: a link that leads to itself
        why = getattr(error, "strerror", None) or "the link leads to itself"
        return _unreadable(path, f"cannot be read: {why}", "make it a file that you may read")


def _unreadable(path: str, what: str, fix: str) -> Refused:
    return Refused(Code.FILE_UNREADABLE, f"sites/{shorten(path, 200)} {what}", fix)
