"""What a real API server makes of pods that ask for accelerators, with the policies of a site."""

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from components.accelerators.objects import objects
from components.manifest import Json, Manifest
from controlplane import ApiError, Client, ControlPlane
from controlplane.crds import install_crds
from schemas.accelerators import AcceleratorSettings
from schemas.hardware import Accelerators
from schemas.nodelabels import ACCELERATOR_LABEL, TEAM_LABEL
from schemas.objects import load_crds
from schemas.site import Site
from tests.accelerator_sites import H100, MNCORE, T4, V100, by_dra, operated_by, site

pytestmark = pytest.mark.controlplane

PLUGIN = "nvidia.com/gpu"
TEAM, PLATFORM = "accelerator-team", "accelerator-platform"
"""A namespace of a team, and one of administrators."""
SECONDS = 30.0


def namespace(name: str, **labels: str) -> Json:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}


def apply(client: Client, manifests: list[Manifest], dry_run: bool = False) -> None:
    """Apply every object strictly, namespaces first."""
    spaces = [each.body for each in manifests if each.kind == "Namespace"]
    for each in spaces:
        client.apply(each)
    rest = [each.body for each in manifests if each.kind != "Namespace"]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda each: client.apply(each, dry_run=dry_run), rest))


@pytest.mark.parametrize(
    "made",
    [
        site(),
        by_dra(),
        operated_by(),
        operated_by(max_parallel_upgrades=2),
        operated_by(drivers=False),
    ],
    ids=["plugins", "dra", "operator", "renewing operator", "operator without drivers"],
)
def test_every_object_passes_a_strict_dry_run(api: ControlPlane, made: Site) -> None:
    manifests = objects(made)
    with api.client() as client:
        kinds = {"/".join(each.key[:2]) for each in manifests}
        install_crds(client, load_crds(kinds))
        apply(client, manifests, dry_run=True)


@pytest.fixture(scope="module")
def policed(api: ControlPlane) -> Iterator[Client]:
    """The API server with the policies of the site, in force."""
    kinds = ("RuntimeClass", "AdmissionPolicy", "AdmissionPolicyBinding")
    made = [each for each in objects(site()) if each.kind.endswith(kinds)]
    with api.client() as client:
        client.apply(namespace(TEAM, **{TEAM_LABEL: "vision"}))
        client.apply(namespace(PLATFORM))
        apply(client, made)
        in_force(client)
        yield client
        for each in made:
            client.delete(each.key[0], each.kind, each.key[3])


def in_force(client: Client) -> None:
    """Wait until the API server has read the policies, each by what it alone does."""
    deadline = time.monotonic() + SECONDS
    asked = {"limits": {PLUGIN: "1"}}
    probes: tuple[tuple[Json, Callable[[Json | str], bool]], ...] = (
        (pod({"limits": {V100: "1"}}), lambda answer: isinstance(answer, dict)),
        (pod({"limits": {"preferred.jp/none": "1"}}), lambda answer: isinstance(answer, str)),
        (pod(asked), lambda answer: isinstance(answer, str)),
        (job(pod(asked)["spec"]), lambda answer: isinstance(answer, str)),
    )
    for body, right in probes:
        while not right(answer(client, body)):
            assert time.monotonic() < deadline, answer(client, body)
            time.sleep(0.1)


def pod(*containers: Json, space: str = TEAM, **spec: Any) -> Json:
    """A pod whose containers have these resources; those with ``init`` are init containers."""
    made: dict[str, list[Json]] = {"containers": [], "initContainers": []}
    for number, resources in enumerate(containers):
        more = dict(resources)
        kind = "initContainers" if more.pop("init", False) else "containers"
        always = {"restartPolicy": "Always"} if more.pop("sidecar", False) else {}
        container = {"name": f"c{number}", "image": "registry.example/a:1", "resources": more}
        made[kind].append({**container, **always})
    if not made["containers"]:
        made["containers"].append({"name": "main", "image": "registry.example/a:1"})
    body = {"restartPolicy": "Never", **{k: v for k, v in made.items() if v}, **spec}
    metadata = {"name": "asks", "namespace": space}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": body}


