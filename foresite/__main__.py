"""The command's entry, for ``foresite`` and ``python -m foresite``."""

import gc
import sys


def run() -> int:
    """Run the command line in a process of its own."""
    gc.disable()  # a command is over before there is garbage worth looking for
    from foresite.cli import main

    return main()


if __name__ == "__main__":
    sys.exit(run())
