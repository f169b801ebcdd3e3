"""The screens of ``foresite preview`` in the documentation: made by the real command, and made anew
by ``python -m tools.screens``.

Each screen is a request: an edit of the example sites in a repository of its own, whose commits
have fixed dates, so that the same sites give the same text.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
TOKYO, HOSTS = "sites/tokyo-1.yaml", "sites/tokyo-1.hosts.csv"
README, SCREENS = "README.md", "docs/preview-screens.md"
_H100 = "    rollout: {max_unavailable: 2, drain_timeout_seconds: 14400}\n"
_INTRO = """\
# Screens of the preview

Reports of `foresite preview` for three pull requests on the example sites. A test keeps this page
up to date (`python -m tools.screens`). How to read a report: [preview.md](preview.md).
"""


class Request(NamedTuple):
    """A request: its title, what it does in words, and the edit."""

    title: str
    words: str
    edit: Callable[[Path], None]


def _replace(file: str, old: str, new: str) -> Callable[[Path], None]:
    def edit(root: Path) -> None:
        text = (root / file).read_text(encoding="utf-8")
        if old not in text:
            raise ValueError(f"{file} has no {old!r}")
        (root / file).write_text(text.replace(old, new), encoding="utf-8")

    return edit


def _without_two_hosts(root: Path) -> None:
    lines = (root / HOSTS).read_text(encoding="utf-8").splitlines(keepends=True)
    kept = [each for each in lines if not each.startswith(("tokyo-1-a-100,", "tokyo-1-a-101,"))]
    (root / HOSTS).write_text("".join(kept), encoding="utf-8")


ONE_LINE = Request(
    "Disruptive: one line, and a pool is installed again",
    "The pool h100 gets `kubelet: {max_pods: 200}`.",
    _replace(TOKYO, _H100, f"{_H100}    kubelet: {{max_pods: 200}}\n"),
)
REQUESTS = (
    Request(
        "Harmless: other rollout settings",
        "The pool cpu gets `max_unavailable: 12` in place of 10.",
        _replace(TOKYO, "max_unavailable: 10", "max_unavailable: 12"),
    ),
    ONE_LINE,
    Request(
        "Destructive: two lines of the host list go",
        "The hosts tokyo-1-a-100 and tokyo-1-a-101 leave the host list.",
        _without_two_hosts,
    ),
)
SURGE = Request(
    "",
    "",
    _replace(TOKYO, "{max_unavailable: 1, by_zone", "{max_unavailable: 0, max_surge: 1, by_zone"),
)


def page() -> str:
    """The page of screens: the comment of each request."""
    parts = [_INTRO]
    for request in REQUESTS:
        comment = run_screen(request, "preview", "--format", "markdown")
        parts.append(
            f"## {request.title}\n\n{request.words}\n\n---\n\n{_nest_headings(comment)}\n---\n"
        )
    return "\n".join(parts)


def readme(text: str) -> str:
    """The README with the output of its examples made anew."""
    text = _with_output(text, "uv run foresite preview", run_screen(ONE_LINE, "preview"))
    return _with_output(
        text, "uv run foresite check tokyo-1", run_screen(SURGE, "check", "tokyo-1")
    )


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


def _nest_headings(comment: str) -> str:
    """A comment as part of a page: its headings two levels further down."""
    lines = comment.splitlines()[1:]
    return "\n".join(f"##{line}" if line.startswith("#") else line for line in lines) + "\n"


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
