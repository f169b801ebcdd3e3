"""Rules on fault remediation and monitoring that files with one fault cannot show: bounds that
depend on how many hosts there are, advice that helps whatever is written, what is no fault."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.editor import site_schema
from schemas.facts.site import Site
from schemas.load import load
from schemas.model.accelerators import Health
from schemas.model.codes import Code
from schemas.model.remediation import Remediation
from schemas.model.scheduling import Scheduling
from schemas.model.vocabulary import Fault, ModelBy, Role
from schemas.reading.literal_secrets import in_document
from schemas.reading.suggested_value import tidy
from schemas.reading.yaml_reader import read_yaml
from schemas.rules import (
    judge,
    monitoring,
    namespaces,
    once,
    remediation,
    remediation_detector,
    remediation_repairs,
)
from schemas.rules.finding import Finding
from tests.golden import every_site, with_file, with_pool
from tests.invalid.faults import build

_modest = settings(max_examples=150, database=None)
SITE = every_site()["tokyo-1"]
IMAGE = "registry.example/a:1@sha256:" + "ab" * 32


def with_remediation(site: Site = SITE, **fields: Any) -> Site:
    return with_file(site, remediation=Remediation.model_validate(fields))


def with_healer(site: Site = SITE, **fields: Any) -> Site:
    healer = {"name": "healer", "pools": ["v100"], **fields}
    return with_remediation(site, healers=[healer])


def with_machines(count: int, pool: str = "v100") -> Site:
    """tokyo-1 with so many machines, all in one pool, which is a healer's."""
    site = with_pool(SITE, pool, spares=0)
    hosts = [host for host in SITE.hosts if host.pool == "v100"][:count]
    return replace(site, hosts=tuple(host._replace(pool=pool) for host in hosts))


def only(findings: Iterator[Finding]) -> Finding | None:
    found = list(findings)
    assert len(found) <= 1
    return found[0] if found else None


def number(text: str) -> int:
    match = re.search(r"write (\d+)", text)
    assert match, text
    return int(match[1])


# --- healers ---------------------------------------------------------------------------------


