"""The surroundings in which Pulumi is tried: nothing of the user's own set-up is touched."""

import hashlib
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

from tools.toolchain.cache import cache_directory, filling, hold_lock, place, writing
from tools.toolchain.console import ToolchainError
from tools.toolchain.installed import HOST, HOST_SCRIPT, PLUGIN, Tools, host_script
from tools.toolchain.parts import parts

# What would send the trial to somebody's real backend, or unlock it with their secrets.
_FOREIGN = ("PULUMI_ACCESS_TOKEN", "PULUMI_API", "PULUMI_CONFIG_PASSPHRASE_FILE", "PULUMI_STACK")
# Pulumi writes a debug log of every property of every run into the folder ``logs`` of its home:
# two fifths of the CLI's time in a preview, and a copy of everything where nobody looks for it.
_NO_LOGS = "This file stands where Pulumi would make a folder for its automatic debug logs.\n"


def environment(tools: Tools, state: Path, base: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The variables for running ``pulumi`` with ``tools`` on a trial backend in ``state``: its home
    is in the cache, so that nothing of the user's is read or written, and the passphrase empty, as
    a trial holds no secrets."""
    env = {name: value for name, value in base.items() if name not in _FOREIGN}
    home = pulumi_home(tools)
    with writing(state):
        state.mkdir(parents=True, exist_ok=True)
    # A language host that was built knows no virtualenv option, and takes the first Python on PATH.
    python = str(Path(sys.executable).parent)
    path = os.pathsep.join([str(home / "bin"), python, *filter(None, [env.get("PATH")])])
    return env | {
        "PATH": path,
        "PULUMI_HOME": str(home),
        "PULUMI_BACKEND_URL": f"file://{quote(str(state.absolute()))}",
        "PULUMI_CONFIG_PASSPHRASE": "",
        "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
        # A provider on PATH would win over the pinned one, whatever its version.
        "PULUMI_IGNORE_AMBIENT_PLUGINS": "true",
        "PULUMI_SKIP_UPDATE_CHECK": "true",
    }


def pulumi_home(tools: Tools) -> Path:
    """A home of Pulumi with just ``tools`` in it. The CLI looks for its language host beside its
    own executable, through links, so the two have to lie in one folder as real files."""
    plugin = tools[PLUGIN]
    placed = {
        Path("bin/pulumi"): tools["pulumi"].path,
        Path(f"bin/{HOST}"): tools[HOST].path,
        Path(f"bin/{HOST_SCRIPT}"): _script(tools),
        Path(f"plugins/resource-kubernetes-v{plugin.version}/{PLUGIN}"): plugin.path,
    }
    home = cache_directory() / "pulumi" / _fingerprint(placed)
    with hold_lock("pulumi-home"):
        if not home.exists():
            with filling(home) as folder, writing(home):
                for target, source in placed.items():
                    place(source.resolve(), folder / target)
                (folder / "logs").write_text(_NO_LOGS, encoding="utf-8")
    return home


def _script(tools: Tools) -> Path:
    script = host_script(tools[HOST].path, os.environ)
    if script is None:
        fix = f"install Pulumi again, or take {tools[HOST].path} off PATH to have it built"
        raise ToolchainError(f"{tools[HOST].path} has no {HOST_SCRIPT} beside it", fix)
    return script


def _fingerprint(placed: Mapping[Path, Path]) -> str:
    """Changes when one of the files is another one, so that a home never holds a stale copy."""
    digest = hashlib.sha256()
    for target, source in placed.items():
        stat = source.stat()
        digest.update(f"{target}\0{source}\0{stat.st_size}\0{stat.st_mtime_ns}\0".encode())
    return f"{parts()['pulumi'].version}-{digest.hexdigest()[:12]}"
