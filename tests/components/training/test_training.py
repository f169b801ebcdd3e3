"""Jobs of every template on sites with every kind of scheduler: what they say, and that all of it
fits together."""

import itertools
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from components.effects.placement import fits
from components.machines.fleet import side_of
from components.making.dump import dump_all
from components.making.manifest import Json
from components.making.object_cache_client import FOLDER, TOKEN_PATH, TOKEN_VARIABLE, URL_VARIABLE
from components.making.rdma import NETWORKS_ANNOTATION, needs
from components.training import examples
from components.training.made import Made
from components.training.mpi import SSH_PORT
from components.training.request import JobRequest, Template
from components.training.room import room
from components.training.setting import Setting
from components.training.stopping import STOPPED, wrap
from schemas.facts.site import Site
from schemas.kubernetes.objects import check_object
from schemas.kubernetes.quantities import thousandths
from tests.kit.accelerator_sites import site as built
from tests.kit.training_pods import Pod, expanded
from tests.kit.training_site import (
    H100,
    IMAGE,
    NAME,
    PREFIX,
    RDMA,
    ROCE,
    SIZE,
    T4,
    TIMEOUT,
    V100,
    fitting,
    gangs,
    made,
    make,
    pools,
    request,
    scheduling,
    sites,
)

KINDS = sorted(sites())
SCHEDULERS = {
    "gang": "gang-scheduler",
    "throttled": "throttled-scheduler",
    "kueue": "default-scheduler",
    "volcano": "volcano",
    "default": "default-scheduler",
}
"""Names that pods write as schedulerName, by the kind of the site (schemas/model/scheduling.py,
Backend)."""
HELPERS = {"ps", "launcher"}
every_kind = pytest.mark.parametrize("kind", KINDS)
every_template = pytest.mark.parametrize("template", Template)
a_few = settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])


def by_kind(objects: list[Json]) -> dict[str, Json]:
    return {each["kind"]: each for each in objects}


def environment(pod: Pod) -> dict[str, str]:
    return {each["name"]: each.get("value", "") for each in pod.container["env"]}


def workers(pods: list[Pod]) -> list[Pod]:
    return [pod for pod in pods if pod.part not in HELPERS]


def without(index: dict[str, str]) -> dict[str, str]:
    return {key: value for key, value in index.items() if not key.endswith("completion-index")}


@st.composite
def jobs(draw: st.DrawFn) -> tuple[str, JobRequest]:
    """Jobs that are right, on any of the sites."""
    kind, template = draw(st.sampled_from(KINDS)), draw(st.sampled_from(Template))
    word = st.text("abc-0", max_size=20).map(lambda text: f"a{text}z")
    servers = st.none() | st.integers(1, 6)
    # Trainer's ports are always the same, and Volcano's hosts here share theirs with their pods.
    fixed = template in (Template.MPI, Template.ALL_REDUCE_TRAINJOB) and kind == "volcano"
    return kind, fitting(
        kind,
        template,
        workers=draw(st.integers(1, 2)),
        per_worker=draw(st.integers(1, 4)),
        servers=draw(servers) if template is Template.PARAMETER_SERVER else None,
        name=draw(st.none() | word),
        cpu=draw(st.none() | st.sampled_from(["1", "2500m", "16"])),
        memory=draw(st.none() | st.sampled_from(["1Gi", "64Gi", "500M"])),
        storage=draw(st.none() | st.sampled_from(["1Gi", "200Gi"])),
        priority=draw(st.sampled_from([None, "high", "normal"])) if kind != "volcano" else None,
        rdma=draw(st.booleans()) if kind != "default" and not fixed else False,
        timeout=draw(st.none() | st.integers(1, 100)) if kind == "gang" else None,
    )


@a_few
@given(jobs())
def test_all_pods_of_a_gang_say_the_same_and_are_as_many_as_they_say(
    job: tuple[str, JobRequest],
) -> None:
    kind, wanted = job
    pods = expanded(sites()[kind], made(sites()[kind], wanted))
    said = [
        {key: value for key, value in pod.annotations.items() if key.startswith(PREFIX)}
        for pod in pods
    ]
    members = [each for each in said if each]
    together = len(pods) - (wanted.template is Template.MPI)
    assert len(members) == (together if kind == "gang" and together > 1 else 0)
    for each in members:
        assert each == members[0]
        assert each[SIZE] == str(len(members))
        assert each.get(TIMEOUT) == (str(wanted.timeout) if wanted.timeout else None)


