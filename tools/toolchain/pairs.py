"""Python packages and executables that must go together; Pulumi itself only warns."""

from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, version

from tools.toolchain.console import ToolchainError
from tools.toolchain.installed import Tool
from tools.toolchain.parts import Part
from tools.toolchain.version import Fits, Version

# Executable, the Python package it serves, and which of its versions can serve it.
_PAIRS = (
    ("pulumi", "pulumi", Fits.NEWER),
    ("pulumi-resource-kubernetes", "pulumi-kubernetes", Fits.EXACT),
)


def check_pairs(wanted: Iterable[Part], tools: Mapping[str, Tool]) -> None:
    """Raise if an SDK and what it talks to differ; what is not built yet counts by its pin."""
    by_name = {part.name: part for part in wanted}
    for name, package, fits in _PAIRS:
        if name not in by_name:
            continue
        found = tools[name].version if name in tools else by_name[name].version
        mismatch(name, found, package, fits)


def mismatch(name: str, found: Version, package: str, fits: Fits) -> None:
    """Raise if executable ``name`` of version ``found`` cannot serve the SDK ``package``."""
    try:
        sdk = Version.parse(version(package))
    except PackageNotFoundError as error:
        message = f"the Python package {package} is not installed"
        raise ToolchainError(message, "run `uv sync`") from error
    if fits.accepts(found, sdk):
        return
    rule = "the same version" if fits is Fits.EXACT else f"{sdk.major}.{sdk.minor} or newer"
    raise ToolchainError(
        f"{name} {found} does not go with the Python package {package} {sdk}, which needs {rule}",
        f"run `uv sync --locked` for the pinned {package}; to change the version, change"
        f" pyproject.toml, [{name}] in tools/versions.toml and its go.mod together",
    )
