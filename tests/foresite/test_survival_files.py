"""A full disk, a closed pipe and a kill while something is written."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from foresite.cli import main
from foresite.command import FAILED, FOUND, OK
from foresite.scratch import clear
from tests.kit.preview_repository import Repository
from tests.kit.repository import FLEET, ROOT
from tests.kit.small_disk import FORESITE, needs_disk, on_disk, shell

# --- a full disk ----------------------------------------------------------------------------------


@needs_disk
def test_render_on_a_full_disk_leaves_what_was_there(tmp_path: Path) -> None:
    out = tmp_path / "disk"
    done = on_disk(
        out, "2m",
        f"{FORESITE} render lab-1 --out {out} >/dev/null && cp -r {out}/lab-1 {tmp_path}/before; "
        f"head -c 2M /dev/zero > {out}/fill; "
        f"{FORESITE} render lab-1 --out {out}; echo code $?; rm {out}/fill; ls -A {out}; "
        f"diff -r {out}/lab-1 {tmp_path}/before && {FORESITE} render lab-1 --out {out}; echo $?",
    )  # fmt: skip
    assert done.stderr.splitlines()[-1] == "foresite: No space left on device"
    lines = done.stdout.splitlines()
    assert lines[:2] == [f"code {FAILED}", "lab-1"]
    assert lines[-1] == str(OK)


@needs_disk
def test_preview_on_a_full_disk_leaves_what_was_there(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "repository")
    repository.replace("sites/lab-1.yaml", "taints: []", "taints: [], kubelet: {max_pods: 60}")
    out = tmp_path / "disk"
    preview = f"{FORESITE} --root {repository.root} preview --base main --out {out} > /dev/null"
    done = on_disk(
        out, "16k",
        f"echo old > {out}/report.html; {preview}; echo $?; "
        f"ls -A {out}; cat {out}/report.html; mount -o remount,size=4m {out}; {preview}; echo $?; "
        f"ls -A {out}",
    )  # fmt: skip
    assert "No space left on device" in done.stderr and "Traceback" not in done.stderr
    first, again = [str(FAILED), "report.html", "old"], ["comment.md", "report.html", "report.json"]
    assert done.stdout.splitlines() == [*first, str(OK), *again, "summary.md"]


# --- a closed pipe --------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["text", "json"])
def test_render_into_a_closed_pipe_has_written_everything(tmp_path: Path, form: str) -> None:
    command = f"{FORESITE} render lab-1 --format {form} --out {tmp_path}"
    done = shell(f"set -o pipefail; {command} | true; {command} >&-")
    assert "Traceback" not in done.stderr and "Exception" not in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["lab-1"]
    whole = tmp_path / "whole"
    assert main(["--root", str(FLEET), "render", "lab-1", "--out", str(whole)]) == OK
    assert shell(f"diff -r {tmp_path}/lab-1 {whole}/lab-1").returncode == 0


def test_preview_into_a_closed_pipe_has_written_every_report(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "repository")
    repository.replace("sites/lab-1.yaml", "taints: []", "taints: [], kubelet: {max_pods: 60}")
    out = tmp_path / "out"
    preview = f"{FORESITE} --root {repository.root} preview --base main --out {out}"
    done = shell(f"{preview} | true; exit ${{PIPESTATUS[0]}}")
    assert done.stderr == ""
    assert done.returncode in (OK, FOUND, FAILED)
    assert len([path for path in out.iterdir() if not path.name.startswith(".")]) == 4


# --- a kill ---------------------------------------------------------------------------------------

WRITING = """
import sys
from pathlib import Path
from foresite.scratch import scratch
folder = Path(sys.argv[1])
with scratch(folder) as fresh:
    (fresh / "half").write_text("written")
    if sys.argv[2:]:
        (fresh / "aside").mkdir()
        folder.rename(fresh / "aside")
    print(fresh, flush=True)
    sys.stdin.read()
"""


def killed(folder: Path, *words: str) -> Path:
    """The scratch of a process that was killed while it wrote; before, it is nobody's to remove."""
    command = [sys.executable, "-c", WRITING, str(folder), *words]
    with subprocess.Popen(command, cwd=ROOT, stdin=-1, stdout=-1, text=True) as process:
        assert process.stdout is not None
        left = Path(process.stdout.readline().strip())
        clear(folder)
        assert (left / "half").is_file()
        process.send_signal(signal.SIGKILL)
    assert left.is_dir()
    return left


def test_what_a_killed_render_left_is_removed_by_the_next_and_nothing_else(tmp_path: Path) -> None:
    foreign = tmp_path / ".lab-1.original"
    foreign.mkdir()
    other = killed(tmp_path / "lab-12")
    killed(tmp_path / "lab-1")
    assert main(["--root", str(FLEET), "render", "lab-1", "--out", str(tmp_path)]) == OK
    assert {path.name for path in tmp_path.iterdir()} == {"lab-1", foreign.name, other.name}


def test_what_a_killed_render_had_put_aside_is_put_back(tmp_path: Path) -> None:
    folder = tmp_path / "lab-1"
    folder.mkdir()
    (folder / "mine").write_text("kept")
    killed(folder, "aside")
    assert not folder.exists()
    clear(folder)
    assert (folder / "mine").read_text() == "kept"
    assert [path.name for path in tmp_path.iterdir()] == ["lab-1"]