@a_few
@given(jobs())
def test_pods_ask_for_what_was_asked_for(job: tuple[str, JobRequest]) -> None:
    kind, wanted = job
    site = sites()[kind]
    pods = expanded(site, made(site, wanted))
    resource = site.resource(wanted.model)
    asked = [pod.container["resources"]["limits"].get(resource, "0") for pod in workers(pods)]
    assert asked == [str(wanted.per_worker)] * wanted.workers
    assert len(pods) - len(asked) == wanted.server_count + (wanted.template is Template.MPI)
    for pod in pods:
        size = pod.container["resources"]
        # Extended resources have to be equal; cores and memory are, for the pod's sake.
        assert {**size["requests"], "ephemeral-storage": ""} == {
            **size["limits"],
            "ephemeral-storage": "",
        }
        assert thousandths(size["requests"]["ephemeral-storage"]) <= thousandths(
            size["limits"]["ephemeral-storage"]
        )
        assert pod.container["image"] == wanted.image
        assert pod.spec["schedulerName"] == SCHEDULERS[kind]
        assert pod.spec.get("priorityClassName") == wanted.priority
        assert pod.spec["restartPolicy"] == "Never"


@a_few
@given(jobs())
def test_pods_can_run_on_hosts_of_their_model_and_nowhere_else(
    job: tuple[str, JobRequest],
) -> None:
    kind, wanted = job
    site = sites()[kind]
    served = {
        pool.name
        for pool in site.file.pools
        if (backend := site.backend(pool)) is site.backend_of(wanted.model)
        or {backend and backend.name, SCHEDULERS[kind]} == {None, "default-scheduler"}
    }
    pool_of = {host.name: host.pool for host in site.hosts}
    for pod in expanded(site, made(site, wanted)):
        places = {pool_of[name] for name, fit in fits(side_of(site, {}), pod.spec).items() if fit}
        if pod.part in HELPERS:
            assert places
            assert places <= served
        else:
            assert places == {pool.name for pool in site.pools_with(wanted.model)}


@a_few
@given(jobs())
def test_every_object_fits_the_real_schemas_and_is_always_the_same(
    job: tuple[str, JobRequest],
) -> None:
    kind, wanted = job
    objects = made(sites()[kind], wanted)
    assert [fault for each in objects for fault in check_object(each)] == []
    assert dump_all(made(sites()[kind], wanted)) == dump_all(objects)


@a_few
@given(jobs())
def test_a_job_has_one_name_and_namespace(job: tuple[str, JobRequest]) -> None:
    kind, wanted = job
    found = {
        (each["metadata"]["namespace"], each["metadata"]["name"])
        for each in made(sites()[kind], wanted)
    }
    assert found == {("vision", wanted.job)}


# --- what starts pods together --------------------------------------------------------------------


@every_template
def test_gangs_of_two_templates_never_mix(template: Template) -> None:
    found = {
        pod.annotations[NAME]
        for other in Template
        for pod in expanded(gangs(), made(gangs(), request(other, name="same")))
        if NAME in pod.annotations
    }
    # Both are TrainJobs, of which there is one of a name in a namespace.
    assert len(found) == len(Template) - 1
    (mine,) = {
        pod.annotations[NAME]
        for pod in workers(expanded(gangs(), made(gangs(), request(template, name="same"))))
    }
    assert mine in found


@every_template
def test_kueue_is_told_by_a_label_and_starts_a_job_that_waits(template: Template) -> None:
    objects = by_kind(made(sites()["kueue"], fitting("kueue", template)))
    kind = {"all-reduce": "Job", "parameter-server": "JobSet"}.get(template.value, "TrainJob")
    job = objects[kind]
    assert job["metadata"]["labels"] == {"kueue.x-k8s.io/queue-name": "default"}
    assert job["spec"]["suspend"] is True


