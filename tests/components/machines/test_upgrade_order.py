"""Workers follow the control plane's version, held by the real API server's admission."""

import time
from collections.abc import Iterator
from typing import Any

import pytest

from components.site import site_objects
from controlplane import ApiError, Client, ControlPlane
from tests.kit.repository import all_sites

pytestmark = pytest.mark.controlplane
SITE = "tsukuba-1"


def deployment(version: str) -> dict[str, Any]:
    """The site's first MachineDeployment, with its machines at ``version``."""
    made = site_objects(all_sites()[SITE])["machines"]
    body = next(m.body for m in made if m.kind == "MachineDeployment")
    template = body["spec"]["template"]
    spec = {**template["spec"], "version": version}
    return {**body, "spec": {**body["spec"], "template": {**template, "spec": spec}}}


def report_version(client: Client, version: str) -> None:
    """The status that the KubeadmControlPlane controller writes when every machine runs
    ``version``."""
    path = (
        f"/apis/controlplane.cluster.x-k8s.io/v1beta2/namespaces/{SITE}/kubeadmcontrolplanes/"
        f"{SITE}/status"
    )
    client.request("PATCH", path, {"status": {"version": version}}, "application/merge-patch+json")


def refusal(client: Client, version: str) -> str:
    try:
        client.apply(deployment(version), dry_run=True)
    except ApiError as error:
        return str(error)
    return ""


def eventually(client: Client, version: str, refused: bool) -> str:
    """The refusal (or its absence) once admission has seen the last change of its parameter."""
    until = time.monotonic() + 30
    while True:
        answer = refusal(client, version)
        if bool(answer) is refused or time.monotonic() > until:
            return answer
        time.sleep(0.2)


@pytest.fixture
def client(api: ControlPlane) -> Iterator[Client]:
    """A client of a server that has the site's machines, but for its hosts.

    Others apply the same site there later, with a field manager of their own: so all goes again,
    but for the namespace, which nobody would finish deleting.
    """
    made = site_objects(all_sites()[SITE])["machines"]
    first = {"Namespace", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"}
    made = sorted(made, key=lambda each: each.kind not in first)
    bodies = [each.body for each in made if each.kind != "BareMetalHost"]
    with api.client() as client:
        for body in bodies:
            client.apply(body)
        yield client
        for body in bodies:
            if body["kind"] != "Namespace":
                metadata = body["metadata"]
                where = (metadata["name"], metadata.get("namespace"))
                client.delete(body["apiVersion"], body["kind"], *where)


def test_workers_wait_for_the_control_plane(client: Client) -> None:
    # Before the control plane has a version there is nothing to hold workers back for.
    assert refusal(client, "v1.35.5") == ""
    report_version(client, "v1.34.3")
    assert "workers must wait" in eventually(client, "v1.35.5", refused=True)
    assert refusal(client, "v1.34.8") == ""
    assert refusal(client, "v1.33.1") == ""
    report_version(client, "v1.35.5")
    assert eventually(client, "v1.35.5", refused=False) == ""
