"""Refusals of jobs, each with a way out that works, and all of them at once."""

import re
import subprocess
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from components.training.checks import refusals
from components.training.fitting import largest_guarantee
from components.training.jobset import tf_config
from components.training.made import Made
from components.training.request import JobRequest, Template
from components.training.setting import Setting
from schemas.facts.site import Site
from tests.kit.accelerator_sites import site as accelerators
from tests.kit.training_pods import expanded
from tests.kit.training_site import (
    H100,
    MNCORE,
    RDMA,
    ROCE,
    T4,
    V100,
    fitting,
    gangs,
    made,
    make,
    pools,
    refused,
    request,
    scheduling,
    sites,
)

TRAINJOB, SERVERS, MPI = Template.ALL_REDUCE_TRAINJOB, Template.PARAMETER_SERVER, Template.MPI


@pytest.mark.parametrize(
    ("changed", "option", "says", "fix"),
    [
        ({"team": None}, "--team", "belong to teams", "vision, robotics"),
        ({"team": "visoin"}, "--team", "no team visoin", "write vision"),
        ({"team": "zzz"}, "--team", "no team zzz", "write one of vision, robotics"),
        ({"namespace": "vison-dev"}, "--namespace", "no namespace of vision", "write vision-dev"),
        ({"namespace": "robotics"}, "--namespace", "no namespace of vision", "vision"),
        ({"model": "v100-sxm2-23gb"}, "--model", "no model v100-sxm2-23gb", f"write {V100}"),
        ({"model": "gpu-v100-24gb"}, "--model", "no model", f"write {V100}"),
        ({"model": "preferred.jp/gpu-h100-80gb"}, "--model", "no model", f"write {H100}"),
        ({"model": T4}, "--model", f"guaranteed no {T4}", f"write one of {V100}, {H100}"),
        ({"workers": 0}, "--workers", "at least one", "1 or more"),
        ({"workers": -3}, "--workers", "at least one", "1 or more"),
        (
            {"team": "robotics", "priority": None, "per_worker": 1},
            "--workers",
            f"robotics may use 1 {V100} at most; the job asks for 2",
            "write at most 1",
        ),
        ({"per_worker": 0}, "--per-worker", "at least one", "1 or more"),
        ({"per_worker": 9}, "--per-worker", f"a host has 8 of {V100}, not 9", "at most 8"),
        # 40 cores less the one that is kept.
        ({"cpu": "40"}, "--cpu", "leaves 39 cores", "at most 39"),
        # 768 GiB less the 2 GiB that are kept and the 500 MiB at which pods are evicted.
        ({"memory": "766Gi"}, "--memory", "leaves 765Gi", "at most 765Gi"),
        ({"storage": "201Gi"}, "--storage", "may ask for 200Gi", "at most 200Gi"),
        ({"cpu": "lots"}, "--cpu", "no size", "such as 8"),
        ({"memory": "1.5Gi"}, "--memory", "no size", "such as 64Gi"),
        ({"storage": "0Gi"}, "--storage", "no size", "such as 50Gi"),
        ({"image": "two words"}, "--image", "no reference", "registry.example"),
        ({"image": ""}, "--image", "no reference", "registry.example"),
        ({"image": "me:pw@registry.example/a"}, "--image", "user or a password", "imagePullSecret"),
        ({"image": "R.example/Team/A:V1"}, "--image", "capital letters", "r.example/team/a:V1"),
        ({"image": "registry.example:99999/a"}, "--image", "no reference", "registry.example"),
        ({"image": "a/b:1@sha256:00"}, "--image", "no digest", "leave it out"),
        ({"command": ("x",) * 101}, "--command", "more than 100 words", "script"),
        ({"name": "Big"}, "--name", "no name of a job", "lower-case"),
        ({"name": "1st"}, "--name", "no name of a job", "letter first"),
        ({"priority": "hihg"}, "--priority", "no PriorityClass hihg", "write high"),
        (
            {"priority": "top"},
            "--priority",
            "vision may not use the PriorityClass top",
            "high, normal",
        ),
        ({"timeout": 101}, "--timeout", "takes 1 to 100 s", "at most 100"),
        ({"timeout": 0}, "--timeout", "takes 1 to 100 s", "leave it out"),
        ({"rdma": True}, "--rdma", f"no host with {V100} has it (v100)", "leave it out"),
        ({"servers": 2}, "--servers", "all-reduce has no parameter servers", "parameter-server"),
    ],
)
def test_a_fault_is_said_with_what_to_write_instead(
    changed: dict[str, Any], option: str, says: str, fix: str
) -> None:
    (found,) = refused(gangs(), request(**changed))
    assert found.option == option
    assert says in found.message
    assert fix in found.fix


