"""A network of one's own for a process and all that it starts: loopback alone, seen by nobody.

Linux's ``unshare`` makes it. A namespace of processes comes with it: when the first process ends,
however it ends, the kernel ends all others; and ``setpriv`` ends that one when we are gone.
"""

import fcntl
import json
import os
import shutil
import socket
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

_GET_FLAGS, _SET_FLAGS, _UP = 0x8913, 0x8914, 0x1
"""SIOCGIFFLAGS, SIOCSIFFLAGS and IFF_UP of Linux (netdevice(7))."""
_PROGRAMS = ("setpriv", "unshare")


def inside(command: list[str]) -> list[str]:
    """``command`` as it is run in a namespace of its own; who is not root becomes root there."""
    own_user = [] if os.geteuid() == 0 else ["--map-root-user"]
    isolated = ["--net", "--pid", "--mount-proc", "--fork", "--kill-child"]
    mortal = ["setpriv", "--pdeathsig", "KILL", "--"]
    return [*mortal, "unshare", *own_user, *isolated, "--", *command]


def why_not() -> str:
    """Why no such namespace can be had here; empty where it can."""
    if absent := [name for name in _PROGRAMS if shutil.which(name) is None]:
        return f"there is no {' and no '.join(absent)} (util-linux, Linux alone)"
    done = subprocess.run(inside(["true"]), capture_output=True, text=True, check=False)
    return f"no network namespace to be had: {done.stderr.strip()}" if done.returncode else ""


def raise_loopback() -> None:
    """Bring up the loopback, which is down in a new namespace; refuse to run outside of one."""
    others = [name for _, name in socket.if_nameindex() if name != "lo"]
    if others:
        raise RuntimeError(f"not in a namespace of its own: there are {', '.join(others)}")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle:
        request = struct.pack("16sh14x", b"lo", 0)
        (flags,) = struct.unpack("16xh14x", fcntl.ioctl(handle, _GET_FLAGS, request))
        fcntl.ioctl(handle, _SET_FLAGS, struct.pack("16sh14x", b"lo", flags | _UP))


def record(play: Callable[..., Any]) -> None:
    """Play, as a program in a namespace of its own, with the folder OUT of the command line and its
    further arguments; what ``play`` returns is written to ``result.json`` in OUT."""
    raise_loopback()
    out, *arguments = sys.argv[1:]
    seen = play(Path(out), *arguments)
    (Path(out) / "result.json").write_text(json.dumps(seen, indent=1), encoding="utf-8")
