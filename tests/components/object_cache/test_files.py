"""The files that the objects of the cache carry: buckets for servers, endpoints for Envoy."""

import json
import re
from dataclasses import replace

import pytest

from components.object_cache.buckets import bucket_text, quota_of_server
from components.object_cache.objects import objects
from components.object_cache.service import endpoint_text
from schemas.kubernetes.quantities import SITE_FORM, in_bytes
from tests.kit.object_cache_site import CACHE, bodies, cache_of, endpoints, of_hosts, site

# --- buckets -------------------------------------------------------------------------------------


def test_a_server_is_told_its_share_of_each_bucket() -> None:
    (text,) = bodies(site())["ConfigMap/cache-buckets"]["data"].values()
    assert json.loads(text) == {
        "Bucket": [
            # 1 TiB and 4 TiB among the servers of six machines and no spare.
            {
                "Name": "open",
                "Public": True,
                "BucketQuota": "174762Mi",
                "AllowNamespaces": ["biology", "vision"],
            },
            {
                "Name": "vision",
                "Public": False,
                "BucketQuota": "699050Mi",
                "AllowNamespaces": ["vision"],
            },
        ]
    }
    assert len([line for line in text.splitlines() if '"Name"' in line]) == 2


def test_the_order_of_buckets_means_nothing() -> None:
    turned = [
        {**each, "namespaces": each["namespaces"][::-1]} for each in reversed(CACHE["buckets"])
    ]
    assert bodies(site(buckets=turned)) == bodies(site())


@pytest.mark.parametrize(
    ("quantity", "whole"),
    [("5", 5), ("1500m", 2), ("2k", 2000), ("2Ki", 2048), ("3M", 3 * 10**6), ("1Ti", 2**40)],
)
def test_quantities(quantity: str, whole: int) -> None:
    assert in_bytes(quantity) == whole


def test_what_is_no_quantity_is_refused() -> None:
    with pytest.raises(ValueError, match="1Qi"):
        in_bytes("1Qi")
    # Kubernetes knows it, and no site file means it.
    assert in_bytes("1Pi") == 2**50 and not re.fullmatch(SITE_FORM, "1Pi")


@pytest.mark.parametrize(
    ("quantity", "parts", "each"),
    [
        ("3Mi", 3, "1Mi"),
        ("1Ti", 3, "349525Mi"),
        ("1Ti", 99, "10591Mi"),
        # From a hundred on they are counted in tens, then in hundreds.
        ("110Gi", 101, "1024Mi"),
        ("110Gi", 110, "1024Mi"),
        ("1100Gi", 1001, "1024Mi"),
        ("1Mi", 7, "1Mi"),
    ],
)
def test_a_share_is_whole_mebibytes(quantity: str, parts: int, each: str) -> None:
    assert quota_of_server(quantity, parts) == each


@pytest.mark.parametrize("parts", [1, 7, 99, 100, 101, 399, 400, 401, 999, 1001, 6000])
def test_shares_together_are_never_more_than_the_quota(parts: int) -> None:
    """Nor less by more than a tenth, and a mebibyte each."""
    together = parts * in_bytes(quota_of_server("400Ti", parts))
    quota = in_bytes("400Ti")
    assert together <= quota < (together + parts * 2**20) * 1.1


def test_a_few_hosts_more_leave_the_buckets_of_a_large_site_as_they_are() -> None:
    texts = {
        count: bucket_text(made, cache_of(made))
        for count in (392, 400, 401)
        # One host of the pool is a spare.
        for made in [of_hosts([f"n-{n}" for n in range(count + 1)])]
    }
    assert texts[392] == texts[400] != texts[401]


# --- endpoints -----------------------------------------------------------------------------------


def test_the_endpoints_are_the_hosts_with_their_names_as_keys_spares_too() -> None:
    made = site()
    hosts = [host for host in made.hosts if host.pool in CACHE["pools"]]
    assert {name: each["address"] for name, each in endpoints(made).items()} == {
        host.name: host.ip for host in hosts
    }


def test_each_host_is_in_its_zone() -> None:
    made = of_hosts(["n-1", "n-2", "n-3"])
    (assignment,) = json.loads(endpoint_text(made, cache_of(made)))["resources"]
    assert {
        (group["locality"]["region"], group["locality"]["zone"]): len(group["lb_endpoints"])
        for group in assignment["endpoints"]
    } == {("jp-west", "a"): 2, ("jp-west", "b"): 1}


def test_a_new_host_is_one_new_line() -> None:
    before, after = (of_hosts(names) for names in (["a", "b", "c"], ["a", "b", "c", "d", "e"]))
    old, new = (endpoint_text(each, cache_of(each)).splitlines() for each in (before, after))
    # The line that was the last of its zone has a comma now.
    assert len({line.rstrip(",") for line in new} - {line.rstrip(",") for line in old}) == 2


def test_the_line_of_a_host_begins_with_its_address() -> None:
    """A diff is cut off at the width of a page."""
    made = of_hosts(["a"])
    (line,) = (
        each for each in endpoint_text(made, cache_of(made)).splitlines() if "hash_key" in each
    )
    assert line.index(made.hosts[0].ip) < line.index("hash_key")


def test_the_order_of_hosts_means_nothing() -> None:
    made = of_hosts(["a", "b", "c", "d"])
    turned = replace(made, hosts=made.hosts[::-1])
    assert endpoint_text(turned, cache_of(turned)) == endpoint_text(made, cache_of(made))


@pytest.mark.parametrize("field", ["name", "ip"])
def test_two_hosts_with_one_key_or_one_address_are_refused(field: str) -> None:
    """Two Envoys could disagree about their objects."""
    made = of_hosts(["a", "b"])
    first, second = made.hosts
    twice = replace(made, hosts=(first, second._replace(**{field: getattr(first, field)})))
    with pytest.raises(ValueError, match=field):
        endpoint_text(twice, cache_of(twice))


def test_an_empty_list_is_refused() -> None:
    """Envoy would take it, and refuse every request."""
    made = of_hosts([])
    with pytest.raises(ValueError, match="no host"):
        endpoint_text(made, cache_of(made))
    with pytest.raises(ValueError, match="no host"):
        objects(made)
