"""The executables that Foresite runs: found where they fit, else taken from pinned release
archives, else built from pinned Go modules.

Owns which versions those are (tools/versions.toml), where they are kept, and the environment in
which Pulumi is tried. What is done with the executables belongs to the callers.
"""

from tools.toolchain.cache import cache_directory
from tools.toolchain.console import Console, Fault, ToolchainError
from tools.toolchain.environment import environment
from tools.toolchain.installed import Origin, Tool, Tools
from tools.toolchain.parts import GROUPS, Part, parts
from tools.toolchain.provide import ensure, locate
from tools.toolchain.version import Fits, Version

__all__ = [
    "GROUPS", "Console", "Fault", "Fits", "Origin", "Part", "Tool", "ToolchainError", "Tools",
    "Version", "cache_directory", "ensure", "environment", "locate", "parts",
]  # fmt: skip
