"""The policies on a real API server: pods and Jobs of teams that pass, and that do not, with the
message for the person who wrote them."""

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest

from components.making.gang import NAME, POSITION, SIZE, TIMEOUT
from components.making.manifest import Json
from components.schedulers.objects import objects
from controlplane import ApiError, Client
from controlplane.server import Binaries, running
from schemas.facts.site import Site
from schemas.kubernetes.node_labels import POOL_LABEL, TEAM_LABEL
from tests.kit.scheduling_site import (
    A100,
    GANG,
    GANG_SCHEDULER,
    H100,
    PREFIX,
    THROTTLED,
    THROTTLED_SCHEDULER,
    V100,
    site,
    with_gang,
)
from tests.kit.waiting import until
from tools.toolchain import locate

pytestmark = pytest.mark.controlplane
TEAM, OTHER = "vision", "monitoring"
FREE = "free"
POLICY = "ValidatingAdmissionPolicy/schedulers.foresite.dev"
VOLCANO: Json = {"name": "volcano", "kind": "volcano", "pools": ["cpu"]}
SHARED = {**with_gang(THROTTLED, annotation_prefix=PREFIX, timeout_limit_seconds=200)}
"""A second scheduler with gangs, of the same prefix and with a limit of its own."""


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A server of its own: these policies judge every namespace of a team."""
    tools = locate(["controlplane"])
    binaries = Binaries(tools["etcd"].path, tools["kube-apiserver"].path)
    with running(tmp_path_factory.mktemp("policies"), binaries) as plane, plane.client() as found:
        for name, labels in ((TEAM, {TEAM_LABEL: TEAM}), (OTHER, {})):
            metadata = {"name": name, "labels": labels}
            found.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
        for made in objects(with_free_pool()):
            found.apply(made.body)
        _until_they_judge(found)
        yield found


def with_free_pool() -> Site:
    """The site with one pool more, which no backend serves."""
    base = site(GANG, SHARED, VOLCANO)
    (cpu,) = (pool for pool in base.file.pools if pool.name == "cpu")
    pools = [*base.file.pools, cpu.model_copy(update={"name": FREE})]
    return replace(base, file=base.file.model_copy(update={"pools": pools}))


def _until_they_judge(client: Client) -> None:
    """Policies come into force a little after they are made, each by itself."""
    faults = [
        pod({"gang-name": "a"}),
        pod({f"{PREFIX}-name": "a"}),
        pod({f"{PREFIX}-name": "a"}, schedulerName=THROTTLED_SCHEDULER),
        pod(nodeName="a"),
    ]
    until(lambda: all(refused(client, each) for each in faults), 30)


def pod(annotations: dict[str, str] | None = None, namespace: str = TEAM, **spec: Any) -> Json:
    """A pod for the gang scheduler."""
    limits = spec.pop("limits", {})
    container = {"name": "main", "image": "a", "resources": {"limits": limits}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a", "namespace": namespace, "annotations": annotations or {}},
        "spec": {"schedulerName": GANG_SCHEDULER, "containers": [container], **spec},
    }


def job(of: Json) -> Json:
    """A Job with such a pod as its template."""
    metadata = {"name": "a", "namespace": of["metadata"]["namespace"]}
    annotated = {"annotations": of["metadata"]["annotations"]}
    template = {"metadata": annotated, "spec": {"restartPolicy": "Never", **of["spec"]}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata,
        "spec": {"template": template},
    }


def refused(client: Client, body: Json) -> str:
    """The server's message where it refuses an object; empty where it takes it."""
    metadata = body["metadata"]
    group = "api" if body["kind"] == "Pod" else "apis"
    plural = "pods" if body["kind"] == "Pod" else "jobs"
    path = f"/{group}/{body['apiVersion']}/namespaces/{metadata['namespace']}/{plural}?dryRun=All"
    try:
        client.request("POST", path, deepcopy(body))
    except ApiError as error:
        return error.message
    return ""


def gang(**parts: str) -> dict[str, str]:
    """Annotations of a good gang; ``parts`` are put over them."""
    given = {NAME: "job", SIZE: "8"}
    for part, value in parts.items():
        given[part.replace("_", "-")] = value
    return {f"{PREFIX}-{part}": value for part, value in given.items()}


