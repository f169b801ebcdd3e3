"""A small repository to change: the example sites and the catalogue, committed once."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from preview.result import Preview, SitePreview
from preview.states.snapshot import at, work_tree
from preview.survey import survey
from tests.kit.repository import ROOT, copy_sites


class Folder:
    """A folder that Git knows, whose branch is main."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir(exist_ok=True)
        self.git("init", "-q", "-b", "main", ".")

    def git(self, *arguments: str) -> str:
        """Run git there; what it printed."""
        identity = ("-c", "user.name=Tester", "-c", "user.email=tester@example.com")
        done = subprocess.run(
            ["git", "-C", self.root, *identity, *arguments],
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.strip()

    def commit(self, message: str = "x") -> str:
        """Commit everything; the commit's id."""
        self.git("add", "-A")
        self.git("commit", "-q", "--no-gpg-sign", "--allow-empty", "-m", message)
        return self.git("rev-parse", "HEAD")

    def text(self, file: str) -> str:
        return (self.root / file).read_text("utf-8")

    def write(self, file: str, text: str) -> None:
        (self.root / file).parent.mkdir(parents=True, exist_ok=True)
        (self.root / file).write_text(text, "utf-8")

    def replace(self, file: str, old: str, new: str) -> None:
        """Put ``new`` in the one place where ``old`` stands."""
        text = self.text(file)
        assert text.count(old) == 1, f"{text.count(old)} times in {file}: {old!r}"
        self.write(file, text.replace(old, new))


class Repository(Folder):
    """A repository at ``root`` with the example sites, committed."""

    def __init__(self, root: Path) -> None:
        copy_sites(root)
        shutil.copytree(ROOT / "schemas" / "catalogue", root / "schemas" / "catalogue")
        super().__init__(root)
        self.commit("first")

    def hosts(self, site: str, change: Callable[[list[dict[str, str]]], object]) -> None:
        """Change a host list: a dictionary for each line, by column."""
        file = f"sites/{site}.hosts.csv"
        header, *lines = self.text(file).splitlines()
        columns = header.split(",")
        rows = [dict(zip(columns, line.split(","), strict=True)) for line in lines]
        change(rows)
        self.write(file, "".join(f"{','.join(row.values())}\n" for row in [
            {name: name for name in (rows[0] if rows else columns)}, *rows
        ]))  # fmt: skip

    def preview(self, *sites: str, base: str = "HEAD", head: str | None = None) -> Preview:
        """The effect of the change since ``base``."""
        after = at(self.root, head) if head else work_tree(self.root)
        return survey(at(self.root, base), after, sites)

    def site(self, name: str, base: str = "HEAD") -> SitePreview:
        """The effect of the change since ``base`` on one site that it concerns."""
        (found,) = (each for each in self.preview(base=base).sites if each.name == name)
        return found