@every_template
def test_volcano_is_told_by_a_group_of_the_team_s_queue(template: Template) -> None:
    site, wanted = sites()["volcano"], fitting("volcano", template)
    objects = made(site, wanted)
    group = by_kind(objects)["PodGroup"]
    assert objects[0] is group, "pods that name a group wait until it is there"
    named = [
        pod
        for pod in expanded(site, objects)
        if pod.annotations.get("scheduling.k8s.io/group-name") == group["metadata"]["name"]
    ]
    assert group["spec"]["minMember"] == len(named) >= wanted.workers
    assert group["spec"]["queue"] == "vision"
    # A group whose pods are gone would keep them from everybody.
    assert "minResources" not in group["spec"]


@every_template
@pytest.mark.parametrize("kind", ["throttled", "kueue", "default"])
def test_where_nothing_makes_gangs_no_pod_says_so(kind: str, template: Template) -> None:
    site = sites()[kind]
    pods = expanded(site, made(site, fitting(kind, template)))
    assert {key for pod in pods for key in without(pod.annotations)} == set()


@every_kind
def test_only_queues_make_a_job_wait(kind: str) -> None:
    for template in Template:
        waits = [
            each["spec"].get("suspend", False)
            for each in made(sites()[kind], fitting(kind, template))
            if each["kind"] in ("Job", "JobSet", "TrainJob")
        ]
        assert waits == [kind == "kueue"]


def test_the_launcher_is_not_of_the_gang_that_it_waits_for() -> None:
    objects = made(gangs(), request(Template.MPI, workers=2))
    runtime = by_kind(objects)["TrainingRuntime"]["spec"]["template"]["spec"]
    (launcher,) = [each for each in runtime["replicatedJobs"] if "dependsOn" in each]
    assert launcher["dependsOn"] == [{"name": "node", "status": "Ready"}]
    for pod in expanded(gangs(), objects):
        assert (NAME in pod.annotations) == (pod.part == "node")


def test_servers_and_workers_are_made_at_once() -> None:
    job = by_kind(made(gangs(), request(Template.PARAMETER_SERVER)))["JobSet"]["spec"]
    assert "startupPolicy" not in job  # JobSet's default: in any order, at once
    assert all("dependsOn" not in each for each in job["replicatedJobs"])
    assert job["successPolicy"]["targetReplicatedJobs"] == ["worker"]


def test_runtimes_of_the_site_have_no_gang_of_their_own() -> None:
    from components.training.objects import objects

    specs = [each.body["spec"] for each in objects(gangs()) if "Runtime" in each.kind]
    assert specs
    assert all("podGroupPolicy" not in each for each in specs)
    assert PREFIX not in json.dumps(specs)


# --- how pods find each other ---------------------------------------------------------------------


def test_workers_of_a_job_are_told_where_the_first_is() -> None:
    objects = made(gangs(), request(workers=3, per_worker=4, name="net"))
    pods = expanded(gangs(), objects)
    service = by_kind(objects)["Service"]
    assert service["spec"]["clusterIP"] == "None"
    assert service["spec"]["publishNotReadyAddresses"] is True
    # The Job controller labels a Job's pods so.
    assert service["spec"]["selector"] == {"batch.kubernetes.io/job-name": "net"}
    for pod in pods:
        said = environment(pod)
        assert said["MASTER_ADDR"] == f"{pods[0].hostname}.{service['metadata']['name']}"
        assert pod.spec["subdomain"] == service["metadata"]["name"]
        assert (said["WORLD_SIZE"], said["PET_NNODES"]) == ("12", "3")
        assert said["PET_NPROC_PER_NODE"] == "4"


def test_tf_config_names_every_pod_as_it_is_called() -> None:
    wanted = request(Template.PARAMETER_SERVER, servers=2, name="net")
    pods = expanded(gangs(), made(gangs(), wanted))
    for pod in pods:
        said = environment(pod)
        names = [each["name"] for each in pod.container["env"]]
        # The kubelet puts in only what stands before it.
        assert names.index("TASK_INDEX") < names.index("TF_CONFIG")
        config = json.loads(said["TF_CONFIG"].replace("$(TASK_INDEX)", "1"))
        assert config["task"] == {"type": pod.part, "index": 1}
        for part in ("ps", "worker"):
            hosts = [each.hostname for each in pods if each.part == part]
            assert config["cluster"][part] == [f"{host}.net:29500" for host in hosts]


