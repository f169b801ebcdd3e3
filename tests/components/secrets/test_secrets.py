"""The Secrets that a site refers to: each has one ExternalSecret, and only where the site asks."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from components.making.manifest import Manifest, Target
from components.making.validation import object_problems
from components.secrets.objects import duration, objects
from components.site import site_objects
from schemas.facts.site import Site
from schemas.model.secrets import Secrets, SecretStore
from tests.kit.repository import all_sites

SITES = sorted(all_sites())
BOTH = Secrets(management=SecretStore(name="vault"), site=SecretStore(name="own"))
Where = tuple[Target, str, str]


def with_secrets(site: Site, secrets: Secrets = BOTH) -> Site:
    return replace(site, file=site.file.model_copy(update={"secrets": secrets}))


def external(site: Site) -> dict[Where, Manifest]:
    made = objects(site)
    found = {
        (each.target, each.body["metadata"]["namespace"], each.body["metadata"]["name"]): each
        for each in made
    }
    assert len(found) == len(made)  # each once
    return found


NAMES = {"credentialsName": "", "secretName": "", "urlSecret": "name", "apiURL": "name",
         "routingKey": "name", "secretKeyRef": "name", "imagePullSecrets": "name"}  # fmt: skip
"""Fields by which Kubernetes, Metal3 and the Prometheus operator name a Secret."""


def named(value: Any) -> Iterator[str]:
    """The names of Secrets that stand in an object."""
    if isinstance(value, list):
        for item in value:
            yield from named(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            for one in item if isinstance(item, list) else [item]:
                if key in NAMES and isinstance(one, str):
                    yield one
                elif key in NAMES and isinstance(one, dict) and NAMES[key] in one:
                    yield one[NAMES[key]]
            yield from named(item)


@pytest.mark.parametrize("name", SITES)
def test_every_secret_that_an_object_names_is_fetched(name: str) -> None:
    site = with_secrets(all_sites()[name])
    made = site_objects(site)
    there = {(target, namespace, secret) for target, namespace, secret in external(site)}
    wanted = {
        (each.target, each.body["metadata"].get("namespace", ""), secret)
        for component, manifests in made.items()
        if component not in ("secrets", "pod-network")
        for each in manifests
        for secret in named(each.body)
        # A template of a Job lies beside no namespace; its Job runs in the one that it says.
        if each.kind != "NodeOperationTemplate"
    }
    assert wanted <= there
    # On the management cluster nothing but the hosts' objects names a Secret.
    assert {each for each in there if each[0] is Target.MANAGEMENT} == {
        each for each in wanted if each[0] is Target.MANAGEMENT
    }


def test_what_reboots_hosts_and_what_calls_people_is_fetched_to_the_sites_own_cluster() -> None:
    site = with_secrets(all_sites()["tokyo-1"])
    found = external(site)
    reboots = found[Target.SITE, "node-remediation", "management-cluster"]
    assert [each["secretKey"] for each in reboots.body["spec"]["data"]] == ["kubeconfig"]
    assert site.file.monitoring is not None
    keys = {each.key for each in site.file.monitoring.receivers}
    assert len(keys) > 1
    receivers = found[Target.SITE, "monitoring", "alert-receivers"]
    assert {each["secretKey"] for each in receivers.body["spec"]["data"]} == keys


def test_no_kubeconfig_is_fetched_where_nothing_reboots_hosts() -> None:
    names = {name for _, _, name in external(with_secrets(all_sites()["lab-1"]))}
    assert "management-cluster" not in names


def test_one_secret_for_all_bmcs_is_fetched_once() -> None:
    site = with_secrets(all_sites()["tokyo-1"])
    bmc = site.file.bmc.model_copy(update={"credentials": "bmc"})
    site = replace(site, file=site.file.model_copy(update={"bmc": bmc}))
    management = [name for target, _, name in external(site) if target is Target.MANAGEMENT]
    assert management == ["bmc"]


@pytest.mark.parametrize("name", SITES)
def test_nothing_is_made_where_the_site_does_not_ask(name: str) -> None:
    site = all_sites()[name]
    assert objects(replace(site, file=site.file.model_copy(update={"secrets": None}))) == []


def test_a_bmcs_secret_has_what_the_bare_metal_operator_reads_and_never_goes() -> None:
    site = with_secrets(all_sites()["lab-1"])
    host = site.hosts[0].name
    made = external(site)[Target.MANAGEMENT, site.name, f"{host}-bmc"]
    spec = made.body["spec"]
    place = f"sites/lab-1/lab-1/{host}-bmc"
    assert spec["data"] == [
        {"secretKey": key, "remoteRef": {"key": place, "property": key}}
        for key in ("username", "password")
    ]
    assert spec["secretStoreRef"] == {"name": "vault", "kind": "ClusterSecretStore"}
    assert spec["target"]["deletionPolicy"] == "Retain"
    assert made.keep


def test_the_path_says_which_secret_is_meant() -> None:
    path = Secrets(path="{secret}.{namespace}/{site}").place("lab-1", "monitoring", "desk")
    assert path == "desk.monitoring/lab-1"


@pytest.mark.parametrize(
    ("minutes", "text"), [(1, "1m0s"), (60, "1h0m0s"), (90, "1h30m0s"), (1440, "24h0m0s")]
)
def test_a_duration_is_written_as_go_writes_it(minutes: int, text: str) -> None:
    """time.Duration.String, which metav1.Duration is marshalled by."""
    assert duration(minutes) == text


@pytest.mark.parametrize("name", SITES)
def test_the_objects_fit_the_real_schema(name: str) -> None:
    site = with_secrets(all_sites()[name])
    assert object_problems(site, {"secrets": objects(site)}) == []


def test_the_real_schema_judges_the_kind() -> None:
    site = with_secrets(all_sites()["lab-1"])
    (first, *_) = objects(site)
    body = {**first.body, "spec": {**first.body["spec"], "refreshIntervall": "1h"}}
    ((_, problem),) = object_problems(site, {"secrets": [first._replace(body=body)]})
    assert "refreshIntervall" in problem.path
