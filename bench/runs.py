"""Which command lines make a fleet's objects: Foresite's, json alone, and the rivals'."""

import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from bench.clock import Run
from bench.fleet import ROOT

ONE_CALL, CALL_A_SITE = "one call", "a call a site"
Command = Callable[[str | None], list[str | Path]]
"""From a site's name (None: all sites) to the command line that makes it."""


def ours(fleet: Path, inputs: Path, out: Path) -> list[Run]:
    """Foresite's check and render, and the Python program that does nothing but JSON."""
    foresite: list[str | Path] = [sys.executable, "-m", "foresite", "--root", fleet]
    alone = ROOT / "bench" / "json_alone.py"

    def job(tool: str, command: Sequence[str | Path], folder: Path | None = None) -> Run:
        before = (lambda: _fresh(folder)) if folder else (lambda: None)
        return Run(tool, ONE_CALL, [command], [out / f"{tool.replace(' ', '-')}.out"], before)

    rendered, written = out / "rendered", out / "json"
    return [
        job("json alone", [sys.executable, alone, inputs / "json", written], written),
        job("foresite check", [*foresite, "check"]),
        job("foresite render", [*foresite, "render", "--out", rendered], rendered),
    ]


def rivals(tools: dict[str, Path], inputs: Path, out: Path, sites: list[str]) -> list[list[Run]]:
    """Of each rival the ways to make all ``sites``: in one call, or in a call for each."""
    return [
        _forms(name, _COMMANDS[name](tool, inputs / name), out, sites)
        for name, tool in tools.items()
    ]


def _forms(tool: str, command: Command, out: Path, sites: list[str]) -> list[Run]:
    each = [out / f"{tool}-{site}.out" for site in sites]
    found = [Run(tool, CALL_A_SITE, [command(site) for site in sites], each)]
    if len(sites) > 1:
        found.append(Run(tool, ONE_CALL, [command(None)], [out / f"{tool}.out"]))
    return found


def _fresh(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)


def _kustomize(tool: Path, inputs: Path) -> Command:
    return lambda site: [tool, "build", inputs / site if site else inputs]


def _helm(tool: Path, inputs: Path) -> Command:
    return lambda site: (
        [tool, "template", site, inputs / "charts" / site]
        if site
        else [tool, "template", "fleet", inputs]
    )


def _jsonnet(tool: Path, inputs: Path) -> Command:
    return lambda site: [tool, inputs / f"{site or 'fleet'}.jsonnet"]


def _cue(tool: Path, inputs: Path) -> Command:
    return lambda site: [
        tool,
        "export",
        *([inputs / "site.cue", inputs / f"{site}.cue"] if site else sorted(inputs.glob("*.cue"))),
        "--expression",
        "out",
    ]


_COMMANDS: dict[str, Callable[[Path, Path], Command]] = {
    "kustomize": _kustomize,
    "helm": _helm,
    "jsonnet": _jsonnet,
    "cue": _cue,
}