def test_mpirun_starts_a_process_for_each_accelerator() -> None:
    (launcher,) = [
        pod
        for pod in expanded(gangs(), made(gangs(), request(Template.MPI, per_worker=4)))
        if pod.part == "launcher"
    ]
    assert launcher.container["command"][-5:] == ["mpirun", "-np", "8", "python", "train.py"]


def test_workers_of_mpi_are_ready_once_their_server_listens() -> None:
    pods = workers(expanded(gangs(), made(gangs(), request(Template.MPI))))
    for pod in pods:
        assert pod.container["readinessProbe"]["tcpSocket"]["port"] == SSH_PORT
        assert f"-p {SSH_PORT} " in pod.container["command"][-1]


def test_with_the_network_of_the_host_each_job_has_a_port_of_its_own() -> None:
    site = built(pools=pools(h100=ROCE), scheduling=scheduling())

    def port(name: str, **changed: Any) -> int:
        wanted = request(model=H100, per_worker=4, name=name, rdma=True, **changed)
        (pod, *_) = expanded(site, made(site, wanted))
        assert pod.spec["hostNetwork"] is True
        assert pod.spec["dnsPolicy"] == "ClusterFirstWithHostNet"
        return int(environment(pod)["MASTER_PORT"])

    ports = {port("a"), port("b"), port("a", namespace="vision-dev")}
    assert len(ports) == 3
    # Below those that Linux gives to connections that go out, above those of the system.
    assert all(1024 < each < 32768 for each in ports)


# --- what pods get --------------------------------------------------------------------------------


@every_template
def test_workers_join_the_network_of_their_namespace_by_functions(template: Template) -> None:
    functions = {"name": "fast", "interfaces": ["ib0"], "functions": 8, "rdma": True}
    site = built(pools=pools(h100={"sriov": [functions]}), scheduling=scheduling())
    for pod in expanded(site, made(site, request(template, model=H100, rdma=True))):
        joined = pod.annotations.get(NETWORKS_ANNOTATION)
        assert joined == (None if pod.part in HELPERS else "fast--vision")


@every_template
def test_workers_get_all_that_rdma_needs_and_helpers_none_of_it(template: Template) -> None:
    site = gangs()
    (pool,) = site.pools_with(H100)
    wanted = needs(site, pool)
    assert wanted.resources
    assert wanted.capabilities
    for pod in expanded(site, made(site, request(template, model=H100, rdma=True))):
        given = pod.container["resources"]["limits"].items()
        added = pod.container.get("securityContext", {}).get("capabilities", {}).get("add")
        helper = pod.part in HELPERS
        assert (wanted.resources.items() <= given) != helper
        assert added == (None if helper else wanted.capabilities)
        assert wanted.volumes == ([] if helper else pod.spec["volumes"]) or helper
        assert wanted.mounts == ([] if helper else pod.container["volumeMounts"]) or helper


@every_template
def test_without_rdma_pods_have_shared_memory_and_no_rights(template: Template) -> None:
    for pod in workers(expanded(gangs(), made(gangs(), request(template)))):
        assert pod.spec["volumes"] == [{"name": "shared-memory", "emptyDir": {"medium": "Memory"}}]
        assert pod.container["volumeMounts"][0]["mountPath"] == "/dev/shm"
        assert "securityContext" not in pod.container


