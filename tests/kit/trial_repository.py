"""A repository of small sites that the trial applies: copies of lab-1, each three hosts."""

import re
import shutil
from pathlib import Path

import pytest

from controlplane import ControlPlane
from tests.kit.preview_repository import Repository
from tests.kit.repository import ROOT, without_examples


def small_sites(root: Path, rings: dict[str, int]) -> Repository:
    """A repository with a copy of lab-1 for each name, in its ring; the whole program is there."""
    repository = Repository(root)
    sites = root / "sites"
    yaml, hosts = ((sites / f"lab-1{end}").read_text() for end in (".yaml", ".hosts.csv"))
    for path in [*sites.glob("*.yaml"), *sites.glob("*.csv")]:
        path.unlink()
    for index, (name, ring) in enumerate(rings.items()):
        for end, text in ((".yaml", yaml), (".hosts.csv", hosts)):
            (sites / f"{name}{end}").write_text(_renamed(text, name, index, ring))
    for name in ("components", "policies", "schemas"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / name, root / name, dirs_exist_ok=True, ignore=ignored)
    for name in ("Pulumi.yaml", "__main__.py", "uv.lock"):
        shutil.copy(ROOT / name, root / name)
    (root / ".venv").symlink_to(ROOT / ".venv")
    (root / ".gitignore").write_text(".venv\n__pycache__\n")
    repository.commit("small sites")
    return repository


def _renamed(text: str, name: str, index: int, ring: int) -> str:
    """lab-1's text for another site, with addresses, MACs and serial numbers of its own."""
    text = without_examples(text).replace("lab-1", name).replace("ring: 0", f"ring: {ring}")
    text = re.sub(r"10\.(18|26)\.", lambda m: f"10.{int(m[1]) + 110 + 20 * index}.", text)
    return text.replace("52:54:00:03", f"52:54:00:a{index}").replace(",EX", f",T{index}")


def use_trial(monkeypatch: pytest.MonkeyPatch, api: ControlPlane) -> None:
    """Let commands find the session's API server, and the state beside it."""
    monkeypatch.setenv("FORESITE_TRIAL", str(api.directory))
