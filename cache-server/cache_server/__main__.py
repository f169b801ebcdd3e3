"""The command ``cache-server``."""

import asyncio
import logging
import resource
import sys

from cache_server.refusals import StartError
from cache_server.server import serve
from cache_server.settings import check, read


def main(arguments: list[str]) -> int:
    """Serve until a signal comes; 0, or 2 with one line where the server cannot start, or 1 where
    the index was found to be broken: the next start begins a new one."""
    logging.basicConfig(
        level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    # Each Envoy keeps connections of its own, and each object that is sent is an open file.
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    try:
        settings = read(arguments)
        check(settings)
        good = asyncio.run(serve(settings))
    except StartError as error:
        sys.stderr.write(f"cache-server: {error}\n")
        return 2
    return 0 if good else 1


def run() -> None:
    """The entry point that the package installs."""
    sys.exit(main(sys.argv[1:]))


if __name__ == "__main__":
    run()