def test_of_pools_with_one_model_those_with_most_machines_have_the_rdma_that_is_used() -> None:
    both = [
        {**pool, "hardware": "h100-sxm5-80gb-x8"} if pool["name"] == "mncore" else pool
        for pool in pools(h100=RDMA, mncore=ROCE)
    ]
    backend = {
        "name": "gang-scheduler",
        "kind": "kube-scheduler",
        "pools": ["h100", "mncore"],
        "scheduler": scheduling()["backends"][0]["scheduler"],
    }
    site = built(
        pools=both,
        scheduling=scheduling(
            backend,
            teams=[{"name": "vision", "namespaces": ["vision"], "accelerators": {H100: 24}}],
            off_peak=None,
            overcommit_percent=None,
        ),
    )
    # Three machines with InfiniBand, two with RoCE (tests/kit/accelerator_sites.py).
    (pod, *_) = expanded(site, made(site, request(model=H100, rdma=True)))
    assert pod.spec["nodeSelector"]["node.cluster.x-k8s.io/pool"] == "h100"
    assert "rdma/hca" in pod.container["resources"]["limits"]
    (plain, *_) = expanded(site, made(site, request(model=H100)))
    assert "node.cluster.x-k8s.io/pool" not in plain.spec["nodeSelector"]


@every_kind
def test_a_worker_s_default_is_its_share_of_a_host(kind: str) -> None:
    site = sites()[kind]
    wanted = fitting(kind, Template.ALL_REDUCE, per_worker=2, workers=1)
    pod, *_ = expanded(site, made(site, wanted))
    here = room(site, site.pools_with(wanted.model)[0])
    size = pod.container["resources"]["requests"]
    share = here.accelerators // 2
    for name, whole in (("cpu", here.cpu), ("memory", here.memory)):
        assert 0.5 * whole < share * thousandths(size[name]) < 0.9 * whole, name


# --- the cache ------------------------------------------------------------------------------------


@every_template
@pytest.mark.parametrize("priority", [None, "high"])
@pytest.mark.parametrize("kind", sorted(set(KINDS) - {"default"}))
def test_every_worker_has_the_token_and_the_address_of_the_cache(
    kind: str, priority: str | None, template: Template
) -> None:
    site = sites()[kind]
    cached = fitting(kind, template, cache="pictures", priority=priority)
    plain = fitting(kind, template, priority=priority)
    pods, others = (expanded(site, made(site, each)) for each in (cached, plain))
    for pod, other in zip(pods, others, strict=True):
        if pod.part in HELPERS:
            assert pod.spec.get("volumes") == other.spec.get("volumes")
            continue
        said = environment(pod)
        assert said[URL_VARIABLE] == "http://cache.caches.svc/v1/objects/pictures/"
        assert said[TOKEN_VARIABLE] == TOKEN_PATH
        (mount,) = [e for e in pod.container["volumeMounts"] if e["mountPath"] == FOLDER]
        (volume,) = [e for e in pod.spec["volumes"] if e["name"] == mount["name"]]
        (source,) = volume["projected"]["sources"]
        assert source["serviceAccountToken"] == {
            "audience": "objects",
            "expirationSeconds": 7200,
            "path": "token",
        }
        # The rest is as it is without.
        assert len(pod.spec["volumes"]) == len(other.spec["volumes"]) + 1
        assert len(pod.container["volumeMounts"]) == len(other.container["volumeMounts"]) + 1
        assert pod.annotations == other.annotations
    assert [fault for each in made(site, cached) for fault in check_object(each)] == []


def test_mpirun_passes_the_place_of_the_cache_on_as_ssh_does_not() -> None:
    wanted = request(Template.MPI, cache="pictures")
    (launcher,) = [p for p in expanded(gangs(), made(gangs(), wanted)) if p.part == "launcher"]
    words = launcher.container["command"]
    exported = {word for flag, word in itertools.pairwise(words) if flag == "-x"}
    (worker, *_) = workers(expanded(gangs(), made(gangs(), wanted)))
    assert exported == {f"{name}={text}" for name, text in environment(worker).items()}
    assert words[-2:] == ["python", "train.py"]


def test_runtimes_of_the_site_have_no_bucket_as_teams_share_them() -> None:
    from components.training.objects import runtimes

    assert FOLDER not in json.dumps([each.body for each in runtimes(gangs())])


@pytest.mark.parametrize(
    ("bucket", "rights"),
    [
        ("pictures", "read and write"),
        ("everybody", "read and write"),
        ("open", "read and write"),
        ("given", "read, and not"),
    ],
)
def test_a_job_says_what_it_may_do_with_a_bucket(bucket: str, rights: str) -> None:
    assert f"may {rights}" in notes(gangs(), request(cache=bucket))


