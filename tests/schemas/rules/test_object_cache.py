"""Rules on the object cache that files with one fault cannot show: bounds that depend on how many
hosts there are, advice that helps whatever is written, and numbers that components have too."""

import json
import re
from dataclasses import replace
from ipaddress import IPv4Network
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from components.object_cache import bootstrap
from components.object_cache.buckets import bucket_text, quota_of_server
from components.object_cache.service import endpoint_text
from components.training import job
from schemas.editor import site_schema
from schemas.facts.site import Site
from schemas.kubernetes.quantities import in_bytes
from schemas.model.codes import Code
from schemas.model.object_cache import LARGEST_TABLE, TABLE_SIZE, Bucket, Cache, share
from schemas.model.sizes import DiskSpace
from schemas.model.vocabulary import CacheDiscovery
from schemas.reading.host_list import Host
from schemas.reading.literal_secrets import in_document
from schemas.reading.yaml_reader import read_yaml
from schemas.rules import judge, object_cache_server, once, site_findings
from schemas.rules import object_cache as rules
from schemas.rules.finding import Finding
from tests.golden import every_site, of_kind, with_file, with_pool
from tests.kit import secret_samples as samples

_modest = settings(max_examples=100, database=None)
SITE = every_site()["tokyo-1"]


def cache_of(site: Site) -> Cache:
    assert site.file.cache is not None
    return site.file.cache


def with_cache(site: Site = SITE, **fields: Any) -> Site:
    return with_file(site, cache=cache_of(site).model_copy(update=fields))


def with_hosts(count: int) -> Site:
    """tokyo-1 with so many hosts, all in one pool that keeps objects."""
    hosts = tuple(
        Host(f"tokyo-1-a-{n:05}", "cpu", "a", "r", "", "", f"10.{n >> 16}.{n >> 8 & 255}.{n & 255}",
             f"s{n}", n + 2)
        for n in range(count)
    )  # fmt: skip
    return with_cache(replace(SITE, hosts=hosts), pools=["cpu"])


def advised(finding: Finding) -> str:
    match = re.match(r"write ([0-9]+\w*)", finding.fix)
    assert match, finding.fix
    return match[1]


# --- who keeps objects -----------------------------------------------------------------------


def test_all_pools_keep_objects_unless_some_are_named() -> None:
    assert SITE.cache_pools() == tuple(SITE.file.pools)
    assert {host.name for host in SITE.cache_hosts()} == {host.name for host in SITE.hosts}
    some = with_cache(pools=["v100", "cpu"])
    assert [pool.name for pool in some.cache_pools()] == ["cpu", "v100"]
    assert {host.pool for host in some.cache_hosts()} == {"cpu", "v100"}
    assert [host.name for host in some.cache_hosts()] == sorted(h.name for h in some.cache_hosts())
    none = with_file(SITE, cache=None)
    assert (none.cache_pools(), none.cache_hosts()) == ((), ())


# --- space -----------------------------------------------------------------------------------

sizes = st.builds("{}{}".format, st.integers(1, 999), st.sampled_from(["Gi", "Ti", "G", "T", "Mi"]))


@_modest
@given(st.lists(sizes, min_size=1, max_size=6), sizes, st.integers(0, 100))
def test_quotas_that_pass_fit_every_server(quotas: list[str], capacity: str, spares: int) -> None:
    """The quotas that the servers are given, compared with their capacity."""
    try:
        buckets = [Bucket(name=f"bucket-{n}", quota=q, public=True) for n, q in enumerate(quotas)]
        TypeAdapter(DiskSpace).validate_python(capacity)
    except ValidationError:
        return
    site = with_cache(with_pool(SITE, "v100", spares=spares), buckets=buckets, capacity=capacity)
    if list(judge(rules.sizes, site)):
        return
    found = list(judge(rules.quotas, site))
    told = json.loads(bucket_text(site, cache_of(site)))["Bucket"]
    kept = sum(in_bytes(each["BucketQuota"]) for each in told)
    assert found or kept <= in_bytes(capacity)
    for finding in found:
        if finding.fix.startswith("lower"):
            continue
        index = next(step for step in finding.place if isinstance(step, int))
        buckets[index] = buckets[index].model_copy(update={"quota": advised(finding)})
        assert list(judge(rules.quotas, with_cache(site, buckets=buckets))) == []


