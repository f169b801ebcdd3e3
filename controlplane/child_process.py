"""Processes that do not outlive us, however we end."""

import shutil
from collections.abc import Sequence
from pathlib import Path


def tie_to_parent(command: Sequence[str | Path]) -> list[str | Path]:
    """``command`` so that the kernel kills its process when the thread that starts it ends
    (PR_SET_PDEATHSIG of Linux, prctl(2)), as a killed test cannot clean up: start it from a thread
    that lives as long as the process is wanted. Without ``setpriv`` (util-linux) it stays."""
    if shutil.which("setpriv") is None:
        return list(command)
    return ["setpriv", "--pdeathsig", "KILL", "--", *command]
