"""Builds one part from its pinned Go module, in a folder outside the checkout."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import time
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tools.toolchain.cache import place
from tools.toolchain.console import Console, ToolchainError
from tools.toolchain.download import is_offline
from tools.toolchain.parts import Copy, Part, sources

GO_WANTED = (1, 26)
_WANTED_VERSION = ".".join(map(str, GO_WANTED))
_GO_FIX = (
    f"install Go {_WANTED_VERSION} or newer from https://go.dev/dl/ (with GOTOOLCHAIN=auto, "
    "Go 1.21 and newer fetch it themselves; GOTOOLCHAIN=local forbids that), or install the "
    "tools themselves in the versions of tools/versions.toml"
)
_TAIL_LINES = 12
# The linker would leave it out anyway; not making it takes an eighth off the compiler's work.
_NO_DEBUG_DATA = "-gcflags=all=-dwarf=false"
_MUCH_MEMORY = 8 * 1024**3
_HINTS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))["hint"]


def build(
    part: Part, into: Path, console: Console, label: str, *, instead: Path | None = None
) -> None:
    """Build ``part`` and what it installs beside itself into the folder ``into``. ``instead`` is
    taken as the executable as it is: then only the files beside it are fetched."""
    go = find_go()
    work = into / ".build"
    _copy_module(part.module_dir, work)
    check_go(go, work)
    started = time.monotonic()

    def run(arguments: Sequence[str | Path], folder: Path) -> str:
        return _run([go, *arguments], folder, (console, label, started))

    for copy in part.copies:
        module = into / ".modules" / copy.module_dir
        _copy_module(copy.module_dir, module)
        answer = run(["mod", "download", "-json", copy.module], module)
        _take(copy, answer, work if copy.to == "build" else into)
    if instead:
        place(instead, into / part.name)
    else:
        flags = [_NO_DEBUG_DATA, f"-ldflags={' '.join(part.ldflags)}"]
        run(["build", *flags, "-o", into / part.name, part.package], work)
    for leftover in (work, into / ".modules"):
        shutil.rmtree(leftover, ignore_errors=True)


def find_go() -> Path:
    """The go command, or an error that says how to get it."""
    found = shutil.which("go")
    if found is None:
        raise ToolchainError("Go is not installed (no `go` on PATH)", _GO_FIX)
    return Path(found)


def check_go(go: Path, folder: Path) -> None:
    """Refuse a Go that is too old, asked in ``folder``: there a newer one may replace itself."""
    done = subprocess.run(
        [go, "env", "GOVERSION"],
        cwd=folder,
        env=_environment(os.environ),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        message = f"{go} cannot be used with this repository's modules"
        raise ToolchainError(message, _GO_FIX, _tail(done.stdout + done.stderr))
    match = re.search(r"go(\d+)\.(\d+)", done.stdout)
    if match and (int(match[1]), int(match[2])) < GO_WANTED:
        message = f"{go} is {done.stdout.strip()}, and the pinned modules need go{_WANTED_VERSION}"
        raise ToolchainError(message, _GO_FIX)


def check_space(folder: Path) -> None:
    """Refuse to start what would fill the disk after many minutes."""
    free = shutil.disk_usage(folder).free / 1e9
    if free < 1:
        message = f"{folder} has {free:.1f} GB left, too little to build in"
        raise ToolchainError(message, _find_fix("no space left on device"))


def _find_fix(output: str) -> str:
    """What to do about an output of Go; empty where it is not known."""
    return next((hint["fix"] for hint in _HINTS if re.search(hint["said"], output)), "")


def _environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Go's settings for a build that depends on the pins alone."""
    # Where there is memory, a lazy garbage collector takes another twelfth off.
    lazy = {"GOGC": "400"} if _memory() >= _MUCH_MEMORY else {}
    return {
        **lazy,
        **environ,
        **({"GOPROXY": "off"} if is_offline(environ) else {}),
        "GOFLAGS": "-mod=readonly -trimpath -buildvcs=false",
        "GOWORK": "off",
        # No C compiler is asked for, and the executables run on any libc.
        "CGO_ENABLED": "0",
    }


def _memory() -> int:
    """Bytes of memory of this machine; 0 where the system does not say."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError):
        return 0


def _copy_module(module_dir: str, folder: Path) -> None:
    """A copy to build in: the checkout stays as it is, whatever Go or a killed build writes."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in sources(module_dir):
        shutil.copyfile(path, folder / path.name)


def _take(copy: Copy, answer: str, folder: Path) -> None:
    """Copy a file out of the module that ``go mod download`` says it has downloaded."""
    target = folder / Path(copy.file).name
    try:
        shutil.copyfile(Path(json.loads(answer)["Dir"]) / copy.file, target)
    except (ValueError, KeyError, FileNotFoundError) as error:
        message = f"the Go module {copy.module} has no {copy.file}"
        raise ToolchainError(message, "run `go clean -modcache`, and this again") from error
    target.chmod(0o755)


def _run(command: Sequence[str | Path], folder: Path, progress: tuple[Console, str, float]) -> str:
    """Run Go in ``folder`` while progress ticks; its standard output, or an error with its tail."""
    console, label, started = progress
    log = folder / "build.log"
    with log.open("wb") as sink, (folder / "answer").open("w+b") as answer:
        with _child(command, folder, (answer.fileno(), sink.fileno())) as child:
            while (code := child.poll()) is None:
                console.tick(f"{label}: {time.monotonic() - started:.0f} s")
                with contextlib.suppress(subprocess.TimeoutExpired):
                    child.wait(timeout=1)
        answer.seek(0)
        output = answer.read().decode(errors="replace")
    if code != 0:
        text = output + log.read_text(errors="replace")
        fix = _find_fix(text) or f"run it by hand to see more: cd tools/... && {command[0]} build"
        raise ToolchainError(f"{label} failed", fix, _tail(text))
    return output


@contextlib.contextmanager
def _child(
    command: Sequence[str | Path], folder: Path, streams: tuple[int, int]
) -> Iterator[subprocess.Popen[bytes]]:
    """A process in a group of its own, ended with all its children when the block is left."""
    child = subprocess.Popen(
        command,
        cwd=folder,
        env=_environment(os.environ),
        stdin=subprocess.DEVNULL,
        stdout=streams[0],
        stderr=streams[1],
        start_new_session=True,
    )
    try:
        yield child
    finally:
        if child.poll() is None:
            # Go's caches are written atomically: nothing is lost by not asking politely.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()


def _tail(text: str) -> str:
    """The last lines of an output, without the list of downloads."""
    lines = [line for line in text.splitlines() if not line.startswith("go: downloading ")]
    return "\n".join(lines[-_TAIL_LINES:])