@_modest
@given(
    st.integers(1, 60),
    st.integers(1, 100),
    st.integers(1, 99),
    st.sampled_from(["v100", "control"]),
    st.sampled_from(["node-operation-controller", "medik8s"]),
)
def test_budgets_that_pass_leave_hosts_and_advice_helps(
    machines: int, wanted: int, percent: int, pool: str, kind: str
) -> None:
    def judged(budget: int) -> Finding | None:
        healer = {"name": "healer", "kind": kind, "pools": [pool], "max_unavailable": budget}
        site = with_machines(machines, pool)
        made = with_remediation(site, healers=[healer], max_faulty_percent=percent)
        return only(remediation.budgets(made))

    finding = judged(wanted)
    members = SITE.control_plane.name == pool
    if members and machines <= 2:
        # No budget helps: etcd has no majority, or nobody is left that mends.
        assert finding is not None
        assert finding.place == ("remediation", "healers", 0, "pools", 0)
        return
    if finding is not None:
        assert finding.place == ("remediation", "healers", 0, "max_unavailable")
        # What passes the bound of the pool may still be more than may be faulty.
        again = judged(number(finding.fix))
        assert again is None or judged(number(again.fix)) is None
        return
    left = machines - wanted
    assert machines == 1 or left > (machines // 2 if members else 0)
    hosts_own = 1 if kind == "medik8s" else 2
    assert wanted <= hosts_own or wanted * 100 <= machines * percent


def test_a_pool_of_one_may_be_mended() -> None:
    assert only(remediation.budgets(with_healer(with_machines(1)))) is None


def test_a_lone_control_plane_hides_nothing_of_other_pools() -> None:
    lone = with_pool(SITE, "control", spares=len(SITE.by_pool["control"]) - 1)
    healer = {"pools": ["v100", "control"], "max_unavailable": 100}
    places = [each.place[3:] for each in remediation.budgets(with_healer(lone, **healer))]
    assert places == [("pools", 1), ("max_unavailable",)]


def test_a_small_pool_does_not_bound_what_a_large_one_may_reach() -> None:
    pools = ["v100", "control"]
    assert len(SITE.hosts_of(SITE.control_plane)) == 3
    one = with_healer(pools=pools, max_unavailable=1)
    assert only(remediation.budgets(one)) is None
    finding = only(remediation.budgets(with_healer(pools=pools, max_unavailable=2)))
    assert finding is not None
    assert "etcd" in finding.message
    small = with_pool(SITE, "h100", spares=len(SITE.by_pool["h100"]) - 4)
    both = with_healer(small, pools=["v100", "h100"], max_unavailable=2)
    assert only(remediation.budgets(both)) is None


def test_names_of_healers_are_told_apart_with_those_of_pools() -> None:
    site = with_pool(SITE, "h100", name="big-v100")
    healers = [
        {"name": "gpu", "pools": ["big-v100"], "faults": ["kernel-deadlock"]},
        {"name": "gpu-big", "pools": ["v100"], "faults": ["kernel-deadlock"]},
    ]
    finding = only(remediation.remediator_names(with_remediation(site, healers=healers)))
    assert finding is not None
    assert finding.place == ("remediation", "healers", 1, "name")
    assert "gpu-big-v100" in finding.message


def test_an_empty_list_of_faults_is_told_once() -> None:
    site = with_healer(faults=[])
    rules = (
        once.together, remediation.remediator_faults, remediation.repairable_faults,
        remediation.one_healer,
    )  # fmt: skip
    assert [each.code for rule in rules for each in rule(site)] == [Code("healer-empty")]


def test_the_usual_faults_fit_hosts_without_accelerators() -> None:
    """By default a healer names faults of accelerators too, and those are left out."""
    assert list(remediation.repairable_faults(with_healer(pools=["cpu"]))) == []


def test_nothing_is_said_of_hosts_that_are_not_known() -> None:
    site = with_healer(pools=["cpu"], faults=["accelerator-missing"])
    assert [each.code for each in remediation.repairable_faults(site)] == [
        Code("healer-meaningless")
    ]
    assert list(remediation.repairable_faults(with_pool(site, "cpu", hardware="unknown"))) == []
    faults = ["kernel-deadlock", "accelerator-missing"]
    assert len(list(remediation.repairable_faults(with_healer(pools=["cpu"], faults=faults)))) == 1
    misspelt = with_healer(pools=["cpu", "v10"], faults=faults)
    assert list(remediation.repairable_faults(misspelt)) == []


def test_healers_of_one_kind_may_share_a_pool() -> None:
    healers = [
        {"name": "a", "pools": ["v100"], "faults": ["kernel-deadlock"]},
        {"name": "b", "pools": ["v100"], "faults": ["read-only-filesystem"], "eviction": "wait"},
    ]
    assert list(remediation.one_healer(with_remediation(healers=healers))) == []


def test_only_control_planes_may_not_wait_for_their_pods() -> None:
    assert list(remediation.evictions(with_healer(eviction="wait"))) == []
    control = next(pool.name for pool in SITE.file.pools if pool.role is Role.CONTROL_PLANE)
    assert len(list(remediation.evictions(with_healer(eviction="wait", pools=[control])))) == 1


# --- times and programs ----------------------------------------------------------------------

waits = st.sampled_from([300, 1500, 1800, 7200])


@_modest
@given(st.integers(300, 7200) | waits, waits, st.booleans(), st.sampled_from(["medik8s", None]))
def test_cluster_api_never_steps_in_during_a_reboot(
    takes: int, wait: int, written: bool, kind: str | None
) -> None:
    healer = {"name": "a", "pools": ["v100"]} | ({"kind": kind} if kind else {})

    def judged(takes: int, wait: int) -> Finding | None:
        check = SITE.file.pools[0].health_check.model_validate(
            {"unhealthy_timeout_seconds": wait} if written else {}
        )
        site = with_pool(SITE, "v100", health_check=check)
        reboot = {"timeout_seconds": takes}
        return only(
            judge(
                remediation_repairs.last_resort,
                with_remediation(site, healers=[healer], reboot=reboot),
            )
        )

    finding = judged(takes, wait)
    assert (finding is None) == (takes < (wait if written else 1800))
    if finding is None:
        return
    advised = number(finding.fix)
    if finding.place[0] == "pools":
        assert judged(takes, advised) is None
    else:
        assert finding.place == ("remediation", "reboot", "timeout_seconds")
        assert judged(advised, wait) is None


def test_a_pool_that_nobody_mends_may_be_given_up_when_it_likes() -> None:
    check = SITE.file.pools[0].health_check.model_validate({"unhealthy_timeout_seconds": 300})
    site = with_pool(SITE, "a100", health_check=check)
    assert list(judge(remediation_repairs.last_resort, with_healer(site))) == []


@_modest
@given(st.integers(1, 10), st.integers(300, 7200), st.integers(1, 168))
def test_as_many_reboots_as_are_allowed_fit_their_window(
    attempts: int, takes: int, hours: int
) -> None:
    def judged(hours: int) -> Finding | None:
        reboot = {"attempts": attempts, "timeout_seconds": takes, "window_hours": hours}
        healer = {"name": "a", "pools": ["v100"]}
        return only(
            judge(remediation_repairs.window, with_remediation(healers=[healer], reboot=reboot))
        )

    finding = judged(hours)
    assert (finding is None) == (attempts * takes <= hours * 3600)
    assert finding is None or judged(number(finding.fix)) is None


checks_in_a_row = st.none() | st.integers(1, 20)


@_modest
@given(st.integers(10, 600), checks_in_a_row, checks_in_a_row, st.sampled_from([300, 1500]))
def test_faults_are_found_within_an_hour_and_gone_in_the_time_that_a_boot_leaves(
    every: int, bad: int | None, good: int | None, takes: int
) -> None:
    given = {"interval_seconds": every, "bad_after": bad, "good_after": good}
    given = {name: value for name, value in given.items() if value is not None}

    def judged(detector: dict[str, Any]) -> list[Finding]:
        healer = {"name": "a", "pools": ["v100"]}
        reboot = {"timeout_seconds": takes}
        made = with_remediation(healers=[healer], detector=detector, reboot=reboot)
        return list(judge(remediation_repairs.reporting_times, made))

    found = judged(given)
    # The boot takes a part of the time, and checks begin after it.
    late, slow = every * (bad or 3) > 3600, every * (good or 2) > takes / 2
    assert len(found) == late + slow
    # Where checks cannot run as often as that needs, their number is the next advice.
    for _ in range(2):
        for finding in judged(given):
            assert finding.place[-1] in given
            given[str(finding.place[-1])] = number(finding.fix)
    assert judged(given) == []


@pytest.mark.parametrize(
    ("image", "own"),
    [
        ("node-problem-detector", {"detector": {"image": IMAGE}}),
        ("node-repair", {"repair_image": IMAGE}),
        ("node-operation-controller", {"controller": {"image": IMAGE}}),
    ],
)
def test_an_image_is_the_releases_or_the_sites(image: str, own: dict[str, Any]) -> None:
    every = dict.fromkeys(
        ("node-problem-detector", "node-repair", "node-operation-controller"), IMAGE
    )

    def judged(**fields: Any) -> Finding | None:
        images = {name: value for name, value in every.items() if name != image}
        site = replace(SITE, release=SITE.release.model_copy(update={"images": images}))
        return only(judge(remediation_repairs.remediation_images, with_remediation(site, **fields)))

    healers = [{"name": "a", "pools": ["v100"]}]
    finding = judged(healers=healers)
    assert finding is not None
    assert finding.message.endswith(image)
    assert judged(healers=healers, **own) is None
    detects_only = judged(healers=[])
    assert (detects_only is None) == (image != "node-problem-detector")


# --- detectors -------------------------------------------------------------------------------

EXPRESSIONS = {
    "^GPU [0-9]+:": True, ".": True, "[[:digit:]]+ ok": True, r"a\*?": True, r"\(?ok\)?": True,
    r"(ok|good)$": True, r"a{2,3}b": True, r"\.ok": True,
    r"board \d+": False, "(?:ok)": False, "o*?k": False, r"GPU\t0": False, "(": False, "[": False,
    "ok)(": False, "mncore fault|": False, ".*.*": False, "(x)*yz*|a*": False, "ok|": False,
    r"(c)d\1": False, r"x|\'": False, "ok\n": False, "[:,]": True, "[a[:alpha:]-]": True,
    "[[:foo:]] fault": False, "[:digit:]": False, "[[.foo.]]": False, "[[=a=]]": False,
    "[.][.]": True, "x{255}": True, "x{256}": True, "(a{40000} x)": False, "x{6000,}": False,
    "(x{255}){255}": False, "([0-9a-f]{4}-){3}[0-9a-f]{12}": True,
}  # fmt: skip
"""Expressions of lines, and whether grep -E on a host takes them as the writer means them."""


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_an_expression_that_passes_is_one_of_grep(text: str) -> None:
    assert (remediation_detector.broken_expression(text) is None) is EXPRESSIONS[text]
    grep = shutil.which("grep")
    if EXPRESSIONS[text] and grep:
        command = [grep, "-cE", "-e", text]
        ended = subprocess.run(command, input=b"", capture_output=True, check=False)
        assert (ended.returncode, ended.stderr) == (1, b"")  # no line, and no complaint


def test_a_condition_leads_to_its_fault() -> None:
    names = ("BoardTooHot", "PCIeLinkDegraded", "ReadonlyFilesystem")
    pattern = "[a-z-]+"
    assert [tidy(each, pattern) for each in names] == [
        "board-too-hot", "pcie-link-degraded", "read-only-filesystem"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("program", "good"),
    [
        ("nvidia-smi", True), ("/opt/mncore/bin/status", True), ("python3.11", True),
        ("bin/status", False), ("./status", False), ("/opt//status", False), ("-L", False),
        ("nvidia-smi -L", False), ("/opt/status\n", False), ("$STATUS", False),
    ],
)  # fmt: skip
def test_a_command_begins_with_a_program(program: str, good: bool) -> None:
    health = Health(command=[program])
    assert list(_own_health(health)) == [] if good else len(list(_own_health(health))) == 1


def _own_health(health: Health) -> Iterator[Finding]:
    """The findings on a site's own model with this health command."""
    record = SITE.accelerators["h100-sxm5-80gb"].model_copy(update={"health": health})
    settings = SITE.file.accelerators
    assert settings is not None
    own = settings.model_copy(update={"models": {"own": record}})
    return judge(remediation_detector.health_commands, with_file(SITE, accelerators=own))


def test_the_catalogues_models_would_pass_as_a_sites_own() -> None:
    settings = SITE.file.accelerators
    assert settings is not None
    own = settings.model_copy(update={"models": dict(SITE.accelerators)})
    assert (
        list(judge(remediation_detector.health_commands, with_file(SITE, accelerators=own))) == []
    )


def test_errors_that_are_written_go_before_the_usual_ones() -> None:
    def judged(**xids: list[int]) -> list[Finding]:
        return list(judge(remediation_detector.xids, with_remediation(detector={"xids": xids})))

    assert judged(reboot=[79, 48]) == []  # 48 is watched by default
    (finding,) = judged(watch=[48, 79])
    assert finding.place[-2:] == ("watch", 1)
    (finding,) = judged(reboot=[48], watch=[48, 79])
    assert finding.place[-2:] == ("watch", 0)


def test_devices_are_tainted_where_a_dra_driver_hands_them_out() -> None:
    site = with_remediation(device_taints=True)
    assert len(list(judge(remediation_detector.device_taints, site))) == 1
    settings = SITE.file.accelerators
    assert settings is not None
    dra = settings.model_copy(update={"model_by": ModelBy.DRA})
    assert list(judge(remediation_detector.device_taints, with_file(site, accelerators=dra))) == []


@pytest.mark.parametrize(
    ("disks", "percent", "found"),
    [
        (["/"], 50, 0),  # the system's own disk
        (["/srv/nvme"], 50, 1),
        (["/srv/nvme/cache"], 50, 1),
        (["/srv/nv"], 50, 0),
        (["/srv/nvme"], 99, 0),
    ],
)
def test_a_disk_is_the_caches_by_its_folder(disks: list[str], percent: int, found: int) -> None:
    assert SITE.file.cache is not None
    assert SITE.file.cache.data_path == "/srv/nvme/cache"
    site = with_remediation(detector={"disks": disks, "disk_full_percent": percent})
    assert len(list(judge(remediation_detector.cache_disks, site))) == found


def test_a_share_that_is_advised_for_a_disk_of_the_cache_is_enough() -> None:
    def judged(percent: int) -> Finding | None:
        detector = {"disks": ["/srv/nvme"], "disk_full_percent": percent}
        return only(judge(remediation_detector.cache_disks, with_remediation(detector=detector)))

    finding = judged(50)
    assert finding is not None
    assert judged(number(finding.fix)) is None
    assert judged(number(finding.fix) - 1) is not None


# --- namespaces ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("healer", "monitored", "team", "found"),
    [
        ("node-remediation", "kube-system", "vision", 0),  # the site's own programs, where it likes
        ("node-remediation", "monitoring", "monitoring", 1),
        ("monitoring", "monitoring", "vision", 1),
        ("cache-service", "monitoring", "vision", 1),
        ("vision", "monitoring", "vision", 1),
        ("kube-system", "monitoring", "vision", 1),
        ("accelerators", "monitoring", "vision", 1),
        ("node-remediation", "scheduling", "scheduling", 1),
    ],
)
def test_who_may_share_a_namespace(healer: str, monitored: str, team: str, found: int) -> None:
    teams = Scheduling.model_validate({"teams": [{"name": "team", "namespaces": [team]}]})
    assert SITE.file.monitoring is not None
    watched = SITE.file.monitoring.model_copy(update={"namespace": monitored})
    site = with_remediation(with_file(SITE, scheduling=teams, monitoring=watched), namespace=healer)
    assert len(list(namespaces.one_owner(site))) == found