@pytest.mark.parametrize("hosts", [16, 17, 400, 1024])
def test_the_least_quota_that_is_advised_leaves_each_server_64_mebibytes(hosts: int) -> None:
    def with_quota(quota: str) -> Site:
        return with_cache(with_hosts(hosts), buckets=[Bucket(name="b-1", quota=quota, public=True)])

    with pytest.raises(ValidationError, match="less than 1Gi"):
        with_quota("1023Mi")
    better = with_quota("1Gi")
    if hosts > 16:  # 1 GiB is 64 MiB for each of 16
        (finding,) = judge(rules.sizes, better)
        assert "no larger object" in finding.message
        assert finding.code is Code("out-of-bounds")
        better = with_quota(advised(finding))
    assert list(judge(rules.sizes, better)) == []
    (told,) = json.loads(bucket_text(better, cache_of(better)))["Bucket"]
    assert in_bytes(told["BucketQuota"]) >= rules.SMALLEST_SHARE


@pytest.mark.parametrize("count", [1, 7, 99, 100, 101, 398, 1000, 1001, 5678])
@pytest.mark.parametrize("quota", ["1Gi", "100Gi", "400Ti", "1T"])
def test_a_share_is_what_servers_are_told(quota: str, count: int) -> None:
    assert share(quota, count) == in_bytes(quota_of_server(quota, count))


def test_a_pool_of_unknown_disks_may_be_left_out() -> None:
    profile = SITE.hardware["cpu-1u"].model_copy(update={"data_nvme_gb": None})
    site = replace(SITE, hardware={**SITE.hardware, "cpu-1u": profile})
    (finding,) = judge(rules.capacity, site)  # control and cpu have one profile
    assert (finding.code, finding.place) == (Code("cache-capacity"), ("pools", 0, "hardware"))
    assert list(judge(rules.capacity, with_cache(site, pools=["v100"]))) == []


# --- the table -------------------------------------------------------------------------------


def test_the_sizes_that_are_advised_are_primes() -> None:
    for size in (TABLE_SIZE, LARGEST_TABLE, rules.FEWEST_ENTRIES):
        assert rules.divisor(size) == size


@_modest
@given(st.integers(2, LARGEST_TABLE), st.sampled_from([1, 3, 64, 400, 700, 1100, 5000]))
def test_advice_on_the_table_helps(size: int, hosts: int) -> None:
    site = with_hosts(hosts)
    for finding in judge(rules.table, with_cache(site, table_size=size)):
        better = with_cache(site, table_size=int(advised(finding)))
        assert list(judge(rules.table, better)) == []


@pytest.mark.parametrize(
    ("hosts", "size", "times"),
    [
        (100, 65_537, None),
        (400, TABLE_SIZE, None),
        (100, 16_381, 2.28),
        (200, 65_537, 2.49),
        (400, 65_537, 4.79),
    ],
)
def test_what_a_lost_host_costs_is_what_was_measured(
    hosts: int, size: int, times: float | None
) -> None:
    """As measured with the exact algorithm (docs/hashing.md, Cost of one lost host)."""
    found = list(judge(rules.table, with_cache(with_hosts(hosts), table_size=size)))
    said = [re.search(r"moves ([0-9.]+) times", each.message) for each in found]
    numbers = [float(match[1]) for match in said if match]
    assert numbers == ([] if times is None else [pytest.approx(times, rel=0.13)])


# --- who may use it --------------------------------------------------------------------------


