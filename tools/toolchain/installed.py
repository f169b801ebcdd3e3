"""Looks for fitting tools that are on the machine already; changes nothing there.

Some executables cannot be built here: their projects publish neither a Go module that builds them
nor a release. Pinned by their SHA-256, they are looked for in the cache, and else under ``bin`` of
$FORESITE_UPSTREAM, plain or packed by xz; what is found there is verified and kept in the cache, so
that every checkout of this machine has it.
"""

import hashlib
import lzma
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

from tools.toolchain.cache import cache_directory, filling, hold_lock, platform_tag, writing
from tools.toolchain.console import ToolchainError
from tools.toolchain.parts import TOOLS, Part, table
from tools.toolchain.version import Version

HOST = "pulumi-language-python"
HOST_SCRIPT = "pulumi-language-python-exec"
PLUGIN = "pulumi-resource-kubernetes"
_PROBE_SECONDS = 20


class Origin(StrEnum):
    """The origin of a tool."""

    INSTALLED = "installed"
    BUILT = "built"
    GIVEN = "given"
    DOWNLOADED = "downloaded"


@dataclass(frozen=True, slots=True)
class Tool:
    """An executable that can be run."""

    name: str
    version: Version
    path: Path
    origin: Origin


Tools: TypeAlias = dict[str, Tool]


def find_installed(
    part: Part, environ: Mapping[str, str] = os.environ, beside: Path | None = None
) -> Tool | None:
    """The first installed executable that fits ``part``, or None: by ``beside`` (the Pulumi CLI,
    for its parts), in PATH, in KUBEBUILDER_ASSETS; of the provider in Pulumi's own folders."""
    if part.name == PLUGIN:
        return _plugin(part, environ)
    for path in _candidates(part.name, environ, beside):
        if part.name == HOST and host_script(path, environ) is None:
            continue
        version = probe(path, part.probe, environ)
        if version and part.accepts(version):
            return Tool(part.name, version, path, Origin.INSTALLED)
    return None


def host_script(host: Path, environ: Mapping[str, str]) -> Path | None:
    """The script that the language host ``host`` starts: beside it, or on PATH."""
    beside = host.resolve().parent / HOST_SCRIPT
    if beside.exists():
        return beside
    on_path = shutil.which(HOST_SCRIPT, path=environ.get("PATH", ""))
    return Path(on_path) if on_path else None


