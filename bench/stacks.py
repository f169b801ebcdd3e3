"""What ``foresite apply`` asks the stacks of a fleet before it applies anything.

``python -m bench.stacks [--sites 20,100] [--hosts 400]``: a repository of so many sites, each with
a stack in a folder that says it is applied at HEAD, as large as its objects make it. Timed are the
whole plan, and the one listing of stacks that it ends with. Pulumi is the pinned one.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from bench import fleet
from bench.clock import Run, Times, measure
from bench.engine import FORESITE_COMMAND
from bench.offline import OUT
from bench.page import write_results
from bench.preview import repository
from components.making.manifest import Json
from foresite.delivery.stack.engine import PASSED
from schemas.facts.site import Site
from schemas.load import load
from tests.kit.trial import manifests_of
from tools.toolchain import environment, locate

PLAN, LIST = "foresite apply --plan", "pulumi stack ls"


def main(arguments: list[str] | None = None) -> int:
    """Measure each size and print a table."""
    parser = argparse.ArgumentParser(prog="python -m bench.stacks", description=__doc__)
    parser.add_argument("--sites", default="20,100")
    parser.add_argument("--hosts", type=int, default=fleet.USUAL)
    options = parser.parse_args(arguments)
    found = []
    for number in map(int, options.sites.split(",")):
        with tempfile.TemporaryDirectory(prefix="foresite-bench-") as folder:
            found.append(_measure(Path(folder), number, options.hosts))
    head = "| sites | plan | its processor time | listing | its processor time | most memory |"
    text = "\n".join([head, "|---" * 6 + "|", *map(_row, found)])
    write_results(OUT / "stacks", {"hosts": options.hosts, "sizes": found}, text)
    return 0


def _measure(folder: Path, sites: int, hosts: int) -> Json:
    root = repository(folder / "repository", sites, hosts)
    head = subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=root, text=True).strip()
    state, out = folder / "state", folder / "out"
    for site in filter(None, (each.site for each in load(root).values())):
        _stack(state / ".pulumi", site, head)
    env = environment(locate(["pulumi"]), state)
    pulumi = Path(env["PULUMI_HOME"]) / "bin" / "pulumi"
    commands: dict[str, list[str | Path]] = {
        LIST: [pulumi, "-C", root, "stack", "ls", "--json"],
        PLAN: [*FORESITE_COMMAND[:-1], root, "apply", "--plan", "--format", "json"],
    }
    found: Json = {"sites": sites}
    for name, command in commands.items():
        times = Times()
        if not measure(Run(name, "", [command], [out]), env, 3600.0, times):
            sys.exit(f"{name} of {sites} sites took over an hour")
        found[name] = times.as_dict()
    if {each["state"] for each in json.loads(out.read_text("utf-8"))["sites"]} != {"up to date"}:
        sys.exit("a site is not as it was applied")
    return {**found, "most MiB": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10}


def _stack(folder: Path, site: Site, commit: str) -> None:
    """A stack as Pulumi keeps it (pulumi 3.255, backend/diy/state.go), applied at a commit."""
    name, kind = site.name, "kubernetes:x:Y"
    common, urn = {"type": kind}, f"urn:pulumi:{name}::foresite::{kind}"
    resources = [
        {**common, "urn": f"{urn}::{each.name}", "inputs": each.body, "outputs": each.body}
        for each in manifests_of(site)
    ]
    latest = {"manifest": {"time": "2026-11-22T10:00:00Z"}, "resources": resources}
    checkpoint = {"stack": f"organization/foresite/{name}", "latest": latest}
    done = {"kind": "update", "result": "succeeded", "message": f"foresite {commit}"}
    files = {
        "meta.yaml": {"version": 1},
        f"stacks/foresite/{name}.json": {"version": 3, "checkpoint": checkpoint},
        f"stacks/foresite/{name}.pulumi-tags": {"version": 1, "tags": {PASSED: commit}},
        f"history/foresite/{name}/{name}-1790000000000000000.history.json": done,
    }
    for path, body in ((folder / name, body) for name, body in files.items()):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(body), encoding="utf-8")


def _row(found: Json) -> str:
    cells = (f"{found[name]['min']:.1f} s | {found[name]['cpu']:.1f} s" for name in (PLAN, LIST))
    return f"| {found['sites']:,} | {' | '.join(cells)} | {found['most MiB']:,} MiB |"


if __name__ == "__main__":
    sys.exit(main())