def without(part: str) -> dict[str, str]:
    return {key: value for key, value in gang().items() if key != f"{PREFIX}-{part}"}


def on(pool: str) -> dict[str, str]:
    return {POOL_LABEL: pool}


DEFAULT = "default-scheduler"
GOOD = {
    "a gang": pod(gang()),
    "a gang of two": pod(gang(size="2")),
    "a gang that waits for as long as it may": pod(gang(**{TIMEOUT: "100"})),
    "a gang of the other scheduler, with its longer limit": pod(
        gang(**{TIMEOUT: "200"}), schedulerName=THROTTLED_SCHEDULER
    ),
    "a pod without annotations": pod(),
    "annotations of others": pod({"example.com/owner": "a", "example.com/name": "b"}),
    "the name of a gang in another word": pod({"example.com/gangway-name": "a"}),
    "a model by its scheduler": pod(limits={V100: "1"}),
    "a model without a name of the site's": pod(limits={H100: "1"}),
    "a model on one of its scheduler's pools": pod(nodeSelector=on("v100"), limits={V100: "1"}),
    "a model of the other scheduler": pod(schedulerName=THROTTLED_SCHEDULER, limits={A100: "1"}),
    "the default scheduler on a pool of its own": pod(schedulerName=DEFAULT, nodeSelector=on(FREE)),
    "Volcano on its pool": pod(schedulerName="volcano", nodeSelector=on("cpu")),
    "whatever, in a namespace of no team": pod(
        {"gang-name": "a", f"{PREFIX}-size": "x"}, OTHER, schedulerName="other", nodeName="a"
    ),
}
NUMBER = f"{PREFIX}-size must be the number of pods in the gang"
SECONDS = f"{PREFIX}-schedule-timeout-seconds must be a number of seconds, at most 100"
STRANGE = f"makes no gang here: write {PREFIX}-"
BOTH = f"a gang needs both annotations {PREFIX}-name and {PREFIX}-size"
ELSEWHERE = "the default scheduler must keep off pools of other schedulers"
MODEL = f"pods that ask for {V100} are placed by another scheduler: write schedulerName: "
BAD = {
    "a gang without a size": (pod(without(SIZE)), BOTH),
    "a gang without a name": (pod(without(NAME)), BOTH),
    "a timeout without a gang": (pod({f"{PREFIX}-{TIMEOUT}": "30"}), BOTH),
    "an empty name": (pod(gang(name="")), f"{PREFIX}-name must name the gang"),
    "a size of one": (pod(gang(size="1")), NUMBER),
    "a size of none": (pod(gang(size="0")), NUMBER),
    "a size that is no number": (pod(gang(size="eight")), NUMBER),
    "a size with a space": (pod(gang(size="8 ")), NUMBER),
    "a size with a sign": (pod(gang(size="-8")), NUMBER),
    "a size with a point": (pod(gang(size="8.0")), NUMBER),
    "a size beyond all numbers": (pod(gang(size="99999999999999999999")), NUMBER),
    "a timeout over the limit": (pod(gang(**{TIMEOUT: "101"})), SECONDS),
    "a timeout of none": (pod(gang(**{TIMEOUT: "0"})), SECONDS),
    "a timeout with a unit": (pod(gang(**{TIMEOUT: "30s"})), SECONDS),
    "a timeout over the other scheduler's limit": (
        pod(gang(**{TIMEOUT: "201"}), schedulerName=THROTTLED_SCHEDULER),
        "at most 200",
    ),
    "a position": (pod(gang(**{POSITION: "ActiveQ"})), f"leave {PREFIX}-position out"),
    "a gang of the default scheduler": (
        pod(gang(), schedulerName=DEFAULT, nodeSelector=on(FREE)),
        f"write schedulerName: {GANG_SCHEDULER} or {THROTTLED_SCHEDULER}",
    ),
    "another site's prefix": (pod({"gang-scheduling.example.com/gang-name": "a"}), STRANGE),
    "no domain": (pod({"gang-name": "a"}), STRANGE),
    "capitals": (pod({"gang-scheduling.preferred.jp/Gang-Size": "2"}), STRANGE),
    "an underscore": (pod({"gang-scheduling.preferred.jp/gang_name": "a"}), STRANGE),
    "a plural": (pod({f"{PREFIX}s-name": "a"}), STRANGE),
    "a shorter timeout": (pod({**gang(), f"{PREFIX}-timeout-seconds": "30"}), STRANGE),
    "a part that there is not": (pod({**gang(), f"{PREFIX}-members": "8"}), STRANGE),
    "a model by the default scheduler": (
        pod(schedulerName=DEFAULT, limits={V100: "1"}),
        MODEL + GANG_SCHEDULER,
    ),
    "a model by another's scheduler": (
        pod(schedulerName=THROTTLED_SCHEDULER, limits={V100: "1"}),
        MODEL + GANG_SCHEDULER,
    ),
    "a model in an init container": (
        pod(
            schedulerName=DEFAULT,
            nodeSelector=on(FREE),
            initContainers=[{"name": "first", "image": "a", "resources": {"limits": {V100: "1"}}}],
        ),
        MODEL + GANG_SCHEDULER,
    ),
    "the default scheduler anywhere": (pod(schedulerName=DEFAULT), ELSEWHERE),
    "the default scheduler on a pool of another": (
        pod(schedulerName=DEFAULT, nodeSelector=on("v100")),
        ELSEWHERE,
    ),
    "the default scheduler on the control plane": (
        pod(schedulerName=DEFAULT, nodeSelector=on("control")),
        f"{ELSEWHERE}: write nodeSelector {POOL_LABEL}: {FREE}; or write one of schedulerName: ",
    ),
    "the default scheduler on a pool that there is not": (
        pod(schedulerName=DEFAULT, nodeSelector=on("gone")),
        ELSEWHERE,
    ),
    "a scheduler that there is not": (
        pod(schedulerName="gang"),
        "no such scheduler serves this site's pools",
    ),
    "a pool of another scheduler": (
        pod(nodeSelector=on("a100")),
        f"{GANG_SCHEDULER} places pods on its own pools alone",
    ),
    "Volcano anywhere": (
        pod(schedulerName="volcano"),
        "volcano places pods on its own pools alone",
    ),
    "a node by its name": (pod(nodeName="tokyo-1-a-001"), "leave nodeName out"),
}