def test_a_bucket_may_be_for_the_caches_own_namespace_and_for_any_where_there_are_no_teams() -> (
    None
):
    def found(site: Site, name: str) -> list[Code]:
        bucket = Bucket(name="layers", quota="1Ti", namespaces=[name])
        return [
            each.code for each in judge(rules.bucket_namespaces, with_cache(site, buckets=[bucket]))
        ]

    assert found(SITE, cache_of(SITE).namespace) == []
    assert found(SITE, "unheard-of") == [Code("cache-namespace")]
    assert found(with_file(SITE, scheduling=None), "unheard-of") == []


# --- where it is found -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("network", "count"),
    [("192.168.0.0/16", 256), ("192.168.0.0/22", 64), ("192.168.0.0/26", 16), ("10.0.0.0/28", 14)],
)
def test_addresses_given_by_hand_are_those_of_the_proposal(network: str, count: int) -> None:
    """KEP-3070, Design Details: examples 1 to 3; a network of 16 addresses is not divided."""
    assert object_cache_server.static_addresses(IPv4Network(network)) == count


@pytest.mark.parametrize("services", ["10.96.0.0/16", "10.96.0.0/22", "10.96.0.0/24"])
def test_the_address_that_is_advised_is_one(services: str) -> None:
    cluster = SITE.file.cluster.model_copy(update={"services": services})
    site = with_file(SITE, cluster=cluster)
    (finding,) = judge(object_cache_server.address, with_cache(site, address="10.0.0.1"))
    match = re.match(r"write (\S+),", finding.fix)
    assert match
    assert list(judge(object_cache_server.address, with_cache(site, address=match[1]))) == []


def test_dns_finds_as_many_servers_as_one_answer_holds() -> None:
    def found(hosts: int) -> list[Code]:
        site = with_cache(with_hosts(hosts), discovery=CacheDiscovery.DNS)
        return [each.code for each in judge(object_cache_server.discovery, site)]

    assert found(object_cache_server.MOST_BY_DNS) == []
    assert found(object_cache_server.MOST_BY_DNS + 1) == [Code("cache-unreachable")]


@pytest.mark.parametrize("hosts", [1, 400, 5000])
def test_the_list_of_servers_is_judged_by_its_size(hosts: int) -> None:
    site = with_hosts(hosts)
    real = len(endpoint_text(site, cache_of(site)).encode())
    estimate = sum(
        len(host.name) + len(host.ip) + object_cache_server.ENDPOINT_BYTES
        for host in site.cache_hosts()
    )
    overhead = 300  # what stands once, whatever the number of hosts
    assert real <= estimate + overhead
    assert estimate <= real * 1.1


def test_a_list_of_servers_beyond_a_config_map_is_refused() -> None:
    assert list(judge(object_cache_server.discovery, with_hosts(5000))) == []
    (finding,) = judge(object_cache_server.discovery, with_hosts(8000))
    assert finding.code is Code("out-of-bounds")


def test_a_file_of_buckets_beyond_a_config_map_is_refused() -> None:
    def site(count: int) -> Site:
        spaces = [f"namespace-{n:03}" for n in range(100)]
        buckets = [Bucket(name=f"b-{n:04}", quota="1Gi", namespaces=spaces) for n in range(count)]
        return with_cache(buckets=buckets)

    (finding,) = judge(object_cache_server.bucket_file, site(700))
    assert finding.code is Code("out-of-bounds")
    fitting = site(550)
    assert list(judge(object_cache_server.bucket_file, fitting)) == []
    assert len(bucket_text(fitting, cache_of(fitting))) <= object_cache_server.LARGEST_CONFIG_MAP


# --- its programs ----------------------------------------------------------------------------


def test_a_release_without_envoy_needs_an_image() -> None:
    images = {name: each for name, each in SITE.release.images.items() if name != "envoy"}
    site = replace(SITE, release=SITE.release.model_copy(update={"images": images}))
    (finding,) = judge(once.together, site)
    assert finding.code is Code("image-unknown")
    own = cache_of(site).envoy.model_copy(update={"image": SITE.release.images["envoy"]})
    assert list(judge(once.together, with_cache(site, envoy=own))) == []


