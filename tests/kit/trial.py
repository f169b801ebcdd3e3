"""An API server for one measurement: started anew, compared with what is wanted, and gone.

Also ends what runs against it as a crash would: at once, and with everything below it.
"""

import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path

from components.making.manifest import Manifest, Target
from components.site import site_objects
from controlplane import ApiError, Client, ControlPlane
from controlplane.trial import bring_up
from schemas.facts.site import Site

GONE_SECONDS = 10.0
_SILENT: list[str] = []


def manifests_of(site: Site) -> list[Manifest]:
    """The objects of a site on its management cluster."""
    made = (each for manifests in site_objects(site).values() for each in manifests)
    return [each for each in made if each.target is Target.MANAGEMENT]


@contextmanager
def server(site: Site, folder: Path) -> Iterator[ControlPlane]:
    """A new API server with the CRDs, gone when the block is left."""
    try:
        plane = bring_up(folder / "server", [site.file.management], _SILENT.append)
        with plane.client() as client:
            for api_version, kind in {each.key[:2] for each in manifests_of(site)}:
                while count(client, api_version, kind) is None:
                    time.sleep(0.05)
        yield plane
    finally:
        ControlPlane(folder / "server").wipe()


def count(client: Client, api_version: str, kind: str, namespace: str | None = None) -> int | None:
    """How many objects there are; None while the server is still making room for a new kind."""
    try:
        return len(client.items(api_version, kind, namespace))
    except ApiError as error:
        if error.status != HTTPStatus.TOO_MANY_REQUESTS:
            raise
        return None


def expect(plane: ControlPlane, manifests: list[Manifest]) -> None:
    """Stop unless the server has each object as it was meant to be."""
    with plane.client() as client:
        for kind in {each.key[:3] for each in manifests}:
            api_version, name, namespace = kind
            listed = client.items(api_version, name, namespace or None)
            there = {each["metadata"]["name"]: each for each in listed}
            for manifest in manifests:
                found = there.get(manifest.key[3])
                if manifest.key[:3] == kind and not (found and _holds(found, manifest.body)):
                    sys.exit(f"the server lacks {' '.join(manifest.key)}, or has it differently")


def _holds(found: object, wanted: object) -> bool:
    """True if ``found`` has all the fields of ``wanted``; a server adds defaults and status."""
    if isinstance(wanted, dict):
        return isinstance(found, dict) and all(_holds(found.get(k), v) for k, v in wanted.items())
    if isinstance(wanted, list):
        return (
            isinstance(found, list)
            and len(found) == len(wanted)
            and all(map(_holds, found, wanted))
        )
    return found == wanted


def below(pid: int) -> list[int]:
    """Every process below one."""
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        except OSError:
            continue
        children.setdefault(int(fields[1]), []).append(int(stat.parent.name))
    found, todo = list[int](), [pid]
    while todo:
        more = children.get(todo.pop(), [])
        found, todo = found + more, todo + more
    return found


def kill(pid: int) -> None:
    """SIGKILL a process and all below it, in whatever session."""
    found = [pid, *below(pid)]
    for each in found:
        try:
            os.kill(each, signal.SIGKILL)
        except ProcessLookupError:
            continue
    deadline = time.monotonic() + GONE_SECONDS
    while any(Path(f"/proc/{each}").exists() for each in found[1:]):
        if time.monotonic() > deadline:
            sys.exit("the killed processes do not go away")
        time.sleep(0.02)
