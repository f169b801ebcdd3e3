"""Job templates on a real API server with the CRDs, and with the policies of the whole site: each
object, and each pod that controllers will make of it."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from typing import NamedTuple

import pytest
import yaml

from components.accelerators.objects import objects as accelerators
from components.making.manifest import Json, Manifest
from components.schedulers.objects import objects as schedulers
from components.teams.objects import objects as teams
from components.training.objects import objects
from components.training.request import Template
from controlplane import ApiError, Client
from controlplane.crds import install_crds
from controlplane.server import Binaries, running
from schemas.facts.site import Site
from schemas.kubernetes.objects import load_crds
from tests.kit.training_pods import expanded
from tests.kit.training_site import fitting, made, sites
from tests.kit.waiting import until
from tools.toolchain import locate

pytestmark = pytest.mark.controlplane
SECONDS = 30.0
PRIORITIES = ("high", None)


class Server(NamedTuple):
    """A server on which the policies of a site are in force."""

    kind: str
    site: Site
    client: Client

    def jobs(self) -> Iterator[tuple[Template, list[Json]]]:
        """A job of every template, with and without RDMA with the cache, and a tier."""
        for template in Template:
            for more in ({}, {"rdma": True, "cache": "pictures"}):
                for priority in PRIORITIES:
                    wanted = fitting(self.kind, template, priority=priority, **more)
                    yield template, made(self.site, wanted)


@pytest.fixture(scope="module", params=sorted(set(sites()) - {"default"}))
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    tools = locate(["controlplane"])
    binaries = Binaries(tools["etcd"].path, tools["kube-apiserver"].path)
    site = sites()[request.param]
    with (
        running(tmp_path_factory.mktemp("training"), binaries) as plane,
        plane.client() as client,
    ):
        found = Server(request.param, site, client)
        bodies = [each.body for each in (*objects(site), *teams(site))]
        bodies += [body for _, job in found.jobs() for body in job]
        install_crds(client, load_crds({f"{each['apiVersion']}/{each['kind']}" for each in bodies}))
        every = [*teams(site), *schedulers(site), *accelerators(site)]
        _apply(client, [each for each in every if each in teams(site) or _judges(each)])
        _until_they_judge(found)
        yield found


def _judges(manifest: Manifest) -> bool:
    return manifest.kind.endswith(("RuntimeClass", "AdmissionPolicy", "AdmissionPolicyBinding"))


def _apply(client: Client, manifests: list[Manifest]) -> None:
    bodies = [each.body for each in manifests]
    spaces = [each for each in bodies if each["kind"] == "Namespace"]
    for each in spaces:
        client.apply(each)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(client.apply, [each for each in bodies if each not in spaces]))


def _until_they_judge(server: Server) -> None:
    """Policies come into force a little after they are made: each is asked about a fault."""
    wanted = fitting(server.kind, Template.ALL_REDUCE)
    right = expanded(server.site, made(server.site, wanted))[0].body("vision")
    resource = server.site.resource(wanted.model)
    faults = [_changed(right, hostPID=True)]
    stranger = deepcopy(right)
    for each in stranger["spec"]["containers"][0]["resources"].values():
        each["preferred.jp/none"] = each.pop(resource)
    faults.append(stranger)
    if server.kind != "kueue":
        faults.append(_changed(right, schedulerName="nobody"))
    if server.kind == "gang":
        alone = deepcopy(right)
        alone["metadata"]["annotations"] = {
            key: value
            for key, value in right["metadata"]["annotations"].items()
            if not key.endswith("-size")
        }
        faults.append(alone)
    until(lambda: all(isinstance(answer(server.client, each), str) for each in faults), SECONDS)
    until(lambda: not isinstance(answer(server.client, right), str), SECONDS)


def _changed(body: Json, **spec: object) -> Json:
    return {**body, "spec": {**body["spec"], **spec}}


def answer(client: Client, body: Json) -> Json | str:
    """The object as the API server would store it, or why it refuses."""
    group = "api/v1" if body["apiVersion"] == "v1" else f"apis/{body['apiVersion']}"
    metadata = body["metadata"]
    where = f"/namespaces/{metadata['namespace']}" if "namespace" in metadata else ""
    path = f"/{group}{where}/{body['kind'].lower()}s?dryRun=All&fieldValidation=Strict"
    try:
        return client.request("POST", path, body)
    except ApiError as error:
        return str(error)


def test_every_object_of_the_site_is_taken(server: Server) -> None:
    found = objects(server.site)
    assert {each.kind for each in found} == {"ClusterTrainingRuntime", "ConfigMap"}
    said = {each.name: answer(server.client, each.body) for each in found}
    assert {name: why for name, why in said.items() if isinstance(why, str)} == {}


def test_every_job_is_taken(server: Server) -> None:
    for template, job in server.jobs():
        for body in job:
            said = answer(server.client, body)
            assert isinstance(said, dict), (template, body["kind"], said)


def test_every_pod_of_a_job_is_taken_and_gets_devices(server: Server) -> None:
    wanted = fitting(server.kind, Template.ALL_REDUCE)
    resource = server.site.resource(wanted.model)
    device = server.site.accelerators[wanted.model].plugin.resource
    for template, job in server.jobs():
        for pod in expanded(server.site, job):
            said = answer(server.client, pod.body("vision"))
            assert isinstance(said, dict), (template, pod.part, said)
            (box,) = said["spec"]["containers"]
            counts = {box["resources"]["limits"].get(each) for each in (resource, device)}
            helper = pod.part in ("ps", "launcher")
            assert counts == {None if helper else str(wanted.per_worker)}


def test_the_examples_are_jobs_that_are_taken(server: Server) -> None:
    for manifest in objects(server.site):
        if manifest.kind != "ConfigMap":
            continue
        for name, text in manifest.body["data"].items():
            job = list(yaml.safe_load_all(text))
            for body in job:
                assert body["metadata"]["namespace"] == manifest.key[2]
                said = answer(server.client, body)
                assert isinstance(said, dict), (name, said)
            for pod in expanded(server.site, job):
                said = answer(server.client, pod.body(manifest.key[2]))
                assert isinstance(said, dict), (name, pod.part, said)


def test_a_job_with_the_longest_name_is_taken_and_one_character_more_is_not(
    server: Server,
) -> None:
    """Of the Job's own check; what JobSet and Trainer check are webhooks of theirs."""
    wanted = fitting(server.kind, Template.ALL_REDUCE, name="a" * 61)
    (job,) = [each for each in made(server.site, wanted) if each["kind"] == "Job"]
    assert isinstance(answer(server.client, job), dict)
    longer = {**job, "metadata": {**job["metadata"], "name": "a" * 62}}
    said = answer(server.client, longer)
    assert isinstance(said, str)
    assert "invalid DNS label" in said