def test_ports_of_a_control_plane_are_free_elsewhere() -> None:
    def found(port: int, pools: list[str] | None) -> list[Code]:
        server = cache_of(SITE).server.model_copy(update={"port": port})
        site = with_cache(server=server, pools=pools)
        return [each.code for each in judge(object_cache_server.server_port, site)]

    for port in (2379, SITE.file.cluster.port):
        assert found(port, None) == [Code("reserved-name")]
        assert found(port, ["v100"]) == []
    assert found(10250, ["v100"]) == [Code("reserved-name")]


def test_ports_that_are_kept_are_those_that_components_use() -> None:
    used = {port for name, port in vars(bootstrap).items() if name.endswith("_PORT")}
    assert set(object_cache_server.PROXY_PORTS) == used
    first, count = (vars(job)[name] for name in ("_FIRST_PORT", "_PORTS"))
    assert range(first, first + count) == object_cache_server.JOB_PORTS


def test_variables_that_are_kept_are_those_that_servers_get() -> None:
    daemons = of_kind(with_cache(pools=["cpu"]), "DaemonSet")
    (server,) = (each for each in daemons if each.name.startswith("DaemonSet/cache-server"))
    (box,) = server.body["spec"]["template"]["spec"]["containers"]
    assert {each["name"] for each in box["env"]} == object_cache_server.SERVER_VARIABLES.keys()


# --- secrets ---------------------------------------------------------------------------------


def secrets(**fields: Any) -> list[tuple[Code, object]]:
    text = yaml.safe_dump({"cache": {"server": fields}})
    document, _ = read_yaml(text.encode(), "sites/x.yaml")
    assert document is not None
    found = dict(in_document(document, site_schema))
    assert "hunter2" not in str(found)
    return [(Code.SECRET_IN_FILE, path[-1]) for path in found]


@pytest.mark.parametrize(("name", "value"), samples.NAMED)
def test_a_variable_is_a_secret_by_its_name(name: str, value: str) -> None:
    assert secrets(env={name: value}) == [(Code.SECRET_IN_FILE, name)]


KEYS = [
    "AKIA" + "A1" * 8,
    "ghp_" + "a1" * 18,
    "github_pat_" + "a1" * 20,
    "xoxb-" + "1234567890-abc",
    "hf_" + "aB" * 17,
    "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxIn0." + "c2lnbmF0dXJl",
    "-----BEGIN " + "PGP PRIVATE KEY BLOCK-----",
]
"""Made up, in the forms of those who give them out; in two parts, so that no scanner takes them."""


@pytest.mark.parametrize("key", KEYS)
def test_a_key_is_one_under_any_name(key: str) -> None:
    assert secrets(env={"LEVEL": key}) == [(Code.SECRET_IN_FILE, "LEVEL")]
    assert secrets(args=["--level", f"--x={key}"]) == [(Code.SECRET_IN_FILE, 1)]


@pytest.mark.parametrize(
    ("words", "places"),
    [
        (["--token=abc"], [0]),
        (["--password", "abc"], [1]),
        (["--password abc"], [0]),
        (["-c", "serve --api-key=abc --password abc"], [1]),
        (["--token-file", "/x", "--token=$(CACHE_AUDIENCE)", "--use-token", "--port=1"], []),
        (["--check-tokens=true", "--token-audience=cache", "--secret-path", "/x"], []),
        *((words, []) for words in samples.PLAIN_WORDS),
    ],
)
def test_arguments_that_hold_a_secret(words: list[str], places: list[int]) -> None:
    expected = [(Code.SECRET_IN_FILE, place) for place in places]
    assert secrets(args=words) == secrets(command=words) == expected


@pytest.mark.parametrize(
    ("name", "value"),
    [*samples.PLAIN, ("TOKEN_FILE", "token"), ("REQUIRE_TOKEN", "true"), ("LEVEL", "eyJ.info")],
)
def test_what_is_said_of_a_secret_is_none(name: str, value: str) -> None:
    assert secrets(env={name: value}) == []


def test_a_site_without_a_cache_is_left_alone() -> None:
    assert list(site_findings(with_file(SITE, cache=None))) == []