@pytest.mark.parametrize(
    ("changed", "says", "fix"),
    [
        ({"cache": "pictrues"}, "no bucket pictrues", "write pictures"),
        ({"cache": "zzz"}, "no bucket zzz", "write one of layers, everybody, pictures"),
        ({"cache": ""}, "no bucket ", "write one of layers"),
        (
            {"cache": "robots"},
            "pods of vision may not use the bucket robots",
            "write one of everybody, pictures, given, open, or have vision written",
        ),
        (
            {"cache": "pictures", "namespace": "vision-dev"},
            "pods of vision-dev may not use the bucket pictures",
            "write one of everybody, given, open, or have vision-dev written",
        ),
    ],
)
def test_a_bucket_that_a_job_cannot_use_is_refused(
    changed: dict[str, Any], says: str, fix: str
) -> None:
    (found,) = refused(gangs(), request(**changed))
    assert found.option == "--cache"
    assert says in found.message
    assert fix in found.fix


def test_where_there_is_no_cache_none_is_promised() -> None:
    wanted = fitting("default", Template.ALL_REDUCE, cache="pictures")
    (found,) = refused(sites()["default"], wanted)
    assert (found.option, found.message) == ("--cache", "this site has no cache")
    assert "sites/osaka-1.yaml" in found.fix


def test_whose_a_job_is_comes_before_what_it_may_use() -> None:
    options = [each.option for each in refused(gangs(), request(team="visoin", cache="robots"))]
    assert options == ["--team"]


@pytest.mark.parametrize(
    ("template", "changed", "option"),
    [
        (SERVERS, {"servers": 0}, "--servers"),
        (MPI, {"command": ()}, "--command"),
    ],
)
def test_a_template_has_faults_of_its_own(
    template: Template, changed: dict[str, Any], option: str
) -> None:
    (found,) = refused(gangs(), request(template, **changed))
    assert found.option == option


def test_all_faults_are_said_at_once() -> None:
    wanted = request(
        team="visoin", workers=0, image="", name="Big", priority="hihg", timeout=999, cpu="x"
    )
    options = [each.option for each in refused(gangs(), wanted)]
    assert options == [
        "--team",
        "--workers",
        "--cpu",
        "--image",
        "--name",
        "--priority",
        "--timeout",
    ]


def test_more_than_there_are_machines_for_is_refused_whatever_is_promised() -> None:
    teams = [{"name": "vision", "namespaces": ["vision"], "accelerators": {V100: 64}}]
    site = accelerators(
        pools=pools(),
        scheduling=scheduling(teams=teams, off_peak=None, overcommit_percent={V100: 500}),
    )
    (found,) = refused(site, request(workers=4))
    # Four hosts, of which one is kept as a spare.
    assert "3 machines with v100-sxm2-32gb hold 3 workers" in found.message
    assert found.fix == "write at most 3"


def test_cores_and_memory_count_as_much_as_accelerators() -> None:
    # Eight workers of one accelerator would fit on a host, but each has half of its cores.
    (found,) = refused(gangs(), request(workers=7, per_worker=1, cpu="19"))
    assert "hold 6 workers" in found.message
    assert make(gangs(), request(workers=6, per_worker=1, cpu="19"))


