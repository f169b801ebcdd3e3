"""The command lines that make a fleet's objects: Foresite's, json alone, and the rivals'."""

import os
import shutil
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from shlex import join

from bench.clock import Run
from bench.fleet import ROOT
from tools.toolchain.parts import in_groups
from tools.toolchain.provide import find_tools

RIVALS = in_groups(["rivals"])
ONE_CALL, CALL_A_SITE, ON_ALL_CORES = "one call", "a call a site", "a call a site, on all cores"


def ours(fleet: Path, inputs: Path, out: Path) -> list[Run]:
    """Foresite's check and render, and the Python program that does nothing but JSON."""
    foresite: list[str | Path] = [sys.executable, "-m", "foresite", "--root", fleet]
    alone = ROOT / "bench" / "json_alone.py"

    def job(tool: str, command: Sequence[str | Path], folder: Path | None = None) -> Run:
        def fresh() -> None:
            if folder:
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir(parents=True)

        return Run(tool, ONE_CALL, [command], [out / f"{tool.replace(' ', '-')}.out"], fresh)

    rendered, written = out / "rendered", out / "json"
    return [
        job("json alone", [sys.executable, alone, inputs / "json", written], written),
        job("foresite check", [*foresite, "check"]),
        job("foresite render", [*foresite, "render", "--out", rendered], rendered),
    ]


def built_tools() -> dict[str, Path]:
    """The rivals that are there, by name; ``tools.toolchain ensure rivals`` builds them."""
    tools, _ = find_tools(RIVALS)
    return {name: tool.path for name, tool in tools.items()}


def rivals(tools: dict[str, Path], inputs: Path, out: Path, sites: list[str]) -> list[list[Run]]:
    """Of each rival the ways to make all ``sites``: in one call, or in a call for each.

    As Foresite uses all cores for many sites, the calls may as well, as people do with xargs.
    """
    return [
        _forms(name, partial(_command, name, tool, inputs / name), out, sites)
        for name, tool in tools.items()
    ]


def _forms(
    tool: str, command: Callable[[str | None], list[str | Path]], out: Path, sites: list[str]
) -> list[Run]:
    each = [out / f"{tool}-{site}.out" for site in sites]
    calls = [command(site) for site in sites]
    if len(sites) == 1:
        return [Run(tool, CALL_A_SITE, calls, each)]
    lines = [f"{join(map(str, call))} > {path}" for call, path in zip(calls, each, strict=True)]
    script, said = out / f"{tool}.calls", out / f"{tool}.out"
    script.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    cores = str(os.cpu_count() or 1)
    together: list[str | Path] = ["xargs", "-P", cores, "-d", "\\n", "-I", "{}", "-a", script]
    whole = command(None)
    return [
        Run(tool, ON_ALL_CORES, [[*together, "sh", "-c", "{}"]], [said], made=each),
        *([Run(tool, ONE_CALL, [whole], [said])] if whole else []),
        Run(tool, CALL_A_SITE, calls, each),
    ]


def _command(name: str, tool: Path, inputs: Path, site: str | None) -> list[str | Path]:
    """The command line of a rival for a site, or for all (None)."""
    match name:
        case "kustomize":
            # A build refuses two objects of one name, as policies of two sites' own clusters are.
            return [tool, "build", inputs / site] if site else []
        case "helm":
            chart = inputs / "charts" / site if site else inputs
            return [tool, "template", site or "fleet", chart]
        case "jsonnet":
            return [tool, inputs / f"{site or 'fleet'}.jsonnet"]
        case _:
            one = [inputs / "site.cue", inputs / f"{site}.cue"]
            files = one if site else sorted(inputs.glob("*.cue"))
            return [tool, "export", *files, "--expression", "out"]
