"""How long Pulumi takes for a site on a real API server: ours, a plain program, and the limit.

``python -m bench.engine [SITE]``: a preview, the first ``up`` and an ``up`` with nothing to do, on
API servers of their own; an ``up`` that is killed and taken over; the same objects by server-side
apply alone. Figures go to bench/out.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from bench import clock
from bench.fleet import ROOT
from bench.offline import OUT
from bench.page import write_results
from components.making.manifest import Json, Target
from schemas.facts.site import Site
from schemas.load import load_site
from tests.kit.trial import count, expect, kill, manifests_of, server
from tools.toolchain import environment, locate

PLAIN = ROOT / "bench" / "plain"
CONNECTIONS = 16
FORESITE, BARE, APPLY = "foresite", "plain program", "server-side apply"
STEPS = ("preview", "first up", "up, nothing to do")
HOST = ("metal3.io/v1alpha1", "BareMetalHost")
FORESITE_COMMAND: tuple[str | Path, ...] = (sys.executable, "-m", "foresite", "--root", ROOT)
UP = (*FORESITE_COMMAND, "up", "--trial")
Seconds = dict[str, float]


def main(arguments: list[str] | None = None) -> int:
    """Measure one site and print a table."""
    parser = argparse.ArgumentParser(prog="python -m bench.engine", description=__doc__)
    parser.add_argument("site", nargs="?", default="tokyo-1")
    site = load_site(ROOT, parser.parse_args(arguments).site).site
    if site is None:
        sys.exit("the site has problems: foresite check")
    with tempfile.TemporaryDirectory(prefix="foresite-bench-") as folder:
        cases = {FORESITE: _foresite, BARE: _plain, APPLY: _apply}
        taken = {name: case(site, Path(folder) / name) for name, case in cases.items()}
        recovered = _kill_up(site, Path(folder) / "killed")
    objects = len(manifests_of(site))
    figures = {"site": site.name, "objects": objects, "seconds": taken, "killed": recovered}
    title = f"{site.name}, {objects} objects"
    write_results(OUT / "engine", figures, "\n".join([title, "", *_table(taken), "", recovered]))
    return 0


def _table(taken: Mapping[str, Seconds]) -> Iterator[str]:
    """Seconds of each step, and in brackets how many times those of Foresite."""
    yield f"| | {' | '.join(STEPS)} |"
    yield "|---" * (len(STEPS) + 1) + "|"
    for name, seconds in taken.items():
        cells = [
            f"{seconds[step]:.1f} s ({seconds[step] / taken[FORESITE][step]:.2f})"
            if step in seconds
            else "-"
            for step in STEPS
        ]
        yield f"| {name} | {' | '.join(cells)} |"


def _environment(folder: Path) -> dict[str, str]:
    """The environment of commands: Python's modules compiled, but not into the checkout."""
    return clock.environment(folder.parent) | {"FORESITE_TRIAL": str(folder / "server")}


