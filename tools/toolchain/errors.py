"""The one error of this package: something a person has to put right."""


class Fault(Exception):
    """Something that is wrong and what to do about it, with the last lines of an output."""

    def __init__(self, message: str, fix: str, details: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.fix = fix
        self.details = details

    def __str__(self) -> str:
        lines = [self.message]
        lines += [f"  | {line}" for line in self.details.splitlines()]
        return "\n".join([*lines, f"  what to do: {self.fix}"])


class ToolchainError(Fault):
    """A fault of the toolchain and what to do about it; ``details`` are lines of a failed tool's
    output."""
