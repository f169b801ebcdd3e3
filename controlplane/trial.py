"""The control plane for trying a site: the pinned servers with the kinds that sites need. Here
alone other parts of the repository are known, and imported when it is called."""

import hashlib
import os
from collections.abc import Callable, Iterable
from pathlib import Path

from controlplane.client import Manifest
from controlplane.crds import install_crds
from controlplane.server import Binaries, ControlPlane

_CHECKOUT = Path(__file__).resolve().parent.parent


def trial_directory() -> Path:
    """``$FORESITE_TRIAL``, else a folder in the cache that belongs to this checkout alone."""
    from tools.toolchain import cache_directory

    if own := os.environ.get("FORESITE_TRIAL"):
        return Path(own).expanduser().absolute()
    digest = hashlib.sha256(str(_CHECKOUT).encode()).hexdigest()[:8]
    return cache_directory() / "trials" / f"{_CHECKOUT.name}-{digest}"


def bring_up(
    directory: Path, contexts: Iterable[str] = (), say: Callable[[str], object] = print
) -> ControlPlane:
    """Start the control plane of ``directory`` with all CRDs; quick where that has been done."""
    from schemas.kubernetes.objects import load_crds
    from tools.toolchain import locate

    tools = locate(["controlplane"])
    plane = ControlPlane(directory)
    plane.start(Binaries(tools["etcd"].path, tools["kube-apiserver"].path))
    path = plane.kubeconfig(contexts)
    with plane.client() as client:
        applied, unchanged = install_crds(client, load_crds())
    status = plane.status()
    say(f"API server: {status.server}, contexts {', '.join(status.contexts)}")
    say(f"CRDs: {applied} installed, {unchanged} were there already")
    say(f"look at it: {tools['kubectl'].path} --kubeconfig {path} get crds")
    return plane


def serve(plane: ControlPlane, bodies: Iterable[Manifest]) -> None:
    """Make the API server serve the kinds of these objects: its start leaves large ones out."""
    from schemas.kubernetes.objects import load_crds

    kinds = {f"{body['apiVersion']}/{body['kind']}" for body in bodies}
    with plane.client() as client:
        install_crds(client, load_crds(kinds))
