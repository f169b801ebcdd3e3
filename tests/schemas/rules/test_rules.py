"""Rules between fields: that all of them run, that what they advise helps, and what files cannot
show (faults of releases, rules that look into holes)."""

import inspect
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib import import_module
from ipaddress import IPv4Network
from pkgutil import iter_modules
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import schemas.rules
from components.machines.bootstrap import registration
from schemas.facts.site import Site
from schemas.kubernetes import node_labels
from schemas.kubernetes.extended_resources import reserved_domain_reason
from schemas.kubernetes.quantities import amount
from schemas.load import load_site
from schemas.model.accelerators import AcceleratorSettings
from schemas.model.codes import Code
from schemas.model.kubelet import EvictionHard, Kubelet
from schemas.model.release import Release
from schemas.model.scheduling import Scheduling
from schemas.model.site_file import Pool, Rollout
from schemas.reading.catalogue import load_release
from schemas.reading.host_list import Host
from schemas.rules import (
    POOL_RULES,
    SITE_RULES,
    ZONE_RULES,
    Finding,
    HostCell,
    attempt,
    clashes,
    footprint,
    kubelet,
    namespaces,
    networks,
    rollouts,
    site_findings,
    versions,
)
from schemas.rules.finding import InPool, InZone
from tests.invalid.faults import FOLDER
from tests.kit.repository import all_sites

_modest = settings(max_examples=150, database=None)
MODULES = [
    import_module(f"schemas.rules.{each.name}")
    for each in iter_modules(schemas.rules.__path__)
    if each.name not in ("finding", "scope", "sites")
]
RUN_BY_THE_LOADER = {"site_name", "own_hardware", "own_models", "placeholders"}
"""Rules on a site file before it is a site, and the hint that examples get."""


def base() -> Site:
    site = load_site(FOLDER / "base", "kyoto-1").site
    assert site is not None
    return site


SITE = base()
POOL = SITE.file.pools[1]


def in_pool(pool: Pool, site: Site = SITE) -> InPool:
    return InPool(site, 1, pool)


def with_kubelet(**settings: Any) -> Pool:
    return POOL.model_copy(update={"kubelet": Kubelet(**settings)})


def only(findings: Iterator[Finding]) -> Finding | None:
    found = list(findings)
    assert len(found) <= 1
    return found[0] if found else None


def number(text: str, pattern: str = r"write (\d+)") -> int:
    match = re.search(pattern, text)
    assert match, text
    return int(match[1])


# --- how rules are run -----------------------------------------------------------------------


def test_every_rule_runs() -> None:
    rules = {
        name
        for module in MODULES
        for name, function in inspect.getmembers(module, inspect.isgeneratorfunction)
        if not name.startswith("_")
        and inspect.signature(function).return_annotation == Iterator[Finding]
    }
    run = {rule.__name__ for rule in (*SITE_RULES, *ZONE_RULES, *POOL_RULES)}
    assert rules - {"attempt"} == run | RUN_BY_THE_LOADER


@pytest.mark.parametrize("name", sorted(all_sites()))
def test_good_sites_have_no_finding(name: str) -> None:
    assert list(site_findings(all_sites()[name])) == []


def test_a_rule_ends_at_a_hole_and_keeps_what_it_said() -> None:
    finding = Finding(Code("pool-empty"), ("pools",), "message", "fix")

    def rule() -> Iterator[Finding]:
        yield finding
        raise AttributeError

    assert list(attempt(rule(), holes=True)) == [finding]
    with pytest.raises(AttributeError):
        list(attempt(rule(), holes=False))


# --- advice ----------------------------------------------------------------------------------

percents = st.integers(1, 99)