def test_a_site_without_teams_needs_a_namespace_and_no_team() -> None:
    site = sites()["default"]
    (found,) = refused(site, request(team=None))
    assert found.option == "--namespace"
    team, namespace = refused(site, request())
    assert (team.option, namespace.option) == ("--team", "--namespace")
    (bad,) = refused(site, request(team=None, namespace="Not_One"))
    assert bad.option == "--namespace"
    made(site, request(team=None, namespace="anyone"))


def test_a_site_without_accelerators_says_what_to_write() -> None:
    site = accelerators(None)
    (found,) = [
        each
        for each in refused(site, request(team=None, namespace="x"))
        if each.option == "--model"
    ]
    assert found.fix == "write accelerators: in sites/osaka-1.yaml"


@pytest.mark.parametrize("kind", ["throttled", "kueue", "volcano", "default"])
def test_a_timeout_needs_a_scheduler_that_starts_gangs(kind: str) -> None:
    (found,) = refused(sites()[kind], fitting(kind, Template.ALL_REDUCE, timeout=30))
    assert found.option == "--timeout"
    assert "starts gangs" in found.message


@pytest.mark.parametrize("template", [MPI, TRAINJOB])
def test_two_workers_on_one_host_cannot_listen_on_one_port_of_it(template: Template) -> None:
    site = accelerators(pools=pools(h100=ROCE), scheduling=scheduling())
    wanted = request(template, model=H100, rdma=True, per_worker=4)
    (found,) = refused(site, wanted)
    assert found.option == "--per-worker"
    assert found.fix == "write 8, all of a host"
    made(site, replace(wanted, per_worker=8))
    made(site, replace(wanted, template=Template.ALL_REDUCE))
    # With an address of its own each pod has all ports.
    made(
        accelerators(pools=pools(h100=RDMA), scheduling=scheduling()),
        replace(wanted, per_worker=4),
    )


def test_parameter_servers_fit_where_they_run() -> None:
    # Two machines of 64 cores, of which one is kept, hold 15 servers of four each.
    site = sites()["default"]
    wanted = request(SERVERS, team=None, namespace="x", workers=1, servers=31)
    (found,) = refused(site, wanted)
    assert found.option == "--servers"
    assert found.fix == "write at most 30"
    made(site, replace(wanted, servers=30))


@pytest.mark.parametrize("template", Template)
def test_the_longest_name_is_taken_and_a_longer_one_is_not(template: Template) -> None:
    """A pod's name has six characters behind its host name; a Job's own pods have it cut by the
    API server, so there the host name decides."""
    extra = 0 if template is Template.ALL_REDUCE else 6
    wanted = request(template, workers=2, name="a")
    pods = expanded(gangs(), made(gangs(), wanted))
    room = 63 - max(len(pod.hostname) for pod in pods) - extra + 1
    made(gangs(), replace(wanted, name="a" * room))
    (found,) = refused(gangs(), replace(wanted, name="a" * (room + 1)))
    assert found.option == "--name"
    assert found.fix == f"write at most {room} characters"


def test_a_tf_config_that_no_program_can_start_with_is_refused() -> None:
    """The kernel is asked: it starts no program with so long a variable (MAX_ARG_STRLEN)."""
    root_disk = {"device_name": "/dev/sda"}
    cores = {"description": "many cores", "cpu_cores": 4096, "memory_gib": 65536}
    boards = {**cores, "accelerators": {"model": T4, "count": 64}}
    wide = dict.fromkeys(("t4", "v100", "h100", "mncore"), "boards") | {"cpu": "cores"}
    site = accelerators(
        pools=[{**pool, "hardware": wide.get(pool["name"], pool["hardware"])} for pool in pools()],
        hardware={
            "cores": {**cores, "root_disk": root_disk},
            "boards": {**boards, "root_disk": root_disk},
        },
    )
    wanted = request(
        SERVERS,
        model=T4,
        team=None,
        namespace="x",
        workers=640,
        per_worker=1,
        cpu="1",
        memory="1Gi",
        servers=640,
        name="a" * 41,
    )
    (found,) = refused(site, wanted)
    assert found.option == "--workers"
    assert "TF_CONFIG would name 1280 pods" in found.message
    with pytest.raises(OSError, match="too long"):
        started(site, wanted)
    shorter = replace(wanted, name="a" * 38)
    made(site, shorter)
    started(site, shorter)


