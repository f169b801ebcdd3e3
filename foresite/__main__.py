"""The command's entry, for ``foresite`` and ``python -m foresite``."""

import gc
import os
import sys


def run() -> int:
    """Run the command line in a process of its own."""
    # A site is a hundred thousand values without a cycle: to look for cycles takes a quarter of the
    # time, and a command is over before there is garbage worth looking for.
    gc.disable()
    # To look for plugins is to read what all installed packages say of themselves.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    from foresite.cli import main

    return main()


if __name__ == "__main__":
    sys.exit(run())