@_modest
@given(percents, percents, st.sampled_from([("low",), ("high",), ("low", "high")]))
def test_advice_on_images_helps(low: int, high: int, written: tuple[str, ...]) -> None:
    every = {"image_gc_low_percent": low, "image_gc_high_percent": high}
    chosen = {key: value for key, value in every.items() if key.split("_")[2] in written}
    finding = only(kubelet.images(in_pool(with_kubelet(**chosen))))
    if finding:
        field = str(finding.place[-1])
        assert field in chosen
        if low == high == 99:
            return  # above it there is no share left: the second half of the advice helps
        mended = {**chosen, field: number(finding.fix)}
        assert (
            only(kubelet.images(in_pool(with_kubelet(**mended)))) is None
            or "below it" in finding.fix
        )


@_modest
@given(percents, percents, st.booleans())
def test_advice_on_eviction_helps(free: int, high: int, written: bool) -> None:
    chosen: dict[str, Any] = {"eviction_hard": EvictionHard(imagefs_percent=free)}
    chosen |= {"image_gc_high_percent": high} if written else {}
    finding = only(kubelet.eviction(in_pool(with_kubelet(**chosen))))
    if finding is None:
        return
    if finding.place[-1] == "imagefs_percent":
        chosen["eviction_hard"] = EvictionHard(imagefs_percent=number(finding.fix))
        if "and image_gc_high_percent" in finding.fix:
            chosen["image_gc_high_percent"] = 80
    else:
        assert written
        chosen["image_gc_high_percent"] = number(finding.fix)
    assert only(kubelet.eviction(in_pool(with_kubelet(**chosen)))) is None


@_modest
@given(st.integers(0, 5), st.integers(0, 5), st.integers(0, 4), st.booleans())
def test_advice_on_rollouts_helps(unavailable: int, surge: int, spares: int, zones: bool) -> None:
    def pool(**changes: int) -> InPool:
        rollout: dict[str, Any] = {
            "max_unavailable": unavailable,
            "max_surge": surge,
            "by_zone": zones,
        }
        made = Rollout(**{key: changes.get(key, value) for key, value in rollout.items()})
        return in_pool(POOL.model_copy(update={"rollout": made, "spares": spares}))

    for rule, field in (
        (rollouts.surge, "max_surge"),
        (rollouts.progress, "max_unavailable"),
        (rollouts.all_at_once, "max_unavailable"),
    ):
        finding = only(rule(pool()))
        if finding:
            assert finding.place == ("pools", 1, "rollout", field)
            advised = number(finding.fix, rf"write (?:{field}: )?(\d+)")
            assert only(rule(pool(**{field: advised}))) is None


@_modest
@given(st.integers(24, 32), st.integers(0, 300))
def test_advice_on_the_size_of_a_zone_helps(prefix: int, count: int) -> None:
    crowd = tuple(SITE.hosts[0]._replace(line=line) for line in range(count))
    site = replace(SITE, hosts=crowd)

    def sized(prefix: int) -> InZone:
        network = str(IPv4Network(f"10.32.0.0/{prefix}"))
        return InZone(site, 0, site.file.zones[0].model_copy(update={"network": network}))

    finding = only(networks.zone_size(sized(prefix)))
    if finding:
        need = number(finding.fix, r"/(\d+)")
        assert only(networks.zone_size(sized(need))) is None
        assert need < prefix


@_modest
@given(st.integers(9, 28), st.integers(1, 600))
def test_advice_on_the_network_of_pods_helps(prefix: int, count: int) -> None:
    def sized(prefix: int) -> Site:
        cluster = SITE.file.cluster.model_copy(update={"pods": f"10.0.0.0/{prefix}"})
        file = SITE.file.model_copy(update={"cluster": cluster})
        return replace(SITE, file=file, hosts=SITE.hosts[:1] * count)

    finding = only(networks.ranges(sized(prefix)))
    if finding:
        assert only(networks.ranges(sized(number(finding.fix, r"/(\d+)")))) is None


@pytest.mark.parametrize(
    ("text", "value"), [("500m", 0.5), ("2", 2), ("1Ki", 1024), ("3M", 3e6), ("4Gi", 2**32)]
)
def test_a_quantity_is_a_number(text: str, value: float) -> None:
    assert amount(text) == value


# --- what a release may hold -----------------------------------------------------------------


def release(**changes: Any) -> Release:
    made, _ = load_release("2026.11")
    assert made is not None
    return made.model_copy(update=changes)


