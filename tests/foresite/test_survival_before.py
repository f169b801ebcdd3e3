"""The problems that ``up`` finds before it makes anything: each is named, and nothing was
changed."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from controlplane.trial import bring_up
from foresite.command import FAILED
from foresite.delivery.servers import apiserver
from foresite.delivery.stack.live import expected_objects
from tests.kit.faulty_api import Fault
from tests.kit.survival_world import CONTEXT, World, through, wait

pytestmark = [pytest.mark.pulumi, pytest.mark.proof]


def edited(survival: World, path: Path, **user: Any) -> Path:
    """The proxy's kubeconfig with another user."""
    config = json.loads(survival.proxy.kubeconfig(path, CONTEXT).read_text())
    for each in config["users"]:
        each["user"].update(user)
    path.write_text(json.dumps(config))
    return path


@pytest.mark.parametrize("flags", [(), ("--preview",)])
@pytest.mark.parametrize(
    ("fault", "says"),
    [
        (Fault(seconds=30), "does not answer: "),
        (Fault(cut="before"), "does not answer: EOF"),
        (Fault(status=503), "does not answer: HTTP 503"),
        (Fault(status=429, retry_after=60), "does not answer: HTTP 429"),
    ],
)
def test_a_server_that_does_not_answer_is_named_and_nothing_is_changed(
    survival: World,
    monkeypatch: pytest.MonkeyPatch,
    fault: Fault,
    says: str,
    flags: tuple[str, ...],
) -> None:
    monkeypatch.setattr(apiserver, "PATIENCE", 2.0)
    survival.proxy.rule = lambda *_: fault
    code, said = survival.up("fukui-1", *flags)
    assert code == FAILED
    assert f"{CONTEXT} (https://127.0.0.1:{survival.proxy.port}) {says}" in said
    assert "nothing was changed" in said and "to create" not in said
    assert survival.untouched("fukui-1")


def test_a_login_that_does_not_do_is_named_and_nothing_is_changed(
    survival: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "other"
    through(monkeypatch, file)
    assert "has no context mgmt-lab" in failure(survival)  # there is no such file
    survival.proxy.kubeconfig(file, "mgmt-lbb")
    config = json.loads(file.read_text())
    config["contexts"] = [e for e in config["contexts"] if e["name"] == "mgmt-lbb"]
    file.write_text(json.dumps(config))
    assert "did you mean mgmt-lbb?" in failure(survival)
    edited(survival, file, token="expired")
    assert "HTTP 401" in (said := failure(survival)) and "log in again" in said
    edited(survival, file, **{"as": "somebody"})
    assert "may not patch" in (said := failure(survival)) and "docs/ci-accounts.yaml" in said
    assert survival.untouched("fukui-1")


def failure(survival: World) -> str:
    code, said = survival.up("fukui-1")
    assert code == FAILED
    assert "nothing was changed" in said
    return said


def test_a_definition_that_is_missing_or_older_is_named_and_nothing_is_changed(
    survival: World,
) -> None:
    api, kind = "apiextensions.k8s.io/v1", "CustomResourceDefinition"
    name = "metal3remediationtemplates.infrastructure.cluster.x-k8s.io"
    with survival.plane.client() as client:
        crd = client.get(api, kind, name)
        assert crd is not None
        whole = {k: crd[k] for k in ("apiVersion", "kind", "spec")} | {"metadata": {"name": name}}
        client.delete(api, kind, name)
        wait(lambda: client.get(api, kind, name) is None)
        said = failure(survival)
        assert f"{CONTEXT}: it does not serve Metal3RemediationTemplate" in said
        assert f"install the CRD {name} with v1beta2" in said and "cluster-api-provider" in said

        older = json.loads(json.dumps(whole))
        for version in older["spec"]["versions"]:
            spec = version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
            strategy = spec["template"]["properties"]["spec"]["properties"]["strategy"]
            del strategy["properties"]["retryLimit"]
        client.apply(older)
        wait(lambda: client.get(api, kind, name) is not None)
        said = failure(survival)
        assert "has no field spec.template.spec.strategy.retryLimit" in said
        assert survival.untouched("fukui-1")
        client.apply(whole)
    survival.applies("fukui-1")
    assert survival.apart("fukui-1") == []


# --- the cluster is another, or has lost everything -----------------------------------------------


def test_an_empty_cluster_under_a_full_state_is_not_filled_again(survival: World) -> None:
    site = "fukui-1"
    survival.applies(site)
    count = len(expected_objects(survival.loaded(site)))
    survival.plane.stop()
    shutil.rmtree(survival.plane.directory / "etcd")
    bring_up(survival.plane.directory, [CONTEXT])
    before = survival.engine(site).export_state()
    for flags in ((), ("--allow", "remove=999")):
        code, said = survival.up(site, *flags)
        assert code == FAILED
        assert f"{CONTEXT} has none of the {count} objects that were applied to it" in said
        assert f"foresite recover {site} --rebuild" in said and "nothing was changed" in said
    with survival.plane.client() as client:
        assert client.get("v1", "Namespace", site) is None
    assert survival.engine(site).export_state() == before