def test_medik8s_and_monitoring_may_share_a_namespace() -> None:
    """Both are the site's own; where no healer is of its kind, that of medik8s is nobody's."""
    assert SITE.file.monitoring is not None
    watched = SITE.file.monitoring.model_copy(update={"namespace": "operators"})
    own = {"medik8s": {"namespace": "operators"}}
    healers = [{"name": "a", "kind": "medik8s", "pools": ["v100"]}]
    site = with_remediation(with_file(SITE, monitoring=watched), healers=healers, **own)
    assert list(namespaces.one_owner(site)) == []
    teams = Scheduling.model_validate({"teams": [{"name": "a", "namespaces": ["operators"]}]})
    site = with_file(site, scheduling=teams, monitoring=None)
    assert len(list(namespaces.one_owner(site))) == 1
    assert list(namespaces.one_owner(with_remediation(site, **own))) == []


# --- monitoring ------------------------------------------------------------------------------


@_modest
@given(st.integers(300, 7200), st.integers(10, 150), st.booleans())
def test_the_alert_on_repairs_comes_after_a_reboot(takes: int, minutes: int, written: bool) -> None:
    assert SITE.file.monitoring is not None

    def judged(minutes: int) -> Finding | None:
        given = {"repair_minutes": minutes} if written else {}
        thresholds = SITE.file.monitoring and SITE.file.monitoring.thresholds.model_validate(given)
        watched = SITE.file.monitoring and SITE.file.monitoring.model_copy(
            update={"thresholds": thresholds}
        )
        healers = [{"name": "a", "pools": ["v100"]}]
        site = with_remediation(healers=healers, reboot={"timeout_seconds": takes})
        return only(judge(monitoring.repair_alert, with_file(site, monitoring=watched)))

    finding = judged(minutes)
    holds = (minutes if written else 90) * 60
    assert (finding is None) == (holds >= takes + 300)
    if finding is not None and written:
        assert judged(number(finding.fix)) is None


