"""``foresite up``: check a site, register it with ``pulumi up``, and say what there is now."""

import argparse
import json
import os
import re
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from components.manifest import Manifest, Target
from components.site import site_objects
from foresite.check import all_problems, as_json, as_text
from foresite.command import FAILED, FOUND, OK, UsageError, repository
from foresite.engine import Engine, complaint
from schemas.load import load
from schemas.site import Site
from tools.toolchain import ToolchainError

_STEP = re.compile(r"^ *[-+~=]+ +kubernetes:.* (created|updated|deleted|replaced) \(")
_SECONDS_BETWEEN_LINES = 5.0


def run(options: argparse.Namespace) -> int:
    """Check, then ``pulumi up`` (or ``preview``) for one site."""
    root = repository(options)
    sites = sound(root, [options.site], options.format)
    if sites is None:
        return FOUND
    (site,) = sites
    engine = engine_for(root, site, trial=options.trial)
    return _preview(engine) if options.preview else _up(options, engine, site)


def sound(root: Path, names: Sequence[str], form: str) -> list[Site] | None:
    """The named sites (all, where none is named); None where one has problems, which are shown."""
    loaded = load(root, names or None)
    every = (problem for each in loaded.values() for problem in all_problems(each))
    problems = list(dict.fromkeys(every))  # a file that two sites share has its faults once
    if problems:
        print((as_json if form == "json" else as_text)(loaded, problems))
        return None
    return [each.site for each in loaded.values() if each.site is not None]


class Outcome(NamedTuple):
    """What a run that passed made: objects by component, what a killed run before it left that
    the site no longer has, and how long it took."""

    objects: dict[str, list[Manifest]]
    left: list[tuple[str, ...]]
    seconds: float


def engine_for(root: Path, site: Site, *, trial: bool) -> Engine:
    """Pulumi for a site: the caller's own, or the trial's. Raises UsageError without one."""
    try:
        return _trial(root, site) if trial else _own(root, site)
    except ToolchainError as error:
        raise UsageError(str(error)) from None


def _own(root: Path, site: Site) -> Engine:
    """Pulumi as it is installed, with the backend and the kubeconfig of whoever calls."""
    from tools.toolchain import Origin, cache_directory, locate

    pulumi = locate(["pulumi"])["pulumi"]
    if pulumi.origin is not Origin.INSTALLED:
        raise UsageError("install the Pulumi CLI, or try the site with --trial")
    env = dict(os.environ)
    if env.get("PULUMI_BACKEND_URL", "").startswith("file://"):
        env["PULUMI_SKIP_CHECKPOINTS"] = "true"
    return Engine(pulumi.path, env, root, site.name, cache_directory() / "runs")


def _trial(root: Path, site: Site) -> Engine:
    """The pinned Pulumi on the embedded API server, with a state of its own."""
    from controlplane import ControlPlane
    from controlplane.trial import serve, trial_directory
    from tools.toolchain import environment, locate

    folder = trial_directory()
    plane = ControlPlane(folder)
    if not plane.status().running:
        raise UsageError(f"the embedded API server does not run; make up SITE={site.name}")
    if site.file.cluster.context:
        serve(plane, (each.body for made in site_objects(site).values() for each in made))
    tools = locate(["pulumi", "controlplane"])
    env = environment(tools, folder / "pulumi") | {
        "KUBECONFIG": str(plane.kubeconfig(_contexts(site))),
        "PULUMI_SKIP_CHECKPOINTS": "true",
    }
    pulumi = Path(env["PULUMI_HOME"]) / "bin" / "pulumi"
    program = _program(root, folder / "program")
    return Engine(pulumi, env, program, site.name, folder / "runs", tools["kubectl"].path)


def _contexts(site: Site) -> list[str]:
    contexts = (site.file.management, site.file.cluster.context)
    return [context for context in contexts if context]


