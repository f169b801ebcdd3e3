"""Pods that request accelerators, on a real API server with the policies of a site."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import pytest

from components.accelerators.objects import objects
from components.making.manifest import Json
from controlplane import Client, ControlPlane
from controlplane.access import read_kubeconfig
from schemas.kubernetes.node_labels import ACCELERATOR_LABEL
from tests.kit.accelerator_pods import (
    PLATFORM,
    PLUGIN,
    TEAM,
    answer,
    apply,
    in_force,
    job,
    namespaces,
    pod,
    refused,
    remove,
    stored,
    until,
)
from tests.kit.accelerator_sites import H100, MNCORE, T4, V100, by_dra, site

pytestmark = pytest.mark.controlplane


@pytest.fixture(scope="module")
def policed(api: ControlPlane) -> Iterator[Client]:
    """The API server with the policies of the site, in force."""
    kinds = ("RuntimeClass", "AdmissionPolicy", "AdmissionPolicyBinding")
    made = [each for each in objects(site()) if each.kind.endswith(kinds)]
    with api.client() as client:
        namespaces(client)
        apply(client, made)
        in_force(client)
        yield client
        remove(client, made)


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
        asked = pod(limits(v100="1"))
        found = until(lambda: answer(policed, asked), lambda said: isinstance(said, str))
        assert "is the feature gate MutatingAdmissionPolicy of the API server on?" in found
    finally:
        policed.apply(bound.body)
        in_force(policed)


# --- claims, in the way of DRA ---


def claim(*classes: str, kind: str = "ResourceClaim", first: bool = False) -> Json:
    """A claim, or a template of one, that asks for a device of each class; ``first``: of any."""
    named = [{"name": f"r{n}", "deviceClassName": each} for n, each in enumerate(classes)]
    each = [{"name": f"r{n}", "exactly": {"deviceClassName": c}} for n, c in enumerate(classes)]
    requests = [{"name": "any", "firstAvailable": named}] if first else each
    spec: Json = {"devices": {"requests": requests}}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": "asks", "namespace": TEAM},
        "spec": spec if kind == "ResourceClaim" else {"spec": spec},
    }


@pytest.fixture(scope="module")
def claiming(api: ControlPlane, policed: Client) -> Iterator[Client]:
    """Someone who may make claims and bind no pod, with the policy of claims in force."""
    made = [each for each in objects(by_dra()) if each.name.endswith("/accelerator-claims")]
    assert len(made) == 2
    apply(policed, made)
    access = read_kubeconfig(api.status().kubeconfig)
    with Client(replace(access, token=_token(policed))) as client:
        until(lambda: answer(client, claim(COUNTED[0])), lambda said: ASK in str(said))
        yield client
    remove(policed, made)


def _token(client: Client) -> str:
    """A token of a new account of the team's namespace that may make claims there."""
    api = "rbac.authorization.k8s.io"
    metadata = {"name": "claims", "namespace": TEAM}
    kinds = ["resourceclaims", "resourceclaimtemplates"]
    rule = {"apiGroups": ["resource.k8s.io"], "resources": kinds, "verbs": ["create"]}
    role = {"apiVersion": f"{api}/v1", "kind": "Role", "metadata": metadata}
    account = {"kind": "ServiceAccount", **metadata}
    ref = {"apiGroup": api, "kind": "Role", "name": "claims"}
    client.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})
    client.apply({**role, "rules": [rule]})
    client.apply({**role, "kind": "RoleBinding", "roleRef": ref, "subjects": [account]})
    path = f"/api/v1/namespaces/{TEAM}/serviceaccounts/claims/token"
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    return str(client.request("POST", path, asked)["status"]["token"])


ASK = "ask for accelerators by model"
COUNTED = (
    "gpu-v100-24gb.preferred.jp",  # Foresite's own class
    "gpu.nvidia.com",
    # Of the chart of NVIDIA's driver (k8s-dra-driver-gpu, templates/deviceclass-*.yaml).
    "mig.nvidia.com",
    "vfio.gpu.nvidia.com",
    "boards.mncore.example",
    "halves.mncore.example",
)
OTHERS = ("network.example.com", "notnvidia.com", "nvidia.com.example")


@pytest.mark.parametrize("kind", ["ResourceClaim", "ResourceClaimTemplate"])
@pytest.mark.parametrize("first", [False, True], ids=["exactly", "first available"])
def test_no_claim_of_a_team_passes_the_limits(claiming: Client, kind: str, first: bool) -> None:
    for each in COUNTED:
        assert ASK in refused(claiming, claim(OTHERS[0], each, kind=kind, first=first))
    assert stored(claiming, claim(*OTHERS, kind=kind, first=first))
