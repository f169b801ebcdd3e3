"""Programs that a test needs: it is skipped, with the reason, where one is not to be had."""

from collections.abc import Callable
from typing import TypeVar

import pytest

from tools.toolchain import ToolchainError

T = TypeVar("T")


def or_skip(find: Callable[..., T], *arguments: object) -> T:
    """What ``find`` returns; the test is skipped where that raises ToolchainError."""
    try:
        return find(*arguments)
    except ToolchainError as error:
        pytest.skip(str(error))
