"""``foresite up``: check a site, register it with ``pulumi up``, and say what there is now."""

import argparse
import json
import os
import re
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from components.manifest import Manifest
from components.site import site_objects
from foresite.check import all_problems, as_json, as_text
from foresite.cli import FAILED, FOUND, OK, UsageError, repository
from foresite.engine import Engine
from schemas.load import load_site
from schemas.site import Site
from tools.toolchain import ToolchainError

_STEP = re.compile(r"^ *(\+|~|-|\+-|\+\+|-\+|=) +(kubernetes:|foresite:)")
_SECONDS_BETWEEN_LINES = 5.0


def run(options: argparse.Namespace) -> int:
    """Check, then ``pulumi up`` (or ``preview``) for one site."""
    root = repository(options)
    loaded = load_site(root, options.site)
    problems = all_problems(loaded)
    if problems or loaded.site is None:
        print((as_json if options.format == "json" else as_text)({loaded.name: loaded}, problems))
        return FOUND
    try:
        engine = _engine(options, root, loaded.site)
    except ToolchainError as error:
        raise UsageError(str(error)) from None
    return _preview(engine) if options.preview else _up(options, engine, loaded.site)


def _engine(options: argparse.Namespace, root: Path, site: Site) -> Engine:
    from tools.toolchain import cache_directory, environment, locate

    tools = locate(["pulumi"])
    notes = cache_directory() / "runs"
    if not options.trial:
        env = {**os.environ, "PULUMI_SKIP_CHECKPOINTS": "true"}
        return Engine(tools["pulumi"].path, env, root, site.name, notes)
    from controlplane import ControlPlane
    from controlplane.trial import trial_directory

    plane = ControlPlane(trial_directory())
    if not plane.status().running:
        raise UsageError("the embedded API server does not run; start it: make controlplane")
    state = trial_directory() / "pulumi"
    env = environment(tools, state) | {
        "KUBECONFIG": str(plane.kubeconfig([site.file.management])),
        "PULUMI_SKIP_CHECKPOINTS": "true",
    }
    home = Path(env["PULUMI_HOME"]) / "bin" / "pulumi"
    return Engine(home, env, root, site.name, state / "runs")


def _select(engine: Engine) -> None:
    if not engine.release_dead_lock(lambda text: print(text, file=sys.stderr)):
        raise UsageError("wait for the other run, or end it")
    selected = engine.select()
    if selected.returncode:
        raise UsageError(f"pulumi: {selected.stderr.strip() or selected.stdout.strip()}")


def _preview(engine: Engine) -> int:
    _select(engine)
    code = engine.follow(
        ["preview", "--stack", engine.stack, "--non-interactive", "--color", "never"], print
    )
    return OK if code == 0 else FAILED


def _up(options: argparse.Namespace, engine: Engine, site: Site) -> int:
    _select(engine)
    objects = site_objects(site)
    every = [manifest for made in objects.values() for manifest in made]
    if engine.interrupted():
        print("the run before did not finish: what it made is taken over", file=sys.stderr)
    left = engine.begin((m.target.value, *m.key) for m in every)
    progress = _Progress(len(every))
    code = engine.follow(
        ["up", "--stack", engine.stack, "--yes", "--skip-preview", "--non-interactive",
         "--color", "never"],
        progress.line,
    )  # fmt: skip
    if code != 0:
        print("\n".join(progress.diagnostics), file=sys.stderr)
        print(f"foresite: pulumi up failed; its whole output: {engine.log}", file=sys.stderr)
        print("foresite: run the same command again to go on", file=sys.stderr)
        return FAILED
    if not left:
        engine.finish()
    _report(options, engine, site, objects, left, progress)
    return OK


class _Progress:
    """Counts what Pulumi says it did, and says so now and then; keeps what it complains of."""

    def __init__(self, total: int, say: Callable[[str], object] | None = None) -> None:
        self.total, self.done = total, 0
        self.diagnostics: list[str] = []
        self.started = self.said = time.monotonic()
        self._complaining = False
        self._say = say or (lambda text: print(text, file=sys.stderr, flush=True))

    def line(self, text: str) -> None:
        """Look at one line of Pulumi's output."""
        if text.startswith("Diagnostics:"):
            self._complaining = True
        elif text.startswith(("Outputs:", "Resources:")):
            self._complaining = False
        if self._complaining:
            self.diagnostics.append(text)
        if _STEP.match(text):
            self.done += 1
        if time.monotonic() - self.said >= _SECONDS_BETWEEN_LINES:
            self.said = time.monotonic()
            self._say(f"  {self.done} steps done, {self.said - self.started:.0f} s")


def _report(
    options: argparse.Namespace,
    engine: Engine,
    site: Site,
    objects: dict[str, list[Manifest]],
    left: list[tuple[str, ...]],
    progress: _Progress,
) -> None:
    counts = {
        name: dict(Counter(manifest.kind for manifest in made)) for name, made in objects.items()
    }
    seconds = round(time.monotonic() - progress.started, 1)
    if options.format == "json":
        report = {"site": site.name, "objects": counts, "left_behind": left, "seconds": seconds}
        print(json.dumps(report, indent=2))
        return
    total = sum(sum(kinds.values()) for kinds in counts.values())
    print(f"\n{site.name}: {total} objects on {site.file.management}, {seconds} s")
    for name, kinds in counts.items():
        print(f"  {name}")
        for kind, number in kinds.items():
            print(f"    {number:5} {kind}")
    for key in left:
        print(f"  left by an interrupted run, and no longer in the site: {' '.join(filter(None, key))}")
    config = engine.environment.get("KUBECONFIG", "")
    flag = f" --kubeconfig {config}" if options.trial else ""
    print(f"\nwhere:     namespace {site.name} on {site.file.management}")
    print(f"look:      kubectl{flag} --context {site.file.management} -n {site.name} get baremetalhosts")
    print(f"what next: pulumi's own output is in {engine.log}")
    if options.trial:
        print("take down: make down")