@pytest.mark.parametrize(
    ("key", "secret"),
    [("url", False), ("routing-key", False), ("0123456789abcdef0123456789abcdef", True),
     ("R0123456789ABCDEFGHIJKLMNOPQRSTU", True), ("webhook-of-the-operators-of-site-1", False)],
)  # fmt: skip
def test_a_key_that_is_the_secret_itself_is_found(key: str, secret: bool) -> None:
    text = yaml.safe_dump({"monitoring": {"receivers": [{"name": "a", "key": key}]}})
    document, _ = read_yaml(text.encode(), "sites/x.yaml")
    assert document is not None
    found = [path for path, _ in in_document(document, site_schema)]
    assert found == [("monitoring", "receivers", 0, "key")] * secret


# --- files with holes ------------------------------------------------------------------------

SECTIONS = f"""
accelerators: {{prefix: accelerators.example.com}}
remediation:
  namespace: repairs
  detector: {{interval_seconds: 30, bad_after: 3, good_after: 2, disks: [/], disk_full_percent: 95,
             xids: {{reboot: [79], watch: [48]}}}}
  healers:
    - {{name: gpu, kind: node-operation-controller, pools: [v100], faults: [kernel-deadlock],
       eviction: evict, max_unavailable: 1}}
    - {{name: control, pools: [control], faults: [read-only-filesystem]}}
  max_faulty_percent: 20
  reboot: {{credentials: access, timeout_seconds: 1500, attempts: 2, window_hours: 24}}
  controller: {{image: "{IMAGE}", memory: 512Mi}}
  repair_image: "{IMAGE}"
monitoring:
  namespace: watching
  prometheus_operator: true
  labels: {{prometheus: site}}
  receivers: [{{name: desk, kind: slack, secret: receivers, key: url, channel: "#gpu"}}]
  routes: {{critical: desk, warning: desk, repeat_hours: 12}}
  thresholds: {{repair_minutes: 90, queue_minutes: 240}}
  dashboards_label: grafana_dashboard
"""