def _time_command(command: Sequence[str | Path], env: Mapping[str, str], folder: Path) -> float:
    started = time.perf_counter()
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
    taken = time.perf_counter() - started
    if done.returncode != 0:
        sys.exit(f"{command[0]} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return taken


def _foresite(site: Site, folder: Path) -> Seconds:
    """As a user runs it: the command line, with its check of all objects."""
    with server(site, folder) as plane:
        env = _environment(folder)
        up = [*UP, site.name]
        preview = [*up[:-1], "--preview", site.name]
        _time_command(preview, env, ROOT)  # makes the stack, compiles modules
        taken = [_time_command(preview, env, ROOT)]
        taken += [_time_command(up, env, ROOT) for _ in STEPS[1:]]
        expect(plane, manifests_of(site))
        return dict(zip(STEPS, taken, strict=True))


def _plain(site: Site, folder: Path) -> Seconds:
    """The plain program, with Pulumi's own defaults."""
    with server(site, folder) as plane:
        rendered = folder / "rendered"
        render = [*FORESITE_COMMAND, "render", site.name, "--out", rendered]
        _time_command(render, _environment(folder), ROOT)
        env = _defaults(folder) | {
            "KUBECONFIG": str(plane.kubeconfig()),
            "PLAIN_MANIFESTS": str(rendered / site.name / Target.MANAGEMENT.value),
        }
        program = _copy(folder / "program")
        pulumi: list[str | Path] = [Path(env["PULUMI_HOME"]) / "bin" / "pulumi"]
        _time_command([*pulumi, "stack", "init", site.name], env, program)
        options = ["--non-interactive", "--color", "never"]
        _time_command([*pulumi, "preview", *options], env, program)  # compiles modules
        preview, up = [*pulumi, "preview", *options], [*pulumi, "up", "--yes", "--skip-preview"]
        steps = (preview, [*up, *options], [*up, *options])
        taken = [_time_command(each, env, program) for each in steps]
        expect(plane, manifests_of(site))
        return dict(zip(STEPS, taken, strict=True))


def _defaults(folder: Path) -> dict[str, str]:
    """The same Pulumi in a home of its own, where nothing keeps it from its usual debug logs."""
    env = environment(locate(["pulumi"]), folder / "state", _environment(folder))
    home = folder / "home"
    shutil.copytree(env["PULUMI_HOME"], home, ignore=shutil.ignore_patterns("logs"))
    path = os.pathsep.join([str(home / "bin"), env["PATH"]])
    return env | {"PULUMI_HOME": str(home), "PATH": path}


def _copy(program: Path) -> Path:
    """The plain program with this interpreter's packages: Pulumi writes settings beside it."""
    program.mkdir(parents=True)
    text = (PLAIN / "Pulumi.yaml").read_text(encoding="utf-8")
    settings = f"  options:\n    virtualenv: {sys.prefix}\n"
    (program / "Pulumi.yaml").write_text(text + settings, encoding="utf-8")
    (program / "__main__.py").symlink_to(PLAIN / "__main__.py")
    return program


def _apply(site: Site, folder: Path) -> Seconds:
    """The least that can be done: each object applied once, over many connections."""
    with server(site, folder) as plane, plane.client() as client:
        first, *rest = [each.body for each in manifests_of(site)]
        taken = []
        for _ in STEPS[1:]:
            started = time.perf_counter()
            client.apply(first)
            with ThreadPoolExecutor(CONNECTIONS) as pool:
                list(pool.map(client.apply, rest))
            taken.append(time.perf_counter() - started)
        return dict(zip(STEPS[1:], taken, strict=True))


def _kill_up(site: Site, folder: Path) -> str:
    """Kill an ``up`` in the middle, run the next, and report the result."""
    wanted = manifests_of(site)
    with server(site, folder) as plane, plane.client() as client:
        env = _environment(folder)
        up, silent = [*UP, site.name], subprocess.DEVNULL
        with subprocess.Popen(up, env=env, cwd=ROOT, stdout=silent, stderr=silent) as process:
            made = 0
            while made < len(site.hosts) // 2:
                if process.poll() is not None:
                    sys.exit("the up was over before it could be killed")
                time.sleep(0.02)
                made = count(client, *HOST, site.name) or 0
            kill(process.pid)
        taken = _time_command(up, env, ROOT)
        expect(plane, wanted)
        known = _logical_names(site, folder, env)
    missing = {each.name for each in wanted} - known
    said = "yes" if not missing else f"NO, the state lacks {len(missing)}"
    return (
        f"killed when {made} of {len(site.hosts)} hosts were there; recovered by the next up: "
        f"{said}, {len(wanted)} objects, {taken:.1f} s"
    )


def _logical_names(site: Site, folder: Path, env: Mapping[str, str]) -> set[str]:
    """The logical names of a stack's objects."""
    state = folder / "server" / "pulumi"
    pulumi = environment(locate(["pulumi"]), state, env)
    done = subprocess.run(
        [Path(pulumi["PULUMI_HOME"]) / "bin" / "pulumi", "stack", "export", "--stack", site.name],
        cwd=folder / "server" / "program",
        env=pulumi,
        capture_output=True,
        text=True,
        check=True,
    )
    resources: list[Json] = json.loads(done.stdout)["deployment"]["resources"]
    return {each["urn"].rpartition("::")[2] for each in resources}


if __name__ == "__main__":
    sys.exit(main())
