"""Files of a folder or an S3 prefix, read through the site's object cache.

Needs pfio 2.10, and nothing of Foresite. Without the variable CACHE_URL it reads the files where
they are, so the same program runs on a laptop.
"""

import os
from collections.abc import Sequence

import pfio.v2
from pfio.v2.fs import FS


def open_files(url: str) -> FS:
    """The files below ``url``, such as ``s3://bucket/train/`` or a folder."""
    return pfio.v2.from_url(url, http_cache=os.environ.get("CACHE_URL"))


def names_of(url: str) -> list[str]:
    """The names of all files below ``url``, in one order for all workers."""
    with pfio.v2.from_url(url) as files:
        return sorted(name for name in files.list(recursive=True) if not name.endswith("/"))


class CachedFiles:
    """The contents of files by number, as a map-style dataset.

    Each process opens the files for itself when it reads the first: workers of a loader that are
    forked must not share connections, and those that are spawned get a copy of this object.
    """

    def __init__(self, url: str, names: Sequence[str]) -> None:
        self.url, self.names = url, list(names)
        self._files: FS | None = None
        self._process = 0

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, number: int) -> bytes:
        if self._files is None or self._process != os.getpid():
            self._files, self._process = open_files(self.url), os.getpid()
        # Always "rb": a text file would come back as bytes from the cache, and as text from S3.
        with self._files.open(self.names[number], "rb") as file:
            content: bytes = file.read()
        return content

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_files": None, "_process": 0}
