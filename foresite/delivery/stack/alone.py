"""One ``foresite up`` of a site at a time on a machine: from its first look to its last word.

Pulumi locks a stack only while it writes. Two runs that both looked before would judge the same
clusters, and the second would judge what the first is just making.
"""

import contextlib
import fcntl
import os
from collections.abc import Iterator

from foresite.command import UsageError
from foresite.delivery.stack.engine import Engine


@contextlib.contextmanager
def lock_site(engine: Engine) -> Iterator[None]:
    """Hold a site for the block; the kernel lets go of it however the process ends.

    Raises UsageError, which says who holds it.
    """
    engine.notes.mkdir(parents=True, exist_ok=True)
    path = engine.notes / f"{engine.stack}.lock"
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            pid = os.read(handle, 20).decode(errors="replace").strip()
            raise UsageError(
                f"another run works on {engine.stack}: process {pid or 'unknown'}; nothing was "
                "changed; wait until it is over, or end it with Ctrl-C"
            ) from None
        os.truncate(handle, 0)
        os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(handle)
