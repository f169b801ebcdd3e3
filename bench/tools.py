"""The tools that Foresite is measured against: pinned Go modules, built once into the cache.

``python -m bench.tools`` builds what is missing and prints where all of it is. bench/rivals/go.mod
holds the versions; a tool that is not built is left out of a measurement.
"""

import hashlib
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tools.toolchain.build import find_go
from tools.toolchain.cache import cache_directory, filling, hold_lock, platform_tag

RIVALS = Path(__file__).resolve().parent / "rivals"
_PINS = ("go.mod", "go.sum")


@dataclass(frozen=True, slots=True)
class Rival:
    """One tool: the Go package that it is built from, and the module that says its version."""

    name: str
    package: str
    module: str


ALL = (
    Rival("kustomize", "sigs.k8s.io/kustomize/kustomize/v5", "sigs.k8s.io/kustomize/kustomize/v5"),
    Rival("helm", "helm.sh/helm/v4/cmd/helm", "helm.sh/helm/v4"),
    Rival("jsonnet", "github.com/google/go-jsonnet/cmd/jsonnet", "github.com/google/go-jsonnet"),
    Rival("cue", "cuelang.org/go/cmd/cue", "cuelang.org/go"),
)


def built_tools() -> dict[str, Path]:
    """The tools that have been built, by name."""
    paths = {rival.name: _folder() / rival.name / rival.name for rival in ALL}
    return {name: path for name, path in paths.items() if path.exists()}


def versions() -> dict[str, str]:
    """The version of each tool, as pinned."""
    pinned = dict(
        line.split()[:2]
        for line in (RIVALS / "go.mod").read_text(encoding="utf-8").splitlines()
        if line.startswith("\t") and len(line.split()) > 1
    )
    return {rival.name: pinned[rival.module].removeprefix("v") for rival in ALL}


def ensure() -> dict[str, Path]:
    """Build what is missing, one after the other and politely; minutes, once."""
    go = find_go()
    for rival in ALL:
        target = _folder() / rival.name
        with hold_lock(f"rival-{rival.name}", cache_directory(), lambda: None):
            if not target.exists():
                print(f"building {rival.name}", flush=True)
                with filling(target) as folder:
                    _build(go, rival, folder)
    return built_tools()


def _folder() -> Path:
    digest = hashlib.sha256(b"".join((RIVALS / name).read_bytes() for name in _PINS))
    return cache_directory() / "rivals" / f"{platform_tag()}-{digest.hexdigest()[:12]}"


def _build(go: Path, rival: Rival, folder: Path) -> None:
    module = folder / ".build"
    module.mkdir()
    for name in _PINS:
        shutil.copyfile(RIVALS / name, module / name)
    env = {
        **os.environ,
        "CGO_ENABLED": "0",
        "GOFLAGS": "-mod=readonly -trimpath -buildvcs=false",
        "GOWORK": "off",
    }
    command = ["nice", "-n", "10", str(go), "build", "-p", "1", "-ldflags", "-s -w"]
    subprocess.run(
        [*command, "-o", str(folder / rival.name), rival.package], cwd=module, env=env, check=True
    )
    shutil.rmtree(module)


if __name__ == "__main__":
    for tool, path in ensure().items():
        print(f"{tool}\t{versions()[tool]}\t{path}")