def _program(root: Path, folder: Path) -> Path:
    """The repository's program by links: Pulumi writes a stack's settings beside its program, and
    those of a trial must not end up in Git."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("Pulumi.yaml", "__main__.py", "components", "schemas", "sites"):
        link = folder / name
        if link.is_symlink() and link.readlink() != root / name:
            link.unlink()
        if not link.is_symlink():
            link.symlink_to(root / name)
    return folder


def select(engine: Engine) -> None:
    """Make sure of the stack, and that nobody else works on it. Raises UsageError."""
    if not engine.release_dead_lock(lambda text: print(text, file=sys.stderr)):
        raise UsageError("wait for the other run, or end it")
    selected = engine.select()
    if selected.returncode:
        raise UsageError(complaint(selected))


def _preview(engine: Engine) -> int:
    select(engine)
    code = engine.follow(
        ["preview", "--stack", engine.stack, "--non-interactive", "--color", "never"], print
    )
    return OK if code == 0 else FAILED


def _up(options: argparse.Namespace, engine: Engine, site: Site) -> int:
    select(engine)
    outcome = register(engine, site)
    if outcome is None:
        return FAILED
    _report(options, engine, site, outcome)
    return OK


def register(engine: Engine, site: Site, message: str = "") -> Outcome | None:
    """``pulumi up`` of a selected stack, with ``message`` in its history; None where it failed.

    What it complains of goes to stderr, and so does how far it is.
    """
    objects = site_objects(site)
    every = [manifest for made in objects.values() for manifest in made]
    if engine.interrupted():
        print("the run before did not finish: what it made is taken over", file=sys.stderr)
    left = engine.begin((m.target.value, *m.key) for m in every)
    progress = _Progress(len(every))
    code = engine.follow(
        ["up", "--stack", engine.stack, "--yes", "--skip-preview", "--non-interactive",
         "--color", "never", *(["--message", message] if message else [])],
        progress.line,
    )  # fmt: skip
    if code != 0:
        print("\n".join(progress.diagnostics), file=sys.stderr)
        print(f"foresite: pulumi up failed; its whole output: {engine.log}", file=sys.stderr)
        print("foresite: mend what it says, and run the same command again", file=sys.stderr)
        return None
    if not left:
        engine.finish()
    return Outcome(objects, left, round(time.monotonic() - progress.started, 1))


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
            seconds = self.said - self.started
            self._say(f"  {self.done} of {self.total} objects changed, {seconds:.0f} s")


def _report(options: argparse.Namespace, engine: Engine, site: Site, outcome: Outcome) -> None:
    objects, left, seconds = outcome
    later = [m for made in objects.values() for m in made if follows(site, m)]
    counts = {
        name: dict(Counter(each.kind for each in made if not follows(site, each)))
        for name, made in objects.items()
    }
    if options.format == "json":
        following = [" ".join(filter(None, each.key)) for each in later]
        report = {"site": site.name, "objects": counts, "following": following,
                  "left_behind": left, "seconds": seconds}  # fmt: skip
        print(json.dumps(report, indent=2))
        return
    print("\n".join(_summary(site, counts, later, left, seconds)))
    print("\n".join(_what_next(options, engine, site)))


def follows(site: Site, manifest: Manifest) -> bool:
    """Whether an object waits for the site's own cluster."""
    return manifest.target is Target.SITE and site.file.cluster.context is None


def _summary(
    site: Site,
    counts: dict[str, dict[str, int]],
    later: list[Manifest],
    left: list[tuple[str, ...]],
    seconds: float,
) -> list[str]:
    total = sum(sum(kinds.values()) for kinds in counts.values())
    lines = [f"\n{site.name}: {total} objects on {site.file.management}, {seconds} s"]
    for name, kinds in counts.items():
        lines.append(f"  {name}")
        lines += [f"    {number:5} {kind}" for kind, number in kinds.items()]
    if later:
        lines += [
            f"\n{len(later)} objects follow once the site's own cluster answers:",
            f"  clusterctl get kubeconfig {site.name} -n {site.name}",
            f"  then write its context as cluster.context in sites/{site.name}.yaml",
        ]
    lines += [
        f"left by an interrupted run, and no longer in the site: {' '.join(filter(None, key))}"
        for key in left
    ]
    return lines


def _what_next(options: argparse.Namespace, engine: Engine, site: Site) -> list[str]:
    context = site.file.management
    flag = f" --kubeconfig {engine.environment['KUBECONFIG']}" if options.trial else ""
    kubectl = str(engine.kubectl or "kubectl")
    return [
        f"\nwhere:     namespace {site.name} on {context}",
        f"look:      {kubectl}{flag} --context {context} -n {site.name} get baremetalhosts",
        f"log:       {engine.log}",
        *(["take down: make down"] if options.trial else []),
    ]
