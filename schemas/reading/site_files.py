"""The files below sites/ and of the catalogue, as bytes, opened here alone: which there are, why
one cannot be had. No link is followed, as contents may be shown; nothing without an end is read."""

import errno
import functools
import os
from fnmatch import fnmatchcase
from pathlib import Path

from schemas.kubernetes.masking import shorten
from schemas.model.texts import words
from schemas.reading.bounded import read_regular
from schemas.reading.tree import LINK, Folder, Refused, Tree

MAX_BYTES = 4 * 1024 * 1024
"""Size of any file below sites/, at most."""
MAX_FILES = 500
"""Files that one pattern may name."""
SITE_FILE, HOST_LIST = ".yaml", ".hosts.csv"
_SITE_ENDINGS = (SITE_FILE, HOST_LIST, ".yml")


def names_in(folder: Folder) -> list[str]:
    """The names of the sites that a folder has a file of, sorted; hidden files are editors'."""
    shown = _visible(folder)
    ended = ((name, each) for name in shown for each in _SITE_ENDINGS if name.endswith(each))
    return sorted({name.removesuffix(ending) for name, ending in ended})


def _visible(folder: Folder) -> list[str]:
    """The names in a folder, but for hidden ones; none where it cannot be read."""
    try:
        return [each.name for each in folder.iterdir() if not each.name.startswith(".")]
    except OSError:
        return []


def has_site(folder: Folder, name: str) -> bool:
    """True if a folder has the file of a site, by the rule of ``names_in``, without listing it."""
    if not name or "/" in name or name.startswith("."):
        return False
    files = (folder / f"{name}{ending}" for ending in _SITE_ENDINGS)
    # A link is there too, and is a problem.
    return any(
        os.path.lexists(file)
        if isinstance(file, Path)
        else file.is_dir() or file.read() is not None
        for file in files
    )


def matching(folder: Folder, pattern: str) -> list[str]:
    """The paths of the files that a pattern names, sorted: ``*`` is any text within its last part.
    A path without one is itself, also where there is no such file."""
    if "*" not in pattern:
        return [pattern]
    parent, _, last = pattern.rpartition("/")
    names = (name for name in _visible(folder / parent) if fnmatchcase(name, last))
    return sorted(f"{parent}/{name}" for name in names)


def read(folder: Folder, path: str, shown: str = "sites") -> bytes | Refused:
    """The bytes of a file below ``folder``, which is ``shown`` in what a person gets to read."""
    if isinstance(folder, Tree):
        data = (folder / path).read()
        if data is None and (folder / path).is_dir():
            return _unreadable(_shown(shown, path), "is a folder", "put a file there")
        return _missing(shown, path) if data is None else data
    at, target = _shown(shown, path), folder
    try:
        for part in path.split("/"):
            target /= part
            if target.is_symlink():
                return _unreadable(at, LINK, "put the file itself there")
        return read_regular(target, MAX_BYTES, links=False)
    except (FileNotFoundError, NotADirectoryError):
        return _missing(shown, path)
    except OSError as error:
        return _refusal(at, error)


def _shown(folder: str, path: str) -> str:
    return f"{folder}/{shorten(path, 200)}"


@functools.lru_cache(maxsize=256)  # such as the files of a catalogue of one's own, at each site
def _missing(folder: str, path: str) -> Refused:
    return Refused(*words("file-missing", _shown(folder, path)))


def _refusal(at: str, error: OSError) -> Refused:
    why = error.strerror or str(error)
    if error.errno == errno.EFBIG:
        return Refused(*words("file-too-large", at, why))
    if error.errno in (errno.EINVAL, errno.EISDIR):
        return _unreadable(at, f"is {why}", "put a file there")
    return _unreadable(at, f"cannot be read: {why}", "make it a file that you may read")


def too_large(at: str, size: int) -> Refused | None:
    """The reason why a file of ``size`` bytes is not read; None where it is."""
    if size <= MAX_BYTES:
        return None
    return Refused(*words("file-too-large", at, f"{size} bytes, more than {MAX_BYTES}"))


def _unreadable(at: str, what: str, fix: str) -> Refused:
    return Refused(*words("file-unreadable", at, what, fix))