def test_a_release_whose_parts_go_together_has_no_fault() -> None:
    assert list(versions.release_findings(release())) == []


@pytest.mark.parametrize(
    ("part", "version", "faults"),
    [("core", "v1.14.0", 2), ("metal3", "v1.12.1", 2), ("baremetal_operator", "v0.12.0", 1)],
)
def test_a_release_whose_parts_do_not_go_together_is_told_so(
    part: str, version: str, faults: int
) -> None:
    parts = release().cluster_api.model_copy(update={part: version})
    found = list(versions.release_findings(release(cluster_api=parts)))
    assert len(found) == faults
    assert version in " ".join(found)


def test_workers_too_far_behind_are_found() -> None:
    cluster = SITE.file.cluster.model_copy(update={"kubernetes": "v1.35.5", "workers": "v1.31.0"})
    file = SITE.file.model_copy(update={"cluster": cluster})
    wide = release(kubernetes=["v1.31.0", "v1.35.5"])
    (finding,) = versions.versions(replace(SITE, file=file, release=wide))
    assert (finding.code, finding.place) == (Code("version-skew"), ("cluster", "workers"))
    assert finding.fix == "write v1.32 or later"


def test_a_system_that_the_release_defaults_to_must_be_there() -> None:
    site = replace(SITE, release=release(default_os="flatcar"))
    (finding,) = versions.operating_system(InPool(site, 1, POOL))
    assert finding.code is Code("unknown-os")


# --- labels ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "synced", "system", "refused"),
    [
        ("example.com/team", False, False, False),
        ("team", False, False, False),
        ("notkubernetes.io/team", False, False, False),
        ("cluster.x-k8s.io/team", False, False, False),
        ("kubernetes.io/team", False, False, True),
        ("team.k8s.io/name", False, False, True),
        ("node.kubernetes.io/instance-type", False, False, False),
        ("kubelet.kubernetes.io/team", False, False, False),
        ("node-role.kubernetes.io/worker", True, False, False),
        ("team.node-role.kubernetes.io/worker", False, False, True),
        ("team.node-restriction.kubernetes.io/name", True, False, False),
        ("node.cluster.x-k8s.io/team", True, False, False),
        ("node.cluster.x-k8s.io/pool", True, True, False),
        ("topology.kubernetes.io/zone", False, True, True),
        ("kubernetes.io/hostname", False, True, True),
        ("metal3.io/uuid", False, True, False),
        ("foresite.dev/anything", False, True, False),
    ],
)
def test_who_sets_a_label(key: str, synced: bool, system: bool, refused: bool) -> None:
    assert node_labels.copied_to_nodes(key) is synced
    assert node_labels.is_system_label(key) is system
    if not system:
        assert node_labels.stops_kubelet(key) is refused


@pytest.mark.parametrize("name", sorted(all_sites()))
def test_the_length_of_labels_is_judged_by_what_is_made(name: str) -> None:
    site = all_sites()[name]
    for pool in site.file.pools:
        (argument,) = registration(site, pool)["nodeRegistration"]["kubeletExtraArgs"]
        assert argument["value"] == node_labels.kubelet_argument(site.file.region, pool.labels)


# --- resources and namespaces ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("domain", "kept"),
    [
        ("example.com", False),
        ("kubernetes.io.example.com", False),
        ("notk8s.io", False),
        ("requests-of.example.com", False),
        ("kubernetes.io", True),
        ("gpus.kubernetes.io", True),
        ("mykubernetes.io", True),
        ("k8s.io", True),
        ("gpus.k8s.io", True),
        ("requests.example.com", True),
    ],
)
def test_which_domains_of_resources_kubernetes_keeps(domain: str, kept: bool) -> None:
    assert (reserved_domain_reason(domain) is not None) is kept


