"""The errors of this package."""


class ControlPlaneError(Exception):
    """A fault of the servers and what to do; ``details`` are the last lines of a log."""

    def __init__(self, message: str, fix: str, details: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.fix = fix
        self.details = details

    def __str__(self) -> str:
        lines = [self.message]
        lines += [f"  | {line}" for line in self.details.splitlines()]
        return "\n".join([*lines, f"  what to do: {self.fix}"])


class ApiError(Exception):
    """The API server refused a request; ``causes`` name the fields, one sentence each."""

    def __init__(self, status: int, reason: str, message: str, causes: tuple[str, ...]) -> None:
        super().__init__(f"{status} {reason}: {message}")
        self.status = status
        self.reason = reason
        self.message = message
        self.causes = causes