def job(spec: Json) -> Json:
    metadata = {"name": "asks", "namespace": TEAM}
    body = {"template": {"spec": spec}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": body}


def answer(client: Client, body: Json) -> Json | str:
    """The object as the API server would store it, or why it refuses."""
    group = "api/v1" if body["apiVersion"] == "v1" else f"apis/{body['apiVersion']}"
    plural = f"{body['kind'].lower()}s"
    space = body["metadata"]["namespace"]
    path = f"/{group}/namespaces/{space}/{plural}?dryRun=All&fieldValidation=Strict"
    try:
        return client.request("POST", path, body)
    except ApiError as error:
        return str(error)


def stored(client: Client, body: Json) -> Json:
    found = answer(client, body)
    assert isinstance(found, dict), found
    spec: Json = found["spec"]
    return spec


def refused(client: Client, body: Json) -> str:
    found = answer(client, body)
    assert isinstance(found, str), found["spec"]
    return found


def limits(**counts: str) -> Json:
    names = {"v100": V100, "h100": H100, "t4": T4, "mncore": MNCORE, "plugin": PLUGIN}
    return {"limits": {names[key]: count for key, count in counts.items()}}


def test_a_model_becomes_a_device_of_that_model(policed: Client) -> None:
    assert V100 == "preferred.jp/gpu-v100-24gb"
    spec = stored(policed, pod({"limits": {"preferred.jp/gpu-v100-24gb": 1}}))
    both = {V100: "1", PLUGIN: "1"}
    assert spec["containers"][0]["resources"] == {"limits": both, "requests": both}
    assert spec["nodeSelector"] == {ACCELERATOR_LABEL: "v100-sxm2-32gb"}
    assert spec["runtimeClassName"] == "nvidia"


@pytest.mark.parametrize("space", [TEAM, PLATFORM])
def test_every_container_that_asks_gets_as_many(policed: Client, space: str) -> None:
    body = pod(
        {"init": True, **limits(v100="2")},
        {"init": True, "sidecar": True, **limits(v100="1")},
        limits(v100="3"),
        {"limits": {"cpu": "1"}},
        space=space,
    )
    spec = stored(policed, body)
    found = [
        each["resources"].get("limits", {}).get(PLUGIN)
        for each in (*spec["initContainers"], *spec["containers"])
    ]
    assert found == ["2", "1", "3", None]


def test_a_model_that_its_plugin_names_itself_gets_no_second_resource(policed: Client) -> None:
    spec = stored(policed, pod(limits(mncore="2")))
    assert spec["containers"][0]["resources"]["limits"] == {MNCORE: "2"}
    assert spec["nodeSelector"] == {ACCELERATOR_LABEL: "mncore2"}
    assert "runtimeClassName" not in spec


def test_what_a_pod_says_itself_stays(policed: Client) -> None:
    mine = {ACCELERATOR_LABEL: "v100-sxm2-32gb", "kubernetes.io/hostname": "osaka-07"}
    spec = stored(policed, pod(limits(v100="1", plugin="1"), nodeSelector=mine))
    assert spec["nodeSelector"] == mine
    assert spec["containers"][0]["resources"]["limits"] == {V100: "1", PLUGIN: "1"}


def test_a_pod_without_accelerators_stays_as_it_is(policed: Client) -> None:
    spec = stored(policed, pod({"limits": {"cpu": "1"}}))
    assert spec["containers"][0]["resources"]["limits"] == {"cpu": "1"}
    assert "nodeSelector" not in spec
    assert "runtimeClassName" not in spec


def test_administrators_may_name_the_plugins_resource(policed: Client) -> None:
    spec = stored(policed, pod(limits(plugin="1"), space=PLATFORM))
    assert spec["containers"][0]["resources"]["limits"] == {PLUGIN: "1"}


EVERY_NAME = ", ".join(sorted((V100, H100, T4, MNCORE)))
REFUSED: Mapping[str, tuple[Json, str]] = {
    "a model that the site lacks": (
        pod({"limits": {"preferred.jp/gpu-v100-32gb": "1"}}),
        "no such accelerator at this site: preferred.jp/gpu-v100-32gb; it has " + EVERY_NAME,
    ),
    "the same in another namespace": (
        pod({"limits": {"preferred.jp/gpu-v100-32gb": "1"}}, space=PLATFORM),
        "no such accelerator",
    ),
    "two models": (pod(limits(v100="1"), limits(h100="1")), f"asks for {H100} and {V100}"),
    "two models in one container": (pod(limits(v100="1", t4="1")), "a host has one model"),
    "a model of an init container beside another": (
        pod({"init": True, **limits(h100="1")}, limits(v100="1")),
        "a host has one model",
    ),
    "more than a host has": (pod(limits(v100="9")), f"the largest host has 8 of {V100}"),
    "more than a host has, together": (pod(limits(v100="5"), limits(v100="4")), "has 8 of"),
    "more than a host has, with a sidecar": (
        pod({"init": True, "sidecar": True, **limits(t4="1")}, limits(t4="1")),
        f"the largest host has 1 of {T4}",
    ),
    "more than a host has, before it starts": (
        pod({"init": True, **limits(t4="2")}, limits(t4="1")),
        f"the largest host has 1 of {T4}",
    ),
    "the plugin's resource": (pod(limits(plugin="1")), "ask for accelerators by model"),
    "another resource of the plugin": (
        pod({"limits": {"nvidia.com/gpu.shared": "1"}}),
        "ask for accelerators by model",
    ),
    "more of the plugin's resource than of the model": (
        pod(limits(v100="1", plugin="8")),
        "ask for accelerators by model",
    ),
    "the plugin's resource beside the model, in another container": (
        pod(limits(v100="1"), limits(plugin="1")),
        "ask for accelerators by model",
    ),
    "a device class": (
        pod({"limits": {"deviceclass.resource.kubernetes.io/gpu.nvidia.com": "1"}}),
        "ask for accelerators by model",
    ),
    "a node of another model": (
        pod(limits(v100="1"), nodeSelector={ACCELERATOR_LABEL: "h100-sxm5-80gb"}),
        'v100-sxm2-32gb, but the nodeSelector says "h100-sxm5-80gb"',
    ),
    "a node by its name": (pod(limits(v100="1"), nodeName="osaka-07"), "passes the scheduler by"),
    "half a card": (pod(limits(v100="500m")), "must be an integer"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_could_not_work_is_refused(policed: Client, case: str) -> None:
    body, why = REFUSED[case]
    assert why in refused(policed, body)


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ({"limits": {"preferred.jp/typo": "1"}}, "no such accelerator"),
        (limits(v100="9"), "the largest host has 8"),
        (limits(plugin="1"), "ask for accelerators by model"),
        (limits(v100="1", plugin="1"), "ask for accelerators by model"),
    ],
)
def test_a_job_is_refused_before_its_pods(policed: Client, asked: Json, why: str) -> None:
    spec = pod(asked)["spec"]
    assert why in refused(policed, job(spec))
    schedule = {"schedule": "0 0 * * *", "jobTemplate": {"spec": {"template": {"spec": spec}}}}
    nightly = {**job(spec), "kind": "CronJob", "spec": schedule}
    assert why in refused(policed, nightly)
    always = {**spec, "restartPolicy": "Always"}
    labels = {"app": "a"}
    template = {"metadata": {"labels": labels}, "spec": always}
    whole = {"selector": {"matchLabels": labels}, "template": template}
    deployment = {**job(spec), "apiVersion": "apps/v1", "kind": "Deployment", "spec": whole}
    assert why in refused(policed, deployment)


def test_a_job_that_asks_by_model_is_taken_as_it_is(policed: Client) -> None:
    template = stored(policed, job(pod(limits(v100="8"))["spec"]))["template"]["spec"]
    assert template["containers"][0]["resources"]["limits"] == {V100: "8"}


def test_without_the_mutating_policy_nothing_gets_through(policed: Client) -> None:
    (bound,) = (e for e in objects(site()) if e.kind == "MutatingAdmissionPolicyBinding")
    policed.delete(bound.key[0], bound.kind, bound.key[3])
    try:
        deadline = time.monotonic() + SECONDS
        while isinstance(found := answer(policed, pod(limits(v100="1"))), dict):
            assert time.monotonic() < deadline, "the binding is still in force"
            time.sleep(0.1)
        assert "is the feature gate MutatingAdmissionPolicy of the API server on?" in found
    finally:
        policed.apply(bound.body)
        in_force(policed)


def test_twenty_models_are_within_what_a_policy_may_cost(api: ControlPlane) -> None:
    """The API server adds up what expressions cost when a policy is made, and when it runs."""
    many = site_of_many(20)
    with api.client() as client, contextlib.ExitStack() as stack:
        client.apply(namespace(TEAM, **{TEAM_LABEL: "vision"}))
        made = [each for each in objects(many) if "AdmissionPolicy" in each.kind]
        for each in made:
            client.apply(each.body)
            stack.callback(client.delete, each.key[0], each.kind, each.key[3])
        name = many.resource("board-19")
        containers = [{"limits": {name: "1"}} for _ in range(8)]
        deadline = time.monotonic() + SECONDS
        while isinstance(found := answer(client, pod(*containers)), str):
            assert time.monotonic() < deadline, found
            time.sleep(0.1)
        last = found["spec"]["containers"][-1]["resources"]["limits"]
        assert last == {name: "1", PLUGIN: "1"}


def site_of_many(count: int) -> Site:
    """The site with so many models, each on the hosts of one pool of its own."""
    own = {
        f"board-{n:02}": {
            "description": "a board",
            "vendor": "acme",
            "pci": {"vendor": "1ee7"},
            "plugin": {
                "resource": PLUGIN,
                "image": f"registry.example/a:1@sha256:{'ab' * 32}",
            },
        }
        for n in range(count)
    }
    plain = site()
    settings = AcceleratorSettings.model_validate(
        {"prefix": "accelerators.research.example.com", "models": own}
    )
    host = plain.hardware["mncore2-x8"]
    hardware = {
        f"host-{name}": host.model_copy(update={"accelerators": Accelerators(model=name, count=8)})
        for name in own
    }
    (pool,) = (each for each in plain.file.pools if each.name == "mncore")
    pools = [
        pool.model_copy(update={"name": f"p-{name}", "hardware": f"host-{name}"}) for name in own
    ]
    control = [each for each in plain.file.pools if each.name == "control"]
    file = plain.file.model_copy(
        update={"pools": [*control, *pools], "accelerators": settings}
    )
    return replace(
        plain,
        file=file,
        hardware={**plain.hardware, **hardware},
        accelerators={**plain.accelerators, **settings.models},
    )
