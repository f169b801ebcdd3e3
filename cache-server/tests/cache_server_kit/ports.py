"""A free port of the loopback that the system does not hand to clients meanwhile."""

import random
import socket

_LOWEST, _HIGHEST = 20_000, 32_767
"""Below the ports that Linux gives to clients."""


def free_port() -> int:
    """A port that nobody listens on; OSError where a thousand tries find none."""
    for _ in range(1000):
        port = random.randint(_LOWEST, _HIGHEST)
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise OSError(f"no free port between {_LOWEST} and {_HIGHEST}")
