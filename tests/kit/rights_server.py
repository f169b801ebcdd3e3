"""A real API server with RBAC and the objects of a site's own cluster in it."""

import contextlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from components.making.manifest import Manifest, Target
from components.site import site_objects
from controlplane.flags import PLAIN, Options
from controlplane.server import Binaries, running
from schemas.facts.site import Site
from tests.kit.admission_server import As, User, until
from tools.toolchain import locate

UNCOUNTED = ("ResourceQuota", "LimitRange")
"""Without a controller manager a quota refuses every pod, as nobody counts."""


@contextlib.contextmanager
def serving(directory: Path, site: Site, options: Options = PLAIN) -> Iterator[As]:
    """The server, on which the policies of the site judge already."""
    tools = locate(["controlplane"])
    binaries = Binaries(tools["etcd"].path, tools["kube-apiserver"].path)
    made = [
        each
        for part in site_objects(site).values()
        for each in part
        if each.target is Target.SITE and each.kind not in UNCOUNTED
    ]
    with (
        running(directory, binaries, options) as plane,
        As.from_kubeconfig(plane.kubeconfig()) as client,
        ThreadPoolExecutor(4) as pool,
    ):
        for name in {each.key[2] for each in made if each.key[2]}:
            client.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        list(pool.map(lambda each: _apply(client, each), made))
        until(lambda: _judges(client))
        yield client


def _apply(client: As, manifest: Manifest) -> None:
    """Apply an object of Kubernetes' own kinds; others take long to install, and judge nothing."""
    if client.serves(manifest.body["apiVersion"], manifest.kind):
        client.apply(manifest.body)


def _judges(client: As) -> bool:
    """True once policies are in force, which they are a little after they are made."""
    spec = {"hostPID": True, "containers": [{"name": "a", "image": "a"}]}
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": spec}
    return "hostPID" in client.said(User(), "POST", "/api/v1/namespaces/vision/pods", body)
