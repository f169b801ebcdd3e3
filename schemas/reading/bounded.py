"""Files and JSON that nobody vouches for: read up to a bound, and never from what has no end."""

import errno
import json
import os
import stat
from pathlib import Path
from typing import Any


class UnfitFileError(OSError):
    """A file is too large (EFBIG), or may have no end, as a FIFO or a device (EINVAL)."""


def read_regular(path: Path, most: int, *, links: bool = True) -> bytes:
    """The bytes of a regular file. Raises UnfitFileError where it is none or has more than ``most``
    bytes, and OSError where it cannot be opened, as a folder, or a link without ``links``."""
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if links else os.O_NOFOLLOW)
    handle = os.open(path, flags)
    try:
        told = os.fstat(handle)
        if stat.S_ISDIR(told.st_mode):
            raise IsADirectoryError(errno.EISDIR, "a folder", str(path))
        if not stat.S_ISREG(told.st_mode):
            raise UnfitFileError(errno.EINVAL, "not a regular file", str(path))
        if told.st_size > most:
            raise UnfitFileError(errno.EFBIG, f"{told.st_size} bytes, more than {most}", str(path))
        with open(handle, "rb", closefd=False) as file:
            return file.read(told.st_size)
    finally:
        os.close(handle)


def parse_json(text: str | bytes) -> Any:
    """The value of a JSON text. Raises ValueError for all that is none, however deep it is."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("nested too deep") from None