def _places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    if path:
        yield path
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _places(item, (*path, key))


PLACES = [path for path in _places(yaml.safe_load(SECTIONS)) if path[0] != "accelerators"]


def _loaded(root: Path, sections: Any) -> list[Any]:
    text = yaml.safe_dump(sections, sort_keys=False)
    build({"edit": [{"file": "kyoto-1.yaml", "append": text}]}, root)
    return list(load(root, ["kyoto-1"])["kyoto-1"].problems)


def test_the_sections_with_everything_have_no_problem(tmp_path: Path) -> None:
    assert _loaded(tmp_path, yaml.safe_load(SECTIONS)) == []


@pytest.mark.parametrize("path", PLACES, ids=lambda path: ".".join(map(str, path)))
def test_whatever_is_wrong_is_told_and_hides_nothing_else(
    path: tuple[str | int, ...], tmp_path: Path
) -> None:
    """A value of no type that belongs there: each rule ends at the hole, none raises."""
    sections = yaml.safe_load(SECTIONS)
    parent = sections
    for step in path[:-1]:
        parent = parent[step]
    parent[path[-1]] = 1.5
    problems = _loaded(tmp_path, sections)
    wrong = [each for each in problems if each.code in (Code.WRONG_TYPE, Code.INVALID_VALUE)]
    assert len(wrong) == 1
    text = (tmp_path / "sites" / "kyoto-1.yaml").read_text().splitlines()
    assert text[wrong[0].line - 1][wrong[0].column - 1 :] == "1.5"


def test_the_faults_of_accelerators_are_those_with_a_need() -> None:
    """Every fault that a pool without accelerators cannot have has words for what it lacks."""
    site = with_remediation()
    cpu = next(pool for pool in site.file.pools if pool.name == "cpu")
    missing = set(Fault) - set(site.faults(cpu))
    for fault in missing:
        judged = with_healer(pools=["cpu"], faults=[fault.value])
        assert [each.code for each in remediation.repairable_faults(judged)] == [
            Code("healer-meaningless")
        ]
