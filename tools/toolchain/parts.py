"""The table of parts, read from tools/versions.toml: the one place that holds a version."""

import hashlib
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tools.toolchain.console import ToolchainError
from tools.toolchain.version import Fits, Version

TOOLS = Path(__file__).resolve().parent.parent
VERSIONS = TOOLS / "versions.toml"
GROUPS = (
    "pulumi", "controlplane", "newest", "cluster-api", "scheduling", "remediation", "snapshots",
    "given", "schedulers", "metal3", "pivot", "management", "engines", "objectstore", "rivals",
)  # fmt: skip
OPTIONAL = ("schedulers", "metal3", "pivot", "management", "engines", "objectstore", "rivals")
"""Made ready only where they are named: long proofs and measurements alone run them."""
_SOURCES = ("go.mod", "go.sum", "main.go")
_OF_COPY = ("from", "module", "file", "to")


@dataclass(frozen=True, slots=True)
class Copy:
    """A file of a Go module that a build needs (``build``) or installs next to it (``install``)."""

    module_dir: str
    module: str
    file: str
    to: str


@dataclass(frozen=True, slots=True)
class Part:
    """One executable: how to recognise it where it is installed, and how to build it."""

    name: str
    version: Version
    installed: Version
    group: str
    fits: Fits
    probe: tuple[str, ...]
    minutes: float
    module_dir: str
    package: str
    ldflags: tuple[str, ...]
    copies: tuple[Copy, ...]

    def accepts(self, found: Version) -> bool:
        """True if an installed ``found`` is used in place of a build."""
        return self.fits.accepts(found, self.installed)


def _part(name: str, row: Mapping[str, Any]) -> Part:
    version = Version.parse(row["version"])
    return Part(
        name=name,
        version=version,
        installed=Version.parse(row.get("installed", row["version"])),
        group=row["group"],
        fits=Fits(row["fits"]),
        probe=tuple(row.get("probe", ())),
        minutes=float(row["minutes"]),
        module_dir=row["module"],
        package=row["package"],
        ldflags=("-s -w", *(flag.format(version=version) for flag in row.get("ldflags", ()))),
        copies=tuple(Copy(*(each[key] for key in _OF_COPY)) for each in row.get("copies", ())),
    )


@cache
def table() -> Mapping[str, Any]:
    """The content of tools/versions.toml."""
    return tomllib.loads(VERSIONS.read_text(encoding="utf-8"))


@cache
def parts() -> Mapping[str, Part]:
    """Every part that can be built, by its name, quick ones first; the other rows are given
    executables (installed.py) and release archives (archives.py)."""
    return {name: _part(name, row) for name, row in table().items() if "module" in row}


def in_groups(groups: Iterable[str]) -> tuple[Part, ...]:
    """The parts of ``groups`` (see GROUPS), in the table's order. Raises ToolchainError."""
    wanted = set(groups)
    if unknown := wanted - set(GROUPS):
        raise ToolchainError(f"unknown: {', '.join(sorted(unknown))}", f"name one of {GROUPS}")
    return tuple(part for part in parts().values() if part.group in wanted)


def sources(module_dir: str, tools: Path = TOOLS) -> tuple[Path, ...]:
    """The committed files of a Go module: its pins and, if it has one, its main.go."""
    return tuple(path for name in _SOURCES if (path := tools / module_dir / name).exists())


def cache_key(part: Part, platform: str, tools: Path = TOOLS) -> str:
    """The folder name of a build: changes with everything that could change the executable."""
    digest = hashlib.sha256(repr((part.package, part.ldflags, part.copies)).encode())
    for module_dir in dict.fromkeys([part.module_dir, *(copy.module_dir for copy in part.copies)]):
        for path in sources(module_dir, tools):
            digest.update(f"\0{module_dir}/{path.name}\0".encode() + path.read_bytes())
    return f"{part.name}-{part.version}-{platform}-{digest.hexdigest()[:12]}"
