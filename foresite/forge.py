"""The web pages of a repository's files on a forge, so that a report leads to them. Known in CI
from the variables that these set, else from the remote ``origin``. Nothing is asked over the
network, and user names and passwords in a remote's address are dropped."""

import os
import re
from pathlib import Path
from urllib.parse import quote

from preview.forge import Forge
from preview.states.git import GitError, git
from preview.states.snapshot import Snapshot

_PROJECT = re.compile(
    r"(?:https://(?:[^@/\s]*@)?|ssh://(?:[^@/\s]*@)?|[A-Za-z0-9._-]+@)"
    r"(?P<host>[A-Za-z0-9.-]+)(?P<port>:[0-9]+)?[:/]"
    r"(?P<path>[A-Za-z0-9._-]+(?:/[A-Za-z0-9._-]+)+)/?"
)
"""A remote's address: https, ssh, or ``git@host:owner/name``."""


def forge(root: Path, base: Snapshot, head: Snapshot) -> Forge:
    """The pages of both states' files; empty for the work tree, which is nowhere on the web."""
    start = _blob_pages(root)
    if not start:
        return Forge()
    inside = quote(_git(root, "rev-parse", "--show-prefix"))
    pages = [f"{start}{side.commit}/{inside}" if side.commit else "" for side in (base, head)]
    return Forge(*pages)


def _blob_pages(root: Path) -> str:
    """The address of a project's files, up to the commit; empty where it is not known."""
    project = _project(root)
    match = _PROJECT.fullmatch(project)
    if match is None:
        return ""
    port = (match["port"] or "") if project.startswith("https:") else ""
    start = f"https://{match['host']}{port}/{match['path'].removesuffix('.git')}"
    names = match["host"].split(".")
    if "gitlab" in names or _in(root, "CI_PROJECT_DIR"):
        return f"{start}/-/blob/"
    # Forgejo and Gitea set GITHUB_WORKSPACE too.
    if {"codeberg", "forgejo", "gitea"}.intersection(names) or "GITEA_ACTIONS" in os.environ:
        return f"{start}/src/commit/"
    return f"{start}/blob/" if "github" in names or _in(root, "GITHUB_WORKSPACE") else ""


def _project(root: Path) -> str:
    """The address of the project: as CI says, if the repository is the one that it works on."""
    if _in(root, "GITHUB_WORKSPACE"):
        server = os.environ.get("GITHUB_SERVER_URL", "https://github.com")
        return f"{server}/{os.environ.get('GITHUB_REPOSITORY', '')}"
    if _in(root, "CI_PROJECT_DIR"):
        return os.environ.get("CI_PROJECT_URL", "")
    return _git(root, "config", "--get", "remote.origin.url")


def _git(root: Path, *arguments: str) -> str:
    """A line that Git says; empty where there is none, such as without a remote."""
    try:
        return git(root, *arguments, fine=(0, 1)).decode("utf-8", "replace").strip()
    except GitError:
        return ""


def _in(root: Path, variable: str) -> bool:
    """True if the repository is in the folder that a variable of CI names."""
    folder = os.environ.get(variable, "")
    return folder != "" and root.resolve().is_relative_to(Path(folder).resolve())