@pytest.mark.parametrize(
    ("namespace", "bucket"),
    [
        # A bucket of its own comes before one that anybody reads; hosts' layers are no data.
        ("vision", "pictures"),
        ("robotics", "robots"),
        ("vision-dev", None),
    ],
)
def test_examples_of_a_team_with_a_bucket_use_it(namespace: str, bucket: str | None) -> None:
    (found,) = [each for each in examples.examples(gangs()) if each.key[2] == namespace]
    for name, text in found.body["data"].items():
        assert (f"--cache {bucket}" in text) == (bucket is not None), name
        assert (f"/v1/objects/{bucket}/" in text) == (bucket is not None), name
        assert (FOLDER in text) == (bucket is not None), name


# --- how they end and come back -------------------------------------------------------------------


@every_kind
def test_pods_that_are_stopped_count_nowhere(kind: str) -> None:
    """DisruptionTarget is on the pod that was preempted; 143 is how the others of its gang end."""
    site = sites()[kind]
    for template in Template:
        for policy, action in policies(made(site, fitting(kind, template)), template):
            first, second = policy["podFailurePolicy"]["rules"]
            assert first["onPodConditions"] == [{"type": "DisruptionTarget", "status": "True"}]
            assert second["onExitCodes"] == {"operator": "In", "values": [STOPPED]}
            assert {first["action"], second["action"]} == {action}
            assert policy["podReplacementPolicy"] == "Failed"


def policies(objects: list[Json], template: Template) -> list[tuple[Json, str]]:
    """The specs of all Jobs that come of a job's objects, with what stopped pods mean there."""
    found = by_kind(objects)
    if template is Template.ALL_REDUCE:
        return [(found["Job"]["spec"], "Ignore")]
    whole = found.get("JobSet") or found.get("TrainingRuntime")
    if whole is None:
        return []
    spec = whole["spec"].get("template", whole)["spec"]
    return [(each["template"]["spec"], "FailJob") for each in spec["replicatedJobs"]]


@every_template
def test_a_set_starts_again_whole_and_counts_only_faults(template: Template) -> None:
    found = by_kind(made(gangs(), request(template, priority="high")))
    whole = found.get("JobSet") or found.get("TrainingRuntime")
    if template is Template.ALL_REDUCE:
        assert whole is None
        spec = found["Job"]["spec"]
        assert (spec["backoffLimitPerIndex"], spec["maxFailedIndexes"]) == (0, 0)
        assert "backoffLimit" not in spec
        return
    assert whole is not None
    policy = whole["spec"].get("template", whole)["spec"]["failurePolicy"]
    (rule,) = policy["rules"]
    assert rule["action"] == "RestartJobSetAndIgnoreMaxRestarts"
    assert rule["onJobFailureReasons"] == ["PodFailurePolicy"]
    assert policy["maxRestarts"] > 0


@every_template
def test_a_command_is_run_by_the_script_and_an_image_s_own_is_not(template: Template) -> None:
    start = wrap([])
    for pod in expanded(gangs(), made(gangs(), request(template))):
        assert pod.container["command"][: len(start)] == start
    if template is Template.MPI:
        return
    bare = make(gangs(), request(template, command=()))
    assert isinstance(bare, Made)
    assert any("143" in note for note in bare.notes)
    for pod in expanded(gangs(), bare.objects):
        assert "command" not in pod.container


# --- what a person is told ------------------------------------------------------------------------


def notes(site: Site, wanted: JobRequest) -> str:
    found = make(site, wanted)
    assert isinstance(found, Made), found
    return " ".join(found.notes)


def test_one_pod_is_no_gang_and_the_job_says_so() -> None:
    wanted = request(model=T4, workers=1, team=None, namespace="x")
    site = sites()["default"]
    assert "One pod is no gang" in notes(site, wanted)
    assert "One pod is no gang" in notes(gangs(), request(workers=1))
    assert "One pod is no gang" not in notes(gangs(), request(workers=2))
    alone = expanded(gangs(), made(gangs(), request(workers=1)))
    assert without(alone[0].annotations) == {}


def test_a_server_and_a_worker_are_a_gang() -> None:
    pods = expanded(gangs(), made(gangs(), request(Template.PARAMETER_SERVER, workers=1)))
    assert [pod.annotations[SIZE] for pod in pods] == ["2", "2"]


