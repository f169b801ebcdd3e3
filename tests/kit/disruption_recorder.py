"""The recorder of disruptions at work: with the account that the site's objects make for it."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from components.teams.disruptions import NAME, recorder
from controlplane import Access, Client
from schemas.facts.site import Site


@contextlib.contextmanager
def recording(site: Site, client: Client, access: Access, folder: Path) -> Iterator[None]:
    """The program of ``site`` watches the server of ``access``; ``folder`` gets its token."""
    made = [each.body for each in recorder(site)]
    for body in made:
        client.apply(body)
    path = f"/api/v1/namespaces/{NAME}/serviceaccounts/{NAME}/token"
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    token = client.request("POST", path, request)["status"]["token"]
    (folder / "token").write_text(token)
    (folder / "ca.crt").write_text(access.authority)
    (program,) = (each["data"]["recorder.py"] for each in made if each["kind"] == "ConfigMap")
    environment = {**os.environ, "SERVER": access.server, "ACCOUNT": str(folder)}
    command = [sys.executable, "-u", "-c", program]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) as started:
        try:
            assert started.stdout
            assert b"watches" in started.stdout.readline()
            yield
        finally:
            started.kill()
