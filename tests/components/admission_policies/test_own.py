"""A site's own rules as CEL on a real API server, and what Kubernetes says of their types.

Whether expressions are whole the API server tells at once, and refuses those that are not. Whether
the fields are there it tells only in the policy's status, where the controller manager writes it.
"""

from collections.abc import Iterator
from typing import NamedTuple

import pytest

from components.admission_policies.objects import objects as made
from components.making.manifest import Json
from controlplane import ApiError, ControlPlane
from tests.kit.admission_server import ADMIN, OPERATOR, As, User, serving
from tests.kit.admission_sites import own, with_policies
from tests.kit.twin.cluster.manager import NAME as MANAGER
from tests.kit.twin.cluster.process import OPEN_PATHS, Process, Program
from tests.kit.twin.cluster.process import serving as its_certificate
from tests.kit.waiting import until
from tools.toolchain import locate

pytestmark = [pytest.mark.controlplane, pytest.mark.scheduling]
POLICY = "ValidatingAdmissionPolicy"
API = "admissionregistration.k8s.io/v1"
TYPES = "validatingadmissionpolicy-status-controller"
"""Kubernetes 1.34, cmd/kube-controller-manager/names/controller_names.go."""
MISSPELT = own(
    name="misspelt",
    kinds=["apps/v1/deployments"],
    expression="object.spec.replcas < 100",
    namespaces=["language"],
)
TOLD = own(
    name="told",
    severity="advisory",
    what="ConfigMaps say whom they belong to",
    kinds=["v1/configmaps"],
    namespaces=["vision"],
)


class Here(NamedTuple):
    """The server, and who asks it."""

    plane: ControlPlane
    client: As


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Here]:
    site = with_policies(own(), MISSPELT, TOLD, advisory=["exposed-services"])
    with serving(tmp_path_factory.mktemp("own"), site) as (plane, client):
        until(lambda: client.said(ADMIN, "POST", jobs("vision"), job()))
        yield Here(plane, client)


def jobs(namespace: str) -> str:
    return f"/apis/batch/v1/namespaces/{namespace}/jobs"


def job(**labels: str) -> Json:
    spec = {"containers": [{"name": "main", "image": "a"}], "restartPolicy": "Never"}
    metadata = {"name": "a", "labels": labels}
    body = {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata}
    return {**body, "spec": {"template": {"spec": spec}}}


def config(**labels: str) -> Json:
    metadata = {"name": "a", "namespace": "vision", "labels": labels}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}


@pytest.mark.parametrize("user", [ADMIN, OPERATOR])
def test_a_rule_of_the_sites_own_holds_for_everybody(here: Here, user: User) -> None:
    said = here.client.said(user, "POST", jobs("vision"), job())
    assert "owned.site.foresite.dev" in said
    assert "Jobs say whom they belong to (nobody knows whom to ask about them)" in said
    assert here.client.said(user, "POST", jobs("vision"), job(owner="a")) == ""


def test_it_spares_kubernetes_itself(here: Here) -> None:
    assert here.client.said(ADMIN, "POST", jobs("kube-system"), job()) == ""


def test_a_rule_that_only_warns_lets_pass_and_says_so(here: Here) -> None:
    path = "/api/v1/namespaces/vision/configmaps"
    until(lambda: warned(here.client, path, config()))
    assert any("told.site.foresite.dev" in each for each in here.client.warnings)
    assert not warned(here.client, path, config(owner="a"))


def test_a_rule_of_ours_that_only_warns(here: Here) -> None:
    path = "/api/v1/namespaces/vision/services"
    spec = {"type": "NodePort", "ports": [{"port": 80}]}
    body = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}, "spec": spec}
    until(lambda: warned(here.client, path, body, by=True))
    assert any("exposed-services.foresite.dev" in each for each in here.client.warnings)


def warned(client: As, path: str, body: Json, *, by: bool = False) -> tuple[str, ...]:
    """The warnings to a write that passes; ``by`` an operator without rights on policies."""
    assert client.said(OPERATOR if by else ADMIN, "POST", path, body) == ""
    return client.warnings


@pytest.mark.parametrize(
    "expression",
    [
        "object.metadata.name != 'a' &&",
        "objekt.metadata.name != 'a'",
        "object.metadata.name",
        "params.limit > object.spec.replicas",
    ],
)
def test_what_is_no_rule_is_refused_as_it_is_applied(here: Here, expression: str) -> None:
    """A word that is not there, no condition, an end that is missing: `up` stops at it, and
    nothing of it is in force."""
    (body,) = (
        each.body
        for each in made(with_policies(own(name="new", expression=expression)))
        if each.kind == POLICY and each.name.endswith("/new")
    )
    with pytest.raises(ApiError) as raised:
        here.client.apply(body, dry_run=True)
    assert "spec.validations[0].expression" in str(raised.value)


@pytest.fixture(scope="module")
def checked(here: Here) -> Iterator[dict[str, Json]]:
    """The policies by name, once Kubernetes has looked at the types of them all."""
    tools, directory = locate(["scheduling"]), here.plane.directory
    key = f"--service-account-private-key-file={directory / 'service-accounts.key'}"
    program = Program(
        MANAGER,
        key,
        lambda port: [
            tools[MANAGER].path,
            key,
            f"--kubeconfig={here.plane.kubeconfig()}",
            f"--controllers={TYPES}",
            "--leader-elect=false",
            "--bind-address=127.0.0.1",
            f"--secure-port={port}",
            OPEN_PATHS,
            *its_certificate(directory),
        ],
        health="/healthz",
    )
    process = Process(program, directory)
    process.start()
    try:
        process.wait()
        until(lambda: all("typeChecking" in each.get("status", {}) for each in listed(here)))
        yield {each["metadata"]["name"]: each["status"]["typeChecking"] for each in listed(here)}
    finally:
        process.stop()


def listed(here: Here) -> list[Json]:
    return here.client.items(API, POLICY)


def test_a_misspelt_field_is_a_warning_in_the_status(checked: dict[str, Json]) -> None:
    (warning,) = checked["misspelt.site.foresite.dev"]["expressionWarnings"]
    assert warning["fieldRef"] == "spec.validations[0].expression"
    assert "undefined field 'replcas'" in warning["warning"]


def test_what_cannot_be_judged_is_refused(here: Here, checked: dict[str, Json]) -> None:
    """A mandatory rule with such a field holds everything back, and nothing slips through."""
    labels = {"app": "a"}
    template = {
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "a", "image": "a"}]},
    }
    spec = {"selector": {"matchLabels": labels}, "template": template}
    body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}, "spec": spec}
    path = "/apis/apps/v1/namespaces/{}/deployments"
    assert "no such key: replcas" in here.client.said(ADMIN, "POST", path.format("language"), body)
    assert here.client.said(ADMIN, "POST", path.format("vision"), body) == ""


def test_no_rule_of_ours_has_a_field_that_is_not_there(checked: dict[str, Json]) -> None:
    ours = {name: said for name, said in checked.items() if not name.startswith("misspelt.")}
    assert len(ours) >= 9
    assert {name: said for name, said in ours.items() if said} == {}
