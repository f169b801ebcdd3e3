"""The fleet that the real Flux applies (flux.py): three sites in three rings, and what is changed
of what Foresite renders for them."""

import shutil
from pathlib import Path
from typing import Any

import yaml

from components.making.manifest import Manifest as Made
from foresite.cli import main as foresite
from tests.kit.management import put
from tests.real.live import world
from tests.real.live.fake_metal3 import FakeMetal3, Life
from tests.real.live.state import SITE, Edit, State, boot, start

SITES = ("lab", "ring-1", "fleet")
"""One in each ring; two have names that an engine might give to its own objects."""
NAMESPACE, POOL = "foresite", "two"
_START = start({"control": {"a": 2}, POOL: {"a": 4}}).edited(Edit({"pools.control.spares": 1}))
STATES = [
    _START,
    *(
        _START.edited(Edit({f"pools.{POOL}.first_boot": boot(f"10.40.0.{number}")}))
        for number in range(4, 8)
    ),
]
"""The fleet as it is first, and four other contents of its pool, for each of which it rolls."""
SOAK_SECONDS = 6
_TIMES = {"interval": "5s", "retryInterval": "1s", "timeout": "5s"}
Json = dict[str, Any]


class Hosts(FakeMetal3):
    """Hosts, of which none of the namespace ``broken`` gets up."""

    broken = ""

    def _boot(self, machine: Json, life: Life) -> None:
        if machine["metadata"]["namespace"] != self.broken:
            super()._boot(machine, life)


def repository(root: Path, state: State, soak: int) -> None:
    """A repository with the sites, alike but for names and addresses; a ring soaks for ``soak``
    minutes."""
    shutil.rmtree(root, ignore_errors=True)
    (root / "sites").mkdir(parents=True)
    put(root, "trial")
    manifests = {"repository": "https://git.example/fleet.git", "path": "rendered"}
    said = {"rings": {"soak_minutes": soak}, "manifests": manifests}
    (root / "fleet.yaml").write_text(yaml.safe_dump(said))
    state.write(root)
    for end in (".yaml", ".hosts.csv"):
        file = root / "sites" / f"{SITE}{end}"
        for number, name in enumerate(SITES):
            text = _renamed(file.read_text(), number, name)
            ring = f"ring: {number}\n" if end == ".yaml" else ""
            (root / "sites" / f"{name}{end}").write_text(text + ring)
        file.unlink()


def _renamed(text: str, number: int, name: str) -> str:
    """A site's file with a name and addresses of its own."""
    changes = {
        "10.40.": f"10.{42 + 2 * number}.",
        "10.41.": f"10.{43 + 2 * number}.",
        "52:54:00:04": f"52:54:00:1{number}",
        "EX4": f"E{number}4",
        "control-a-": f"{name}-control-a-",
        f"{POOL}-a-": f"{name}-{POOL}-a-",
        SITE: name,
    }
    for was, now in changes.items():
        text = text.replace(was, now)
    return text


def render(root: Path, work: Path, url: str) -> None:
    """Render the fleet, and put it into a work tree of Git as it is committed here."""
    out = root.parent / "rendered"
    if code := foresite(["--root", str(root), "render", "--for", "flux", "--out", str(out)]):
        raise AssertionError(f"render: {code}")
    shutil.rmtree(work / "rendered", ignore_errors=True)
    shutil.copytree(out, work / "rendered")
    for name in SITES[1:]:
        folder = work / "rendered" / name / "site"
        shutil.rmtree(folder)
        folder.mkdir()
        place = {"name": f"own-{name}", "namespace": "default"}
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": place}
        (folder / "one.yaml").write_text(yaml.safe_dump(body))
    for path in work.rglob("*.yaml"):
        bodies = yaml.load_all(path.read_text(), yaml.CSafeLoader)
        path.write_text(yaml.safe_dump_all([adapted(each, url) for each in bodies]))


def adapted(body: Json, url: str) -> Json:
    """An object as it is committed here: short times, the server's URL (which is no https), a soak
    in seconds, and the control plane of world.py."""
    if body["kind"] in ("Kustomization", "GitRepository"):
        spec = body["spec"]
        spec.update({key: value for key, value in _TIMES.items() if key in spec})
        spec.update({"url": url} if "url" in spec else {})
        for each in spec.get("dependsOn", ()):
            if "readyExpr" in each:
                each["readyExpr"] = each["readyExpr"].replace("'1m'", f"'{SOAK_SECONDS}s'")
    return world.adapted(Made(body["kind"], body))
