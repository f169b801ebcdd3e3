"""The screens of ``foresite preview`` in the documentation: made by the real command, and made anew
by ``python -m tools.screens``.

Each screen is a request: an edit of the example sites in a repository of its own, whose commits
have fixed dates, so that the same sites give the same text.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
README, SCREENS = "README.md", "docs/preview-screens.md"


class Request(NamedTuple):
    """A request: its title, what it does in words, and the edit of a file, by a pattern."""

    title: str
    words: str
    file: str
    old: str
    new: str

    def edit(self, root: Path) -> None:
        """Edit the repository; ValueError where the file has nothing of the kind."""
        text = (root / self.file).read_text(encoding="utf-8")
        edited, count = re.subn(self.old, self.new, text, flags=re.MULTILINE)
        if not count:
            raise ValueError(f"{self.file} has no {self.old!r}")
        (root / self.file).write_text(edited, encoding="utf-8")


_TABLE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
REQUESTS = tuple(Request(**_TABLE[name]) for name in ("harmless", "one_line", "two_hosts"))
ONE_LINE, SURGE = REQUESTS[1], Request(**_TABLE["surge"])


def page() -> str:
    """The page of screens: the comment of each request."""
    parts = [_TABLE["intro"]]
    for request in REQUESTS:
        lines = run_screen(request, "preview", "--format", "markdown").splitlines()[1:]
        # As part of a page its headings are two levels further down.
        nested = "\n".join(f"##{line}" if line.startswith("#") else line for line in lines)
        parts.append(f"## {request.title}\n\n{request.words}\n\n---\n\n{nested}\n\n---\n")
    return "\n".join(parts)


def readme(text: str) -> str:
    """The README with the output of its examples made anew."""
    text = _with_output(text, "uv run foresite preview", run_screen(ONE_LINE, "preview"))
    refused = run_screen(SURGE, "check", "tokyo-1")
    return _with_output(text, "uv run foresite check tokyo-1", refused)


def run_screen(request: Request, *command: str) -> str:
    """The output of a command in a repository with the request's edit."""
    with tempfile.TemporaryDirectory(prefix="foresite-screen-") as name:
        root = Path(name)
        for folder in ("sites", "regions", "schemas/catalogue"):
            shutil.copytree(ROOT / folder, root / folder)
        for arguments in (("init", "-q", "-b", "main", "."), ("add", "-A"), ("commit", "-qm", "0")):
            subprocess.run(["git", *arguments], cwd=root, env=_environment(), check=True)
        request.edit(root)
        done = subprocess.run(
            [sys.executable, "-m", "foresite", "--root", str(root), *command],
            cwd=ROOT,
            env=_environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        if done.stderr:
            raise RuntimeError(done.stderr)
        return done.stdout


def _environment() -> dict[str, str]:
    who = {"NAME": "Foresite", "EMAIL": "foresite@example.com", "DATE": "2026-01-01T00:00:00Z"}
    said = {f"GIT_{role}_{key}": v for role in ("AUTHOR", "COMMITTER") for key, v in who.items()}
    # A person's own settings (signing, line ends) would make other commits.
    return {**os.environ, **said, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}


def _with_output(text: str, command: str, output: str) -> str:
    """A text in which what follows a command in a console block is its output."""
    start = text.index(f"$ {command}\n") + len(command) + 3
    end = min(at for at in (text.find("\n```", start - 1), text.find("\n$ ", start - 1)) if at >= 0)
    return text[:start] + output.rstrip("\n") + text[end:]


def pages() -> Iterator[tuple[Path, str]]:
    """Each file that shows what the command says, and what it should hold."""
    yield ROOT / SCREENS, page()
    yield ROOT / README, readme((ROOT / README).read_text(encoding="utf-8"))


if __name__ == "__main__":
    for path, text in pages():
        path.write_text(text, encoding="utf-8")