def test_a_job_beyond_the_usual_promise_says_that_it_waits_for_the_evening() -> None:
    assert "off-peak only" in notes(gangs(), request(workers=3))
    assert "off-peak only" not in notes(gangs(), request(workers=2))


def test_where_nothing_starts_pods_together_the_job_says_so() -> None:
    said = notes(sites()["throttled"], fitting("throttled", Template.ALL_REDUCE))
    assert "Nothing starts its pods together" in said


def test_the_model_of_a_job_with_a_tier_is_the_site_s_runtime_word_for_word() -> None:
    """A tier cannot be patched into a TrainJob: such a job has a runtime of its own."""
    plain = made(gangs(), request(Template.ALL_REDUCE_TRAINJOB))
    own = made(gangs(), request(Template.ALL_REDUCE_TRAINJOB, priority="high"))
    assert [each["kind"] for each in plain] == ["TrainJob"]
    assert [each["kind"] for each in own] == ["TrainingRuntime", "TrainJob"]
    ours, theirs = (expanded(gangs(), each) for each in (own, plain))
    for mine, other in zip(ours, theirs, strict=True):
        spec = {**other.spec, "priorityClassName": "high"}
        assert mine.spec == spec
        assert mine.annotations == other.annotations
    assert V100 in plain[0]["spec"]["runtimeRef"]["name"]


# --- the examples ---------------------------------------------------------------------------------


def test_examples_that_are_too_many_for_one_config_map_go_on_in_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def texts() -> dict[str, dict[str, str]]:
        found = [each for each in examples.examples(gangs()) if each.key[2] == "vision"]
        return {each.key[3]: each.body["data"] for each in found}

    (whole,) = texts().values()
    # For each template and model that the team is promised there is one.
    assert len(whole) == len(Template) * 2
    most = 15_000
    assert max(map(len, whole.values())) < most < sum(map(len, whole.values()))
    monkeypatch.setattr(examples, "MOST_BYTES", most)
    parts = texts()
    assert list(parts)[:2] == ["job-templates", "job-templates-2"]
    assert all(sum(map(len, data.values())) <= most for data in parts.values())
    assert {key: text for data in parts.values() for key, text in data.items()} == whole


@pytest.mark.parametrize("kind", sorted(set(KINDS) - {"default"}))
def test_every_example_says_what_is_changed_together(kind: str) -> None:
    site = sites()[kind]
    for manifest in examples.examples(site):
        for text in manifest.body["data"].values():
            lines = text.splitlines()
            head = "\n".join(line for line in lines if line.startswith("#"))
            assert f"foresite job {site.name} " in head
            assert (f"{PREFIX}-size" in head) == (kind == "gang")
            assert ("minMember" in head) == (kind == "volcano")
            # What it names is there to be changed; of a gang only where there is one.
            body = "\n".join(line for line in lines if not line.startswith("#"))
            counts = next(line for line in lines if line.startswith("# - the number of workers"))
            named = [each.split()[-1] for each in counts.partition(": ")[2].split(", ")]
            missing = {each for each in named if each not in body}
            alone = "One pod is no gang" in head and kind == "gang"
            assert missing == ({SIZE} if alone else set())


@every_kind
@pytest.mark.parametrize("rdma", [False, True])
def test_a_varied_setting_is_that_of_its_request(kind: str, rdma: bool) -> None:
    site = sites()[kind]
    for model in site.models():
        base = Setting(site, JobRequest(Template.ALL_REDUCE, model, 2, IMAGE, rdma=rdma))
        names = [each for each, found in vars(Setting).items() if hasattr(found, "func")]
        for fields in ({"team": "vision", "namespace": "vision-dev"}, {"workers": 1, "servers": 2}):
            varied = base.vary(per_worker=1, template=Template.PARAMETER_SERVER, **fields)
            alone = Setting(site, varied.request)
            assert {each: getattr(varied, each) for each in names} == {
                each: getattr(alone, each) for each in names
            }
        with pytest.raises(ValueError, match="RDMA"):
            base.vary(rdma=not rdma)