def probe(path: Path, arguments: tuple[str, ...], environ: Mapping[str, str]) -> Version | None:
    """The version that an executable says it has; None if it cannot be run or does not say."""
    with tempfile.TemporaryDirectory() as home:
        # `pulumi version` writes into its home and asks the network for news unless told not to.
        env = {**environ, "PULUMI_HOME": home, "PULUMI_SKIP_UPDATE_CHECK": "true"}
        try:
            done = subprocess.run(
                [path, *arguments],
                env=env,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_PROBE_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
    return Version.find(done.stdout) if done.returncode == 0 else None


def _candidates(name: str, env: Mapping[str, str], beside: Path | None) -> Iterator[Path]:
    """Executables called ``name``, the likeliest first."""
    folders = [str(beside.resolve().parent)] if beside else []
    folders += [folder for folder in env.get("PATH", "").split(os.pathsep) if folder]
    folders += [assets] if (assets := env.get("KUBEBUILDER_ASSETS")) else []
    for folder in dict.fromkeys(folders):
        if found := shutil.which(name, path=folder):
            yield Path(found).absolute()


def _plugin(part: Part, env: Mapping[str, str]) -> Tool | None:
    """The provider as `pulumi plugin install` leaves it."""
    homes = [Path(own)] if (own := env.get("PULUMI_HOME")) else []
    if home := env.get("HOME"):
        homes.append(Path(home) / ".pulumi")
    for pulumi_home in homes:
        folder = pulumi_home / "plugins" / f"resource-kubernetes-v{part.version}"
        # Pulumi keeps a .partial file next to a plugin until it is there in full.
        if folder.with_name(f"{folder.name}.partial").exists():
            continue
        if found := shutil.which(PLUGIN, path=str(folder)):
            return Tool(part.name, part.version, Path(found).absolute(), Origin.INSTALLED)
    return None


_CHUNK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Given:
    """One such executable: what it is built from, and the digest that it must have."""

    name: str
    version: Version
    group: str
    sha256: str
    platform: str
    source: str
    commit: str

    @property
    def key(self) -> str:
        """The folder of the cache that it is kept in."""
        return f"{self.name}-{self.version}-{self.platform}-{self.sha256[:12]}"


@cache
def given_executables() -> Mapping[str, Given]:
    """Every given executable by its name, from tools/versions.toml: the rows with a digest."""
    rows = table().items()
    return {name: _read_row(name, row, row["group"]) for name, row in rows if "sha256" in row}


@cache
def stand_ins() -> Mapping[str, Given]:
    """Executables that are taken in place of a build where they are at hand, by the part's name."""
    rows = table().items()
    return {n: _read_row(n, row["given"], row["group"]) for n, row in rows if "given" in row}


def _read_row(name: str, row: Mapping[str, Any], group: str) -> Given:
    texts = (row[key] for key in ("sha256", "platform", "source", "commit"))
    return Given(name, Version.parse(row["version"]), group, *texts)


def executables_of(groups: Iterable[str]) -> tuple[Given, ...]:
    """The given executables of ``groups``, in the table's order."""
    wanted = set(groups)
    return tuple(each for each in given_executables().values() if each.group in wanted)


def find(name: str) -> Tool:
    """The given executable ``name``. Raises ToolchainError where it is not at hand."""
    wanted = given_executables()[name]
    tool = obtain(wanted)
    if tool is None:
        raise ToolchainError(f"{name} {wanted.version} is not at hand", how_to_get(wanted))
    return tool


def obtain(wanted: Given, environ: Mapping[str, str] = os.environ) -> Tool | None:
    """``wanted`` as a tool that can be run, or None where this machine has none. Raises
    ToolchainError where a file of its name is another one than what is pinned."""
    if wanted.platform != platform_tag():
        return None
    folder = cache_directory(environ) / "parts" / wanted.key
    tool = Tool(wanted.name, wanted.version, folder / wanted.name, Origin.GIVEN)
    if tool.path.exists():
        return tool
    there = (upstream_folder(environ) / "bin" / f"{wanted.name}{end}" for end in (".xz", ""))
    found = next(filter(Path.is_file, there), None)
    if found is None:
        return None
    with hold_lock(wanted.name, cache=cache_directory(environ)):
        if not tool.path.exists():
            with filling(folder) as draft, writing(draft):
                _unpack(found, draft / wanted.name, wanted)
    return tool


def how_to_get(wanted: Given) -> str:
    """The advice where ``wanted`` is not at hand."""
    return (
        f"build it from {wanted.source} at {wanted.commit} (docs/toolchain.md), and let"
        f" FORESITE_UPSTREAM name the folder that has it as bin/{wanted.name}"
        f" or bin/{wanted.name}.xz; it is {wanted.platform}, sha256 {wanted.sha256}"
    )


def upstream_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """$FORESITE_UPSTREAM, else the folder beside the checkout."""
    own = environ.get("FORESITE_UPSTREAM")
    return Path(own) if own else TOOLS.parent.parent / "shared" / "upstream"


def _unpack(found: Path, target: Path, wanted: Given) -> None:
    """Write the executable that ``found`` holds, and refuse another one than what is pinned."""
    try:
        open_packed = lzma.open if found.suffix == ".xz" else open
        with open_packed(found, "rb") as packed, target.open("wb") as out:
            shutil.copyfileobj(packed, out, _CHUNK_BYTES)
    except (lzma.LZMAError, EOFError) as error:
        raise ToolchainError(f"{found} cannot be unpacked: {error}", how_to_get(wanted)) from error
    with target.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != wanted.sha256:
        message = f"{found} is not the pinned {wanted.name} {wanted.version} but {digest}"
        raise ToolchainError(message, how_to_get(wanted))
    target.chmod(0o755)
