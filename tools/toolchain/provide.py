"""Makes the parts available: installed ones where they fit, else built ones, else builds them."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from tools.toolchain.build import build, check_space
from tools.toolchain.cache import cache_directory, filling, locked, platform_tag, writing
from tools.toolchain.console import Console
from tools.toolchain.errors import ToolchainError
from tools.toolchain.installed import HOST, Origin, Tool, Tools, find_installed
from tools.toolchain.pairs import check_pairs
from tools.toolchain.parts import Part, cache_key, in_groups


def ensure(groups: Iterable[str], console: Console | None = None) -> Tools:
    """Every part of ``groups`` as a tool that can be run, built where that is needed."""
    shown = console or Console()
    wanted = in_groups(groups)
    tools, missing = _look(wanted, os.environ)
    for tool in tools.values():
        shown.say(f"{tool.name} {tool.version}: {tool.origin.value}, {tool.path}")
    check_pairs(wanted, tools)
    for number, part in enumerate(missing, start=1):
        tools[part.name] = _build_once(part, shown, f"{number} of {len(missing)}")
    return {part.name: tools[part.name] for part in wanted}


def locate(groups: Iterable[str]) -> Tools:
    """Every part of ``groups``, without building; an error names what is not there."""
    names = tuple(groups)
    wanted = in_groups(names)
    tools, missing = _look(wanted, os.environ)
    if missing:
        absent = ", ".join(f"{part.name} {part.version}" for part in missing)
        fix = f"run `python -m tools.toolchain ensure {' '.join(names)}`"
        raise ToolchainError(f"not installed and not built yet: {absent}", fix)
    check_pairs(wanted, tools)
    return {part.name: tools[part.name] for part in wanted}


def _look(wanted: Iterable[Part], env: Mapping[str, str]) -> tuple[Tools, list[Part]]:
    """What is there, and what is not."""
    tools: Tools = {}
    missing = []
    for part in wanted:
        # The table has the CLI before its language host, which is looked for beside it.
        cli = tools.get("pulumi")
        beside = cli.path if cli and part.name == HOST else None
        tool = find_installed(part, env, beside) or _built(part)
        if tool:
            tools[part.name] = tool
        else:
            missing.append(part)
    return tools, missing


def _folder(part: Part) -> Path:
    return cache_directory() / "parts" / cache_key(part, platform_tag())


def _built(part: Part) -> Tool | None:
    path = _folder(part) / part.name
    return Tool(part.name, part.version, path, Origin.BUILT) if path.exists() else None


def _build_once(part: Part, console: Console, count: str) -> Tool:
    """Build ``part`` unless another process has just done so."""
    label = f"{part.name} {part.version}"

    def waiting() -> None:
        console.say(f"{label}: another process is building it, waiting")

    with locked(part.name, cache_directory(), waiting):
        if tool := _built(part):
            return tool
        console.say(f"{label}: building ({count}), about {part.minutes:g} min on two cores")
        with filling(_folder(part)) as folder:
            check_space(folder)
            with writing(folder):
                build(part, folder, console, label)
        console.say(f"{label}: built, {_folder(part)}")
    path = _folder(part) / part.name
    return Tool(part.name, part.version, path, Origin.BUILT)
