"""Waiting for what comes true some time later."""

import time
from collections.abc import Callable


def until(done: Callable[[], object], seconds: float = 120.0, pause: float = 0.1) -> None:
    """Wait until ``done`` returns what is true; fails where it does not in time."""
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end, "it did not come to that in time"
        time.sleep(pause)
