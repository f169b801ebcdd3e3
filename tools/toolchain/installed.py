"""Looks for fitting tools that are on the machine already; changes nothing."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TypeAlias

from tools.toolchain.parts import Part
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
    part: Part, environ: Mapping[str, str] | None = None, beside: Path | None = None
) -> Tool | None:
    """The first installed executable that fits ``part``, or None.

    Looked through are the folder of ``beside`` (the Pulumi CLI, for what is released with it),
    PATH, and KUBEBUILDER_ASSETS; for the provider, Pulumi's own plugin folders.
    """
    env = os.environ if environ is None else environ
    if part.name == PLUGIN:
        return _plugin(part, env)
    for path in _candidates(part.name, env, beside):
        if part.name == HOST and host_script(path, env) is None:
            continue
        version = probe(path, part.probe, env)
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
