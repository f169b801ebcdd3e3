"""How long a preview takes, and whether its cost follows the change or the fleet.

``python -m bench.preview`` makes repositories of 1 to 1,000 sites, changes one site or what all
share, and times `foresite preview` as a user runs it, Python's start included. Beside it, in the
same run, the way of tools that diff what they render: each rival is told which sites to look at,
renders both states of these, and diff compares the texts. It says nothing of machines.
``--sharded 10000`` judges a change of so many sites in shards as well.
"""

import argparse
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench import fleet, inputs, runs
from bench.clock import Run, Times, environment, measure
from bench.fleet import ROOT
from bench.offline import OUT
from bench.page import write_results
from preview.shards import worth
from schemas.load import load

SIZES = (1, 10, 100, 1000)
HARDWARE = "schemas/catalogue/hardware.yaml"
FORESITE = "foresite preview"
FEW = 100
"""Sites up to which rivals are measured where all sites change: beyond it takes them minutes."""
RIVALS = ("helm", "jsonnet")
"""The two fastest of those that bench.offline measures."""
_NAMED = "-c user.name=bench -c user.email=bench@example.com"
Commands = Sequence[Sequence[str | Path]]


@dataclass(frozen=True, slots=True)
class Change:
    """A change of a repository: what it is called, what it does, whether it reaches all sites."""

    name: str
    do: Callable[[Path, str], None]
    every: bool = False


@dataclass(frozen=True, slots=True)
class Measured:
    """The measurements of one change in a repository of ``sites`` sites."""

    change: str
    sites: int
    touched: int
    times: dict[str, Times] = field(default_factory=dict)


def _replace(file: Path, old: str, new: str) -> None:
    text = file.read_text(encoding="utf-8")
    if old not in text:
        raise ValueError(f"{file} has no {old!r}")
    file.write_text(text.replace(old, new, 1), encoding="utf-8")


def _rollout(root: Path, site: str) -> None:
    _replace(root / "sites" / f"{site}.yaml", "max_unavailable: 2", "max_unavailable: 3")


def _serial(root: Path, site: str) -> None:
    file = root / "sites" / f"{site}.hosts.csv"
    lines = file.read_text(encoding="utf-8").split("\n")
    lines[5] = lines[5].rpartition(",")[0] + ",EXCHANGED1"
    file.write_text("\n".join(lines), encoding="utf-8")


def change_profile(root: Path, _site: str) -> None:
    text = (root / HARDWARE).read_text(encoding="utf-8")
    start = text.index("v100-sxm2-32gb-x8:")
    changed = text[start:].replace("0000:00:17.0-ata-1", "0000:00:17.0-ata-2", 1)
    (root / HARDWARE).write_text(text[:start] + changed, encoding="utf-8")


CHANGES = (
    Change("one value of one site", _rollout),
    Change("one host's serial number, compared with all sites", _serial),
    Change("a hardware profile that all sites use", change_profile, every=True),
)


