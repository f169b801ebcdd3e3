"""A repository with one small site, an API server of its own, and the processes that work on it."""

import contextlib
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from urllib.parse import urlencode

from components.making.manifest import SITE_LABEL
from controlplane import ApiError, Client, ControlPlane
from controlplane.trial import bring_up
from foresite.delivery.stack.engine import Engine
from foresite.delivery.stack.engines import engine_for
from schemas.facts.site import Site
from schemas.load import load_site
from tests.kit.kills.plan import BACK
from tests.kit.repository import FLEET, without_examples, written_out
from tests.kit.trial import below
from tests.kit.trial import kill as kill_all

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = ("Pulumi.yaml", "__main__.py", "components", "policies", "schemas", "uv.lock")
LIMIT = 300.0
"""Seconds for which a run may go on after a kill: as long as a busy machine may take."""


class World:
    """A repository with one small site, and an API server of its own."""

    def __init__(self, folder: Path) -> None:
        self.root, self.folder = folder / "repository", folder / "server"
        self.environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        self.environment |= {
            "FORESITE_TRIAL": str(self.folder),
            "PYTHONPYCACHEPREFIX": str(folder / "pycache"),
        }
        self.root.mkdir(parents=True)
        for name in PROGRAM:
            source = ROOT / name
            if source.is_dir():
                skipped = shutil.ignore_patterns("__pycache__")
                shutil.copytree(source, self.root / name, ignore=skipped)
            else:
                shutil.copy(source, self.root / name)
        shutil.copytree(FLEET / "sites" / "pod-network", self.root / "sites" / "pod-network")
        (self.root / ".venv").symlink_to(sys.prefix)
        self._plurals: dict[tuple[str, str], str] = {}
        self.plane = self.start()
        self.client: Client = self.plane.client()

    def start(self) -> ControlPlane:
        """Bring the API server up, or up again."""
        return bring_up(self.folder, ["mgmt-lab"], lambda _: None)

    def close(self) -> None:
        """Take the server away."""
        self.client.close()
        ControlPlane(self.folder).wipe()

    def write(self, name: str, case: str, *, changed: bool) -> Site:
        """Write the files of the one site, as it is or with the change."""
        sites = self.root / "sites"
        for path in sites.glob("*.*"):
            path.unlink()
        yaml, hosts = _site_files(case, changed=changed)
        (sites / f"{name}.yaml").write_text(without_examples(yaml).replace("lab-1", name))
        (sites / f"{name}.hosts.csv").write_text(hosts.replace("lab-1", name))
        loaded = load_site(self.root, name)
        if loaded.site is None:
            raise ValueError("\n".join(map(str, loaded.problems)))
        return loaded.site

    def command(self, *arguments: str, at_once: int = 0) -> "subprocess.Popen[str]":
        """Start the command line for the site; Pulumi writes so many objects at a time."""
        program = [sys.executable, "-m", "foresite", "--root", str(self.root)]
        return self._start([*program, *arguments], ROOT, self.environment, at_once)

    def engine(self, site: Site) -> Engine:
        """Pulumi as the command line runs it here; one world a process."""
        os.environ.update(self.environment)
        return engine_for(self.root, site, trial=True)

    def plain_up(self, site: Site, at_once: int) -> "subprocess.Popen[str]":
        """Start Pulumi itself, which writes the state at each step."""
        engine = self.engine(site)
        engine.select()
        env = {k: v for k, v in engine.environment.items() if k != "PULUMI_SKIP_CHECKPOINTS"}
        command = [str(engine.pulumi), "up", "--stack", site.name, "--yes", "--skip-preview",
                   "--non-interactive"]  # fmt: skip
        return self._start(command, engine.program, env, at_once)

    def _start(
        self, command: list[str], folder: Path, env: dict[str, str], at_once: int
    ) -> "subprocess.Popen[str]":
        if at_once:
            env = {**env, "PULUMI_PARALLEL": str(at_once)}
        return subprocess.Popen(
            command, cwd=folder, env=env, text=True, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip

    def object_versions(self, site: Site, kinds: Iterable[tuple[str, str]]) -> set[tuple[str, ...]]:
        """A site's objects in the versions that they have now: each write makes another. Empty
        where the server is away."""
        selector = urlencode({"labelSelector": f"{SITE_LABEL}={site.name}"})
        found: set[tuple[str, ...]] = set()
        for api, kind in kinds:
            try:
                body = self.client.request("GET", f"{self._path(api, kind)}?{selector}")
            except (OSError, ApiError):
                return set()
            found |= {
                (kind, each["metadata"]["name"], each["metadata"]["resourceVersion"])
                for each in body["items"]
            }
        return found

    def _path(self, api: str, kind: str) -> str:
        group = f"/apis/{api}" if "/" in api else f"/api/{api}"
        if (api, kind) not in self._plurals:
            for row in self.client.request("GET", group)["resources"]:
                if "/" not in row["name"]:
                    self._plurals[api, row["kind"]] = row["name"]
        return f"{group}/{self._plurals[api, kind]}"


_REPLACED = ("taints: []", "taints: [], health_check: {remedy: replace}")


def _site_files(case: str, *, changed: bool) -> tuple[str, str]:
    """The site's file and its hosts. A change adds (a pool with a host), updates (a rack, time
    servers), replaces (templates of another operating system) and deletes (the template of power
    cycles).

    One that is taken back adds and deletes the other way round: what is protected once it was made
    needs a person to go.
    """
    yaml, hosts = (
        (written_out() / "sites" / f"lab-1{end}").read_text(encoding="utf-8")
        for end in (".yaml", ".hosts.csv")
    )
    if (case == BACK) != changed:
        yaml = yaml.replace(*_REPLACED)
    if not changed:
        return yaml, hosts
    pool = "" if case == BACK else "  - {name: more, hardware: t4-pcie-16gb-x1, taints: []}\n"
    yaml = yaml.replace("}\n\naccelerators:", f", os: rocky-9}}\n{pool}\naccelerators:", 1)
    yaml = yaml.replace("ntp: [10.18.0.2]", "ntp: [10.18.0.3]")
    row = "lab-1-more-001,more,lab,lab-01,10.26.0.14,52:54:00:03:00:04,10.18.0.14,EX7610C127\n"
    return yaml, hosts.replace("lab-01", "lab-02", 1) + (row if pool else "")


def command_lines(pid: int) -> dict[int, str]:
    """Every process below one, with its command line."""
    found: dict[int, str] = {}
    for child in below(pid):
        with contextlib.suppress(OSError):  # it has ended
            text = Path(f"/proc/{child}/cmdline").read_bytes().replace(b"\0", b" ")
            found[child] = text.decode(errors="replace")
    return found


def engine_of(pid: int) -> int:
    """The Pulumi process that does the work: a command's own child, or the command."""
    if b"pulumi\0up" in Path(f"/proc/{pid}/cmdline").read_bytes():
        return pid
    for child, line in command_lines(pid).items():
        if re.search(r"/pulumi (up|refresh|preview|stack|cancel)", line):
            return child
    return 0


def find_process(process: "subprocess.Popen[str]", name: str) -> int:
    lines = command_lines(process.pid).items()
    found = (pid for pid, line in lines if name in line.split(" ")[0] or f"/{name}" in line)
    return next(found, 0)


def until(done: Callable[[], bool], process: "subprocess.Popen[str] | None") -> bool:
    """True if a condition comes true while a process runs."""
    limit = time.monotonic() + LIMIT
    while time.monotonic() < limit:
        if done():
            return True
        if process is not None and process.poll() is not None:
            return False
        time.sleep(0.01)
    raise TimeoutError("it took too long")


def wait(process: "subprocess.Popen[str]") -> tuple[int, str]:
    """A command's exit code, and its output."""
    try:
        said, _ = process.communicate(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        kill_all(process.pid)
        process.wait()
        return -1, f"it did not end in {LIMIT:.0f} s"
    return process.returncode, said
