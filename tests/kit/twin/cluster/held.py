"""Ports of the loopback that are kept from a program which would listen on every interface."""

import contextlib
import errno
import socket
from collections.abc import Iterable, Iterator


@contextlib.contextmanager
def hold_ports(ports: Iterable[int]) -> Iterator[None]:
    """Listen on ``ports`` of the loopback, so that nobody can on all interfaces.

    Several of us may hold a port at once. One that somebody else listens on is held already.
    """
    with contextlib.ExitStack() as stack:
        for port in sorted(set(ports)):
            if listener := _listener(port):
                stack.enter_context(listener)
        yield


def _listener(port: int) -> socket.socket | None:
    """A socket that listens on ``port``, or None where another program's does."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        listener.bind(("127.0.0.1", port))
        listener.listen()
    except OSError as error:
        listener.close()
        if error.errno == errno.EADDRINUSE:
            return None
        raise
    return listener
