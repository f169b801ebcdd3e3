"""Makes the parts available: installed ones where they fit, else what the cache has, else the
publisher's archive, else a build.

Given executables (installed.py) cannot be built: ``ensure`` takes those that are at hand. One that
stands in for a part is kept as a build of it is, with the files that belong beside it.
"""

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path

from tools.toolchain.archives import find_downloaded, take_archives
from tools.toolchain.build import build, check_space
from tools.toolchain.cache import cache_directory, filling, hold_lock, platform_tag, writing
from tools.toolchain.console import Console, ToolchainError
from tools.toolchain.download import is_offline
from tools.toolchain.installed import (
    HOST,
    Origin,
    Tool,
    Tools,
    executables_of,
    find,
    find_installed,
    how_to_get,
    obtain,
    stand_ins,
)
from tools.toolchain.pairs import check_pairs
from tools.toolchain.parts import Part, cache_key, in_groups


def ensure(groups: Iterable[str], console: Console | None = None) -> Tools:
    """Every part of ``groups`` as a tool that can be run, downloaded or built where that is needed.

    Of given executables those that are at hand; the others are named with how to get them.
    Raises ToolchainError where a part can be had in no way, or a download is not what was pinned.
    """
    shown = console or Console()
    names = tuple(groups)
    wanted = in_groups(names)
    tools, missing = find_tools(wanted)
    taken = _obtain_given(names, shown)
    for tool in (tools | taken).values():
        shown.say(f"{tool.name} {tool.version}: {tool.origin.value}, {tool.path}")
    check_pairs(wanted, tools)
    tools |= _download(missing, shown)
    missing = [part for part in missing if part.name not in tools]
    for number, part in enumerate(missing, start=1):
        tools[part.name] = _build_once(part, shown, f"{number} of {len(missing)}")
    return {part.name: tools[part.name] for part in wanted} | taken


def _download(missing: list[Part], console: Console) -> Tools:
    """The tools of ``missing`` that need no build; first the missing ones are listed."""
    if not missing:
        return {}
    names = ", ".join(f"{part.name} {part.version}" for part in missing)
    if is_offline():
        console.say(f"missing: {names}; FORESITE_OFFLINE is set, so nothing is downloaded")
        return {}
    minutes = sum(part.minutes for part in missing)
    console.say(
        f"missing: {names}; each is downloaded where its digest is pinned, else built"
        f" (all of them in about {minutes:g} min on two cores), once"
    )
    # What stands in for a part and is at hand needs no download.
    take_archives([part for part in missing if _stand_in(part) is None], console)
    return {part.name: tool for part in missing if (tool := find_downloaded(part))}


def locate(groups: Iterable[str]) -> Tools:
    """Every part and given executable of ``groups``, without building. Raises ToolchainError that
    names what is not there."""
    names = tuple(groups)
    wanted = in_groups(names)
    tools, missing = find_tools(wanted)
    if missing:
        absent = ", ".join(f"{part.name} {part.version}" for part in missing)
        fix = f"run `python -m tools.toolchain ensure {' '.join(names)}`"
        raise ToolchainError(f"not installed and not built yet: {absent}", fix)
    check_pairs(wanted, tools)
    taken = {each.name: find(each.name) for each in executables_of(names)}
    return {part.name: tools[part.name] for part in wanted} | taken


def _obtain_given(groups: Iterable[str], console: Console) -> Tools:
    """The given executables that are at hand; of the others it is said how to get them."""
    taken: Tools = {}
    for each in executables_of(groups):
        if tool := obtain(each):
            taken[each.name] = tool
        else:
            console.say(f"{each.name} {each.version}: not at hand; {how_to_get(each)}")
    return taken


def find_tools(wanted: Iterable[Part]) -> tuple[Tools, list[Part]]:
    """The tools that are there, and the missing parts."""
    tools: Tools = {}
    missing = []
    for part in wanted:
        # The table has the CLI before its language host, which is looked for beside it.
        cli = tools.get("pulumi") if part.name == HOST else None
        beside = cli.path if cli and cli.origin is Origin.INSTALLED else None
        tool = find_installed(part, beside=beside) or find_downloaded(part) or cached_tool(part)
        if tool.path.exists():
            tools[part.name] = tool
        else:
            missing.append(part)
    return tools, missing


def _stand_in(part: Part) -> Tool | None:
    """The tool that stands in for a build, where it is at hand."""
    wanted = stand_ins().get(part.name)
    return obtain(wanted) if wanted else None


def cached_tool(part: Part) -> Tool:
    """The cached build of a part or its stand-in, under its pins and the stand-in's digest."""
    key, stand_in = cache_key(part, platform_tag()), _stand_in(part)
    if stand_in:
        key += f"-{stand_ins()[part.name].sha256[:12]}"
    tool = stand_in or Tool(part.name, part.version, Path(), Origin.BUILT)
    return replace(tool, path=cache_directory() / "parts" / key / part.name)


def _build_once(part: Part, console: Console, count: str) -> Tool:
    """Build ``part`` unless another process has just done so."""
    stand_in, tool = _stand_in(part), cached_tool(part)
    label, folder = f"{part.name} {tool.version}", tool.path.parent
    waiting = partial(console.say, f"{label}: another process is building it, waiting")
    with hold_lock(part.name, waiting):
        if tool.path.exists():
            return tool
        if stand_in is None:
            console.say(f"{label}: building ({count}), about {part.minutes:g} min on two cores")
        with filling(folder) as draft:
            check_space(draft)
            with writing(draft):
                build(part, draft, console, label, instead=stand_in.path if stand_in else None)
        console.say(f"{label}: {'taken' if stand_in else 'built'}, {folder}")
    return tool
