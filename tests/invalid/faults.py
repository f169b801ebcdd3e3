"""Repositories with one fault each: a good base, and the edits of a file in tests/invalid/.

A fault file says ``what`` is wrong, how to ``edit`` the files of tests/invalid/base, which sites to
``load`` (all, where it does not say), which sites of base/more come ``with`` the base, and which
problems to ``expect``, each as ``code file:line:column``, or ``code file`` where the file as a
whole is meant. An edit names a ``file`` below sites/ and does one of these:

find + write     replace a text that is there once (write is repeated ``times``)
append           add text at the end
text             put this in place of the whole content (repeated ``times``)
move             give the file another name
remove           true: delete the file
link             make it a symbolic link to this
folder           true: make it a folder
encoding         save the whole file so (utf-16, utf-8-sig, latin-1)
newlines         end lines so (crlf or cr)
"""

import functools
import shutil
from pathlib import Path
from typing import Any

import yaml

FOLDER = Path(__file__).parent
NEWLINES = {"crlf": "\r\n", "cr": "\r"}


def fault_files() -> list[Path]:
    """Every fault file, in the order of their names."""
    return sorted(FOLDER.glob("*.yaml"))


@functools.cache
def read_fault(path: Path) -> dict[str, Any]:
    """The content of a fault file; its edits always as a list."""
    fault: dict[str, Any] = yaml.load(path.read_bytes(), yaml.CSafeLoader)
    assert fault.keys() <= {"what", "edit", "load", "with", "expect"}, path
    if isinstance(fault["edit"], dict):
        fault["edit"] = [fault["edit"]]
    return fault


def build(fault: dict[str, Any], root: Path) -> Path:
    """The repository that a fault file describes, below ``root``."""
    shutil.copytree(FOLDER / "base" / "sites", root / "sites", dirs_exist_ok=True)
    for name in fault.get("with", ()):
        for file in (FOLDER / "base" / "more").glob(f"{name}.*"):
            shutil.copy(file, root / "sites")
    for edit in fault["edit"]:
        _apply(dict(edit), root / "sites")
    return root


def _apply(edit: dict[str, Any], folder: Path) -> None:
    target = folder / edit.pop("file")
    target.parent.mkdir(parents=True, exist_ok=True)
    times = edit.pop("times", 1)
    if "link" in edit:
        target.unlink(missing_ok=True)
        target.symlink_to(edit.pop("link"))
    elif edit.pop("folder", False):
        target.mkdir()
    elif "move" in edit:
        target.rename(folder / edit.pop("move"))
    elif edit.pop("remove", False):
        target.unlink()
    else:
        _rewrite(target, edit, times)
    assert not edit, f"unknown: {edit}"


def _rewrite(target: Path, edit: dict[str, Any], times: int) -> None:
    text = target.read_text("utf-8") if target.exists() else ""
    if "find" in edit:
        assert text.count(edit["find"]) == 1, f"{edit['find']!r} is not there once"
        text = text.replace(edit.pop("find"), edit.pop("write") * times)
    text = edit.pop("text", "") * times if "text" in edit else text
    text += edit.pop("append", "") * times
    text = text.replace("\n", NEWLINES.get(edit.pop("newlines", ""), "\n"))
    target.write_bytes(text.encode(edit.pop("encoding", "utf-8")))
