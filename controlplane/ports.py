"""Free ports for a server that keeps its port for days."""

import contextlib
import random
import socket
from pathlib import Path

from controlplane.errors import ControlPlaneError

LOWEST, HIGHEST = 20_000, 32_767
_EPHEMERAL = Path("/proc/sys/net/ipv4/ip_local_port_range")
_TRIES = 200


def is_free(port: int) -> bool:
    """True if a server could listen on ``port`` of the loopback now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # As servers do: a port whose last connection is still winding down counts as free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def free_port(preferred: int | None = None) -> int:
    """``preferred`` if it is free, else a free port outside the ephemeral range, of which one may
    be some client's by the next start."""
    if preferred is not None and is_free(preferred):
        return preferred
    highest = HIGHEST
    with contextlib.suppress(OSError, ValueError, IndexError):
        highest = min(HIGHEST, int(_EPHEMERAL.read_text().split()[0]) - 1)
    for _ in range(_TRIES):
        port = random.randint(LOWEST, max(highest, LOWEST + 1_000))
        if is_free(port):
            return port
    fix = "end a server that listens there (`ss -ltn` lists them)"
    raise ControlPlaneError(f"no free port between {LOWEST} and {highest} on 127.0.0.1", fix)