def started(site: Site, wanted: JobRequest) -> None:
    """Start a program with the job's TF_CONFIG."""
    text = tf_config(Setting(site, wanted), "worker").replace("$(TASK_INDEX)", "639")
    subprocess.run(["/bin/true"], env={"TF_CONFIG": text}, check=True)


# --- any request at all ---------------------------------------------------------------------------

words = st.sampled_from(["vision", "robotics", "", "A b", "\x00", "é" * 80, V100, H100, "high"])
numbers = st.sampled_from([-1, 0, 1, 2, 3, 8, 9, 24, 10**6, 10**12])
sizes = st.none() | st.sampled_from(["", "0", "1", "8", "1e3", "999999999Ti", "5m", "64Gi", "x"])


@st.composite
def requests(draw: st.DrawFn) -> JobRequest:
    """Requests, of which most are wrong."""
    return JobRequest(
        template=draw(st.sampled_from(Template)),
        model=draw(st.sampled_from([V100, H100, T4, MNCORE, "", "x"])),
        workers=draw(numbers),
        image=draw(st.sampled_from(["", "a:1", "a b", "x" * 600])),
        team=draw(st.none() | words),
        namespace=draw(st.none() | words),
        name=draw(st.none() | words),
        per_worker=draw(st.none() | numbers),
        servers=draw(st.none() | numbers),
        cpu=draw(sizes),
        memory=draw(sizes),
        storage=draw(sizes),
        priority=draw(st.none() | words),
        timeout=draw(st.none() | numbers),
        rdma=draw(st.booleans()),
        command=draw(st.sampled_from([(), ("python", "a.py")])),
    )


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(sorted(sites())), requests())
def test_whatever_is_asked_for_is_made_or_refused_with_a_way_out(
    kind: str, wanted: JobRequest
) -> None:
    found = make(sites()[kind], wanted)
    if isinstance(found, Made):
        assert found.objects
        return
    assert found
    for each in found:
        assert re.fullmatch(r"--[a-z-]+", each.option)
        assert each.message
        assert each.fix


MOST = re.compile(r"write at most (\d+)(?!\d*Gi)")
FIELDS = {"--workers": "workers", "--per-worker": "per_worker", "--servers": "servers"}


@settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.sampled_from(sorted(sites())),
    st.sampled_from(Template),
    st.integers(1, 60),
    st.none() | st.integers(1, 12),
)
def test_the_number_that_a_refusal_offers_is_the_largest_that_is_taken(
    kind: str, template: Template, workers: int, per_worker: int | None
) -> None:
    site = sites()[kind]
    wanted = fitting(kind, template, workers=workers, per_worker=per_worker)
    for each in refusals(Setting(site, wanted)):
        match = MOST.search(each.fix)
        if match is None or each.option not in FIELDS:
            continue
        field, most = FIELDS[each.option], int(match[1])
        # Several limits may hold at once, each with its own number.
        assert each not in refusals(Setting(site, of(wanted, field, most)))
        over = refusals(Setting(site, of(wanted, field, most + 1)))
        assert any(one.option == each.option for one in over)


def of(wanted: JobRequest, field: str, number: int) -> JobRequest:
    """The request with another number."""
    changed: dict[str, Any] = {field: number}
    return replace(wanted, **changed)


def test_a_promise_off_peak_is_one() -> None:
    section = gangs().file.scheduling
    assert section is not None
    team = section.teams[0]
    assert largest_guarantee(team, V100) == 24
    assert largest_guarantee(team, H100) == 24
    assert largest_guarantee(team, T4) == 0
