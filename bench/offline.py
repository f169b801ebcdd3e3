"""How long check and render take, against other tools that make the same objects, in one run.

``python -m bench.offline`` prints a table and writes it and the figures to bench/out.
"""

import argparse
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from bench import fleet, inputs, runs
from bench.clock import Run, Times, environment, measure
from bench.inputs import objects_of
from bench.page import write_results
from bench.same import differences, read
from schemas.facts.site import Site
from schemas.load import load

SIZES = ((1, 100), (1, 400), (10, 400), (100, 400), (1, 4000))
"""Sites, and hosts of each."""
OUT = Path(__file__).resolve().parent / "out"
_OFTEN, _SELDOM = 3.0, 20.0
"""Seconds up to which a run is done three times as often, and from which it is done once."""


@dataclass(frozen=True, slots=True)
class Measured:
    """The measurements at one size: for each tool its form of calls, and its times."""

    sites: int
    hosts: int
    objects: int
    tools: dict[str, tuple[str, Times]]

    def as_dict(self) -> dict[str, object]:
        """The figures as plain data."""
        tools = {tool: {"form": form, **t.as_dict()} for tool, (form, t) in self.tools.items()}
        return {"sites": self.sites, "hosts": self.hosts, "objects": self.objects, "tools": tools}


def main(arguments: list[str] | None = None) -> int:
    """Measure all sizes; 1 where a tool did not make the same objects."""
    options = _parser().parse_args(arguments)
    found = []
    with tempfile.TemporaryDirectory(prefix="foresite-bench-") as name:
        for sites, hosts in options.sizes:
            found.append(_size(options, Path(name), sites, hosts))
            print(f"{sites} x {hosts}: done", file=sys.stderr, flush=True)
    versions = {rival.name: str(rival.version) for rival in runs.RIVALS}
    figures = {"versions": versions, "sizes": [each.as_dict() for each in found]}
    write_results(OUT / "offline", figures, "\n".join(_table(found)))
    return 0


def _parser() -> argparse.ArgumentParser:
    def size(text: str) -> tuple[int, int]:
        sites, _, hosts = text.partition("x")
        return int(sites), int(hosts)

    parser = argparse.ArgumentParser(prog="python -m bench.offline", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="times that each run is repeated")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds that a run may take")
    parser.add_argument("--sizes", type=size, nargs="+", default=SIZES, metavar="SITESxHOSTS")
    parser.add_argument(
        "--no-compare", dest="compare", action="store_false", help="trust that objects are equal"
    )
    return parser


def _size(options: argparse.Namespace, scratch: Path, sites: int, hosts: int) -> Measured:
    folder, env = scratch / f"{sites}x{hosts}", environment(scratch)
    names = fleet.make(folder / "fleet", sites, hosts)
    made = [each.site for each in load(folder / "fleet").values() if each.site is not None]
    inputs.write(folder / "inputs", folder / "fleet", made)
    out = folder / "out"
    out.mkdir()
    ours = [[run] for run in runs.ours(folder / "fleet", folder / "inputs", out)]
    others = runs.rivals(runs.built_tools(), folder / "inputs", out, names)
    chosen = [_fastest(forms, env, options.limit) for forms in chain(ours, others)]
    for number in range(options.rounds * 3):
        for run, times in chosen:
            often = times.best < _OFTEN or number < options.rounds
            if often and times.best < _SELDOM:
                measure(run, env, options.limit, times)
    if options.compare:
        _compare(chosen, made, out)
    objects = sum(len(objects_of(site)) for site in made)
    shutil.rmtree(folder)
    return Measured(sites, hosts, objects, {run.tool: (run.form, times) for run, times in chosen})


def _fastest(forms: list[Run], env: Mapping[str, str], limit: float) -> tuple[Run, Times]:
    """The form of calls that takes a tool least, each tried once; the others are cut short."""
    best: tuple[Run, Times] | None = None
    for run in forms:
        times = Times()
        if measure(run, env, limit if best is None else best[1].best, times) or best is None:
            best = run, times
    assert best is not None
    return best


def _compare(chosen: list[tuple[Run, Times]], sites: list[Site], out: Path) -> None:
    """Stop unless every tool that came to its end made what Foresite makes."""
    wanted = [body for site in sites for body in objects_of(site)]
    written = {
        "json alone": lambda: (out / "json").glob("*.json"),
        "foresite render": lambda: (out / "rendered").rglob("*.yaml"),
    }
    for run, times in chosen:
        if times.limit is not None or run.tool == "foresite check":
            continue
        paths = written[run.tool]() if run.tool in written else iter(run.objects)
        said = differences(wanted, (body for path in paths for body in read(path)))
        if said:
            sys.exit(f"{run.tool} made other objects:\n" + "\n".join(said[:10]))


def _table(found: list[Measured]) -> Iterator[str]:
    """Seconds, and in brackets how many times those of ``foresite render``."""
    sizes = (f"{e.sites} site{'s' * (e.sites > 1)} of {e.hosts:,} hosts" for e in found)
    yield f"| | {' | '.join(sizes)} |"
    yield "|---" * (len(found) + 1) + "|"
    yield "| objects | " + " | ".join(f"{each.objects:,}" for each in found) + " |"
    names = dict.fromkeys(chain.from_iterable(each.tools for each in found))
    for tool in names:
        yield f"| {tool} | " + " | ".join(_cell(each, tool) for each in found) + " |"


def _cell(measured: Measured, tool: str) -> str:
    if tool not in measured.tools:
        return "-"
    (_, times), (_, ours) = measured.tools[tool], measured.tools["foresite render"]
    more = "" if times.wall else "> "
    seconds = f"{times.best:.2f}" if times.best < 10 else f"{times.best:.0f}"
    ratio = times.best / ours.best
    shown = f"{ratio:.2f}" if ratio < 10 else f"{ratio:.0f}"
    return f"{more}{seconds} s ({more}{shown})"


if __name__ == "__main__":
    sys.exit(main())
