"""Processes that do not outlive us, however we end."""

import shutil
from collections.abc import Sequence
from pathlib import Path


def tie_to_parent(command: Sequence[str | Path]) -> list[str | Path]:
    """``command`` so that the kernel kills its process when the thread that starts it ends.

    A test that is killed cannot clean up. It is the thread that counts (PR_SET_PDEATHSIG of Linux,
    prctl(2)): start it from one that lives as long as the process is wanted. Where there is no
    ``setpriv`` (util-linux) the command stays as it is.
    """
    if shutil.which("setpriv") is None:
        return list(command)
    return ["setpriv", "--pdeathsig", "KILL", "--", *command]