@pytest.mark.parametrize("program", ["gpu-operator", "sriov-network-operator"])
def test_a_team_stays_out_of_an_operators_namespace_where_that_is(program: str) -> None:
    """The GPU operator's is free where the site has none; the other's is always kept."""
    settings = AcceleratorSettings.model_validate({"prefix": "example.com", "gpu_operator": {}})
    teams = Scheduling.model_validate({"teams": [{"name": "a", "namespaces": [program]}]})

    def found(**sections: Any) -> list[Code]:
        file = SITE.file.model_copy(update={"scheduling": teams, **sections})
        return [each.code for each in namespaces.one_owner(replace(SITE, file=file))]

    assert found(accelerators=settings) == [Code("reserved-name")]
    assert found() == ([] if program == "gpu-operator" else [Code("reserved-name")])


# --- several sites ---------------------------------------------------------------------------


def _site(name: str, count: int = 0, **data: Any) -> Any:
    listed = [
        Host(
            f"{name}-{n}", "p", "a", "r", f"10.{len(name)}.0.{n}", f"{name}{n}", f"x{n}", "s", n + 2
        )
        for n in range(count)
    ]
    return footprint(name, f"sites/{name}.hosts.csv", data, listed)


def test_each_of_three_sites_hears_of_a_clash() -> None:
    cluster = {"endpoint": "10.0.0.1"}
    found = clashes([_site(name, cluster=cluster) for name in ("a", "b", "c")])
    told = {name: {finding.message[-1] for finding in each} for name, each in found.items()}
    assert told == {"a": {"b", "c"}, "b": {"a", "c"}, "c": {"a", "b"}}


def test_a_clash_of_hosts_names_both_lines() -> None:
    mine, other = _site("a", 3), _site("b", 3)
    found = clashes([mine, replace(other, cells={**other.cells, "mac": mine.cells["mac"][::-1]})])
    places = [finding.place for finding in found["a"] if "mac" in finding.message]
    assert sorted(places) == [HostCell(line, "mac") for line in (2, 3, 4)]
    first = next(each for each in found["a"] if each.place == HostCell(2, "mac"))
    assert "line 4 of sites/b.hosts.csv" in first.message


@pytest.mark.parametrize(
    "data",
    [
        None, [], 7, "text", {"cluster": []}, {"cluster": {"endpoint": []}}, {"zones": {}},
        {"zones": [None, 7, {}, {"network": 7}, {"network": "10.0.0.0"}, {"network": "1.2.3.4/8"}]},
        {"bmc": {"network": True}}, {"cluster": {"endpoint": "TODO", "context": 7, "port": []}},
    ],
)  # fmt: skip
def test_a_site_of_any_data_leaves_a_footprint(data: Any) -> None:
    marks = [footprint(name, f"{name}.csv", data, []) for name in ("a", "b")]
    assert clashes(marks) == {"a": [], "b": []}


def test_cells_that_are_not_known_clash_with_nothing() -> None:
    blank = Host("", "", "", "", "", "", "", "", 2)
    marks = [footprint(name, f"{name}.csv", {}, [blank]) for name in ("a", "b")]
    assert clashes(marks) == {"a": [], "b": []}


def test_a_hundred_sites_apart_have_no_clash() -> None:
    marks = [
        footprint(
            f"s{n}",
            f"s{n}.csv",
            {"zones": [{"network": f"10.{n}.{zone * 4}.0/22"} for zone in range(60)]},
            [Host._make((*(f"{n}-{h}-{c}" for c in range(8)), h, "", "", ())) for h in range(400)],
        )
        for n in range(100)
    ]
    assert not any(clashes(marks).values())


Rule = Callable[[Any], Iterator[Finding]]


@pytest.mark.parametrize("rule", [*ZONE_RULES, *POOL_RULES], ids=lambda rule: rule.__name__)
def test_a_rule_points_at_the_part_that_it_judges(rule: Rule) -> None:
    """Whatever is wrong with one pool or zone, no finding is put to another."""
    for index in range(2):
        part = (
            InPool(SITE, index, SITE.file.pools[index])
            if rule in POOL_RULES
            else InZone(SITE, index, SITE.file.zones[index])
        )
        assert part.path("name")[1] == index
        assert list(rule(part)) == []