def main(arguments: list[str] | None = None) -> int:
    """Measure every change at every size, print and write the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.preview", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="times that each run is done")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, metavar="SITES")
    parser.add_argument("--sharded", type=int, default=0, metavar="SITES", help="and in shards")
    parser.add_argument("--hosts", type=int, default=fleet.USUAL, help="of each site")
    options = parser.parse_args(arguments)
    found: list[Measured] = []
    with tempfile.TemporaryDirectory(prefix="foresite-bench-") as name:
        scratch = Path(name)
        env = environment(scratch)
        for sites in options.sizes:
            root = repository(scratch / f"fleet-{sites}", sites, options.hosts)
            for change in CHANGES:
                found.append(_measure(change, root, sites, options.rounds, env))
                print(f"{change.name}, {sites} sites: done", file=sys.stderr, flush=True)
            shutil.rmtree(root)
        if options.sharded:
            for line in _sharded(scratch, options.sharded, options.hosts, env):
                print(line, flush=True)
    changes = [
        {
            "change": each.change,
            "sites": each.sites,
            "touched": each.touched,
            "tools": {tool: times.as_dict() for tool, times in each.times.items()},
        }
        for each in found
    ]
    write_results(OUT / "preview", {"changes": changes}, "\n".join(_table(found)))
    return 0


def repository(root: Path, sites: int, hosts: int) -> Path:
    """A repository of made-up sites in one commit."""
    fleet.make(root, sites, hosts)
    shutil.copy(ROOT / "Pulumi.yaml", root)
    shutil.copytree(ROOT / "schemas" / "catalogue", root / "schemas" / "catalogue")
    for command in (
        "git init -q -b main .",
        "git add -A",
        "git config gc.auto 0",
        f"git {_NAMED} commit -q --no-gpg-sign -m base",
        "git gc -q",
    ):
        subprocess.run(shlex.split(command), cwd=root, check=True)
    return root


def _sharded(scratch: Path, sites: int, hosts: int, env: dict[str, str]) -> Iterator[str]:
    """A change that touches all sites in shards, each of which may be a machine's: what each takes,
    one after the other, then the merge, and how large the reports are."""
    root, out = repository(scratch / "sharded", sites, hosts), scratch / "report"
    change_profile(root, "")
    subprocess.run(shlex.split(f"git {_NAMED} commit -qam new --no-gpg-sign"), cwd=root, check=True)
    command: list[str | Path] = [sys.executable, "-m", "foresite", "--root", root, "preview"]
    command += ["--base", "HEAD~1", "--head", "HEAD"]
    parts = worth(sites) or ["1/1"]
    files = {part: scratch / f"{number}.json" for number, part in enumerate(parts)}
    calls: dict[str, Sequence[str | Path]] = {
        **{part: ["--shard", part, "--out", file] for part, file in files.items()},
        "merge": ["--out", out, "--merge", *files.values()],
    }
    for name, more in calls.items():
        times = Times()
        measure(Run(name, "", [[*command, *more]], [scratch / "printed"]), env, 1800.0, times)
        figures = f"{times.best:.1f} s, {times.cpu[0]:.1f} s of processors"
        yield f"{name}: {figures}, {times.memory >> 20} MiB in the largest process"
    yield from (f"{file.name}: {file.stat().st_size:,} bytes" for file in sorted(out.iterdir()))


def _measure(change: Change, root: Path, sites: int, rounds: int, env: dict[str, str]) -> Measured:
    names = sorted(path.stem for path in (root / "sites").glob("*.yaml"))
    middle = names[len(names) // 2]
    touched = names if change.every else [middle]
    with tempfile.TemporaryDirectory(dir=root.parent) as folder:
        out = Path(folder)
        compared = touched if len(touched) <= FEW else []
        before = _rendering(root, compared, out / "before")
        change.do(root, middle)
        after = _rendering(root, compared, out / "after")
        command: list[str | Path] = [sys.executable, "-m", "foresite", "--root", root, "preview"]
        jobs = [Run(FORESITE, "", [command], [out / "preview.out"])]
        jobs += [_both(name, before[name], after[name], out) for name in before]
        times = {job.tool: Times() for job in jobs}
        for _ in range(rounds):
            for job in jobs:
                measure(job, env, 300.0, times[job.tool])
        found = Measured(change.name, sites, len(touched), times)
    subprocess.run(["git", "checkout", "-q", "."], cwd=root, check=True)
    return found


def _rendering(root: Path, names: list[str], folder: Path) -> dict[str, Commands]:
    """For each rival the commands that render the sites as they are, its inputs in ``folder``."""
    there = runs.built_tools()
    chosen = {tool: there[tool] for tool in RIVALS if tool in there and names}
    if chosen:
        sites = [each.site for each in load(root, names, ()).values() if each.site]
        inputs.write(folder, root, sites)
        (folder / "out").mkdir()
    forms = runs.rivals(chosen, folder, folder / "out", names)
    return {each[-1].tool: each[-1].commands for each in forms}


def _both(tool: str, before: Commands, after: Commands, out: Path) -> Run:
    """One shell that renders both states and compares them, a site after the other."""
    lines = []
    for old, new in zip(before, after, strict=True):
        first, second = (shlex.join(map(str, command)) for command in (old, new))
        lines.append(f"{first} > a; {second} > b; diff -u a b || true")
    script = out / f"{tool}.sh"
    script.write_text(f"set -e\ncd {out}\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return Run(f"{tool}, both sides, and diff", "", [["sh", script]], [out / f"{tool}.out"])


def _table(found: list[Measured]) -> Iterator[str]:
    """Seconds, and in brackets how many times those of ``foresite preview``."""
    columns = list(dict.fromkeys(tool for each in found for tool in each.times))
    yield "| change | sites | touched | " + " | ".join(columns) + " |"
    yield "|---" * (3 + len(columns)) + "|"
    for each in found:
        ours = each.times[FORESITE].best
        cells = [
            f"{times.best:.2f} s ({times.best / ours:.1f})" if times else "-"
            for times in map(each.times.get, columns)
        ]
        yield f"| {each.change} | {each.sites:,} | {each.touched:,} | {' | '.join(cells)} |"


if __name__ == "__main__":
    sys.exit(main())