@pytest.mark.parametrize("what", GOOD)
def test_what_is_right_passes(client: Client, what: str) -> None:
    assert refused(client, GOOD[what]) == ""
    assert refused(client, job(GOOD[what])) == ""


@pytest.mark.parametrize("what", BAD)
def test_what_is_wrong_is_refused_and_says_what_to_write(client: Client, what: str) -> None:
    body, words = BAD[what]
    assert words in refused(client, body)
    assert words in refused(client, job(body))


def test_a_pod_that_names_no_scheduler_has_the_default_one(client: Client) -> None:
    unsaid = pod()
    del unsaid["spec"]["schedulerName"]
    assert ELSEWHERE in refused(client, unsaid)
    assert ELSEWHERE in refused(client, job(unsaid))


@pytest.mark.parametrize("taints", [None, []], ids=["kubeadm's taint", "no taint"])
def test_a_control_plane_is_free_where_it_lets_pods_in(
    client: Client, taints: list[Any] | None
) -> None:
    """Where nothing else is, the default scheduler has a pool left, or none."""
    base = site(GANG, SHARED, VOLCANO)
    pools = [
        pool.model_copy(update={"taints": taints}) if pool.name == "control" else pool
        for pool in base.file.pools
    ]
    made = objects(replace(base, file=base.file.model_copy(update={"pools": pools})))
    (body,) = (each.body for each in made if each.name == POLICY)
    client.apply(body, dry_run=True)
    left = [each for each in body["spec"]["validations"] if "has no pool left" in str(each)]
    wrote = [each for each in body["spec"]["validations"] if f"{POOL_LABEL}: control;" in str(each)]
    assert (len(left), len(wrote)) == ((1, 0) if taints is None else (0, 1))
