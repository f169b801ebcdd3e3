"""``foresite completion``: the lines that teach a shell to complete what is typed."""

import argparse

from foresite.command import OK, show


def run(options: argparse.Namespace) -> int:
    """Print the lines for one shell."""
    from argcomplete.shell_integration import shellcode

    show(shellcode(["foresite"], shell=options.shell))
    return OK
