"""The errors of this package."""

from tools.toolchain import Fault


class ControlPlaneError(Fault):
    """A fault of the servers and what to do; ``details`` are the last lines of a log."""


class ApiError(Exception):
    """The API server refused a request; ``causes`` name the fields, one sentence each."""

    def __init__(self, status: int, reason: str, message: str, causes: tuple[str, ...]) -> None:
        super().__init__(f"{status} {reason}: {message}")
        self.status = status
        self.reason = reason
        self.message = message
        self.causes = causes
