"""Puts custom resource definitions into the API server and waits until they serve."""

import hashlib
import json
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

from controlplane.client import Client, Manifest
from controlplane.errors import ControlPlaneError

_API, _KIND = "apiextensions.k8s.io/v1", "CustomResourceDefinition"
_DIGEST = "foresite.dev/sha256"
_THREADS = 8
_SECONDS = 60.0


def install_crds(client: Client, crds: Iterable[Manifest]) -> tuple[int, int]:
    """Make the server serve ``crds``: how many were put in, and how many were there already."""
    wanted = [_mark(crd) for crd in crds]
    present = {_named(crd) for crd in client.items(_API, _KIND)}
    changed = [crd for crd in wanted if _named(crd) not in present]
    with ThreadPoolExecutor(_THREADS) as pool:
        list(pool.map(client.apply, changed))
    _wait(client, wanted)
    return len(changed), len(wanted) - len(changed)


def _mark(crd: Manifest) -> Manifest:
    """``crd`` with a digest of itself, by which a later start sees that nothing has to be done."""
    digest = hashlib.sha256(json.dumps(crd, sort_keys=True).encode()).hexdigest()
    metadata = crd["metadata"]
    annotations = {**(metadata.get("annotations") or {}), _DIGEST: digest}
    body = {key: value for key, value in crd.items() if key != "status"}
    return {**body, "metadata": {**metadata, "annotations": annotations}}


def _named(crd: Manifest) -> tuple[str, str | None]:
    """The name of a definition and its digest, where it has one."""
    metadata = crd["metadata"]
    return metadata["name"], (metadata.get("annotations") or {}).get(_DIGEST)


def _wait(client: Client, wanted: list[Manifest]) -> None:
    """Wait until all kinds are in the server's lists, where only established ones are."""
    deadline = time.monotonic() + _SECONDS
    for crd in wanted:
        spec, name = crd["spec"], crd["metadata"]["name"]
        for version in (each["name"] for each in spec["versions"] if each["served"]):
            while not client.serves(f"{spec['group']}/{version}", spec["names"]["kind"]):
                if time.monotonic() > deadline:
                    fix = f"`kubectl get crd {name} -o yaml` says why, under status.conditions"
                    message = f"{name} is not established after {_SECONDS:.0f} s"
                    raise ControlPlaneError(message, fix)
                time.sleep(0.05)
