"""The cache of builds: a folder outside the checkout, filled whole or not at all."""

import errno
import fcntl
import os
import platform
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tools.toolchain.console import ToolchainError


def cache_directory(environ: Mapping[str, str] = os.environ) -> Path:
    """``$FORESITE_CACHE``, else ``foresite`` in ``$XDG_CACHE_HOME`` or in ``~/.cache``."""
    if own := environ.get("FORESITE_CACHE"):
        return Path(own).expanduser().absolute()
    base = environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache").absolute() / "foresite"


def platform_tag() -> str:
    """This machine's system and processor: a home directory may be shared by several kinds."""
    return f"{platform.system()}-{platform.machine()}".lower()


@contextmanager
def hold_lock(
    name: str, on_wait: Callable[[], None] = lambda: None, cache: Path | None = None
) -> Iterator[None]:
    """Hold the lock ``name`` of a cache, by default ours; ``on_wait`` is called once if someone
    else has it now. The kernel drops it with the process, also of a killed build."""
    cache = cache or cache_directory()
    with writing(cache):
        folder = cache / "locks"
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder / name, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            on_wait()
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


@contextmanager
def filling(target: Path) -> Iterator[Path]:
    """A new folder that becomes ``target`` if the block succeeds, and is gone if it does not. Call
    it under a lock: what an earlier, killed run left of the same target is removed."""
    with writing(target.parent):
        target.parent.mkdir(parents=True, exist_ok=True)
        prefix = f".{target.name}."
        for leftover in target.parent.glob(f"{prefix}*"):
            shutil.rmtree(leftover, ignore_errors=True)
        folder = Path(tempfile.mkdtemp(prefix=prefix, dir=target.parent))
        try:
            yield folder
            folder.chmod(0o755)
            folder.rename(target)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def place(source: Path, target: Path) -> None:
    """Put an executable at another path too: as a hard link if possible, as they are large."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        target.hardlink_to(source)
    except OSError:
        shutil.copy2(source, target)


@contextmanager
def writing(place: Path) -> Iterator[None]:
    """Turn a full or unwritable disk into an error that says which and what to do."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            fix = "free some space there, or set FORESITE_CACHE to a folder on another disk"
            raise ToolchainError(f"the disk of {place} is full", fix) from error
        if isinstance(error, PermissionError | NotADirectoryError) or error.errno == errno.EROFS:
            fix = "set FORESITE_CACHE to a folder that you can write to"
            raise ToolchainError(f"cannot write to {place}: {error.strerror}", fix) from error
        raise
