"""Texts on the places where a cache's objects are looked for, when hosts or tables change.

Expected is what the sources make of it that the rules name.
"""

from dataclasses import replace

import pytest

from components.object_cache.effects.moved import cache_move
from components.object_cache.names import COMPONENT
from preview.differences.compare import compare
from schemas.reading.host_list import Host
from tests.kit.object_cache_changes import (
    change,
    effects_of,
    host_of,
    readdressed,
    said,
    side,
    site,
    with_hosts,
    without_one,
)

ENDPOINTS, BOOTSTRAP = "ConfigMap/envoy-endpoints", "ConfigMap/envoy-bootstrap"


def test_a_host_that_leaves_moves_its_keys() -> None:
    text = said(site(), without_one(site()), ENDPOINTS)
    # Its own seventh, and a few more.
    assert "14.3 % of the keys move to another host" in text
    assert "no pod restarts" in text
    assert "installed" not in text


def test_a_host_that_comes_gets_its_keys_when_it_serves() -> None:
    text = said(without_one(site()), site(), ENDPOINTS)
    assert "14.3 % of the keys move to another host" in text
    assert "after its machine is installed and not within two minutes" in text


def test_a_pool_that_comes_gets_its_keys_when_its_pods_have_started() -> None:
    text = said(site(pools=["v100"]), site(), ENDPOINTS)
    assert "after its pod has started" in text and "installed" not in text


def test_hosts_that_exchange_pools_have_their_servers_later() -> None:
    """A machine keeps its pool until it is installed again, and its pods with it."""

    def edit(hosts: list[Host]) -> None:
        at = [host_of(hosts, pool) for pool in ("h100", "cpu")]
        for one, pool in zip(at, ("cpu", "h100"), strict=True):
            hosts[one] = hosts[one]._replace(pool=pool)

    both = change(site(), with_hosts(site(), edit))
    left, came = sorted((each.why for each in effects_of(both) if each.name[1] == ENDPOINTS),
                        key=lambda why: "has no server" in why)  # fmt: skip
    assert "serves on, and nobody asks it" in left
    assert "has no server before its machine is installed again in the new pool" in came
    move = cache_move(both)
    assert move is not None and move.joining == 1


def test_a_host_in_another_zone_moves_no_key() -> None:
    """Zones say nothing to Envoy's table."""

    def edit(hosts: list[Host]) -> None:
        at = host_of(hosts, "h100")
        hosts[at] = hosts[at]._replace(zone="b")

    assert "no key moves to another host" in said(site(), with_hosts(site(), edit), ENDPOINTS)


NOT_YET = "keeps the address that it has until it is installed again"


@pytest.mark.parametrize("only", [False, True])
def test_a_host_in_another_zone_with_another_address_is_not_found_there_yet(only: bool) -> None:
    """``only``: no other host is in its zone, so that the zone comes with it."""

    def there(hosts: list[Host]) -> None:
        at = host_of(hosts, "v100")
        hosts[at] = hosts[at]._replace(zone="a" if only else "b")

    def edit(hosts: list[Host]) -> None:
        at = host_of(hosts, "h100")
        hosts[at] = hosts[at]._replace(zone="b", ip="10.32.0.250")

    before = with_hosts(site(), there)
    text = said(before, with_hosts(before, edit), ENDPOINTS)
    assert NOT_YET in text and "no key moves" not in text


def test_a_host_is_asked_at_an_address_that_it_has_not_yet() -> None:
    assert NOT_YET in said(site(), readdressed(site()), ENDPOINTS)


def test_another_table_moves_nearly_all_keys_while_envoys_disagree() -> None:
    """Of tables of two sizes a key stays by chance, at one of seven hosts."""
    text = said(site(), site(table_size=1_299_709), BOOTSTRAP)
    assert "85.7 % of the keys move" in text
    assert "until all Envoys have restarted they disagree" in text


def test_discovery_by_dns_hashes_addresses() -> None:
    text = said(site(), site(discovery="dns"), BOOTSTRAP)
    assert "85.7 % of the keys move" in text or "85.8 % of the keys move" in text


def test_a_limit_of_envoy_moves_no_key() -> None:
    text = said(site(), site(envoy={"memory": "4Gi"}), BOOTSTRAP)
    assert "no key moves" in text


def test_another_hash_may_move_every_key() -> None:
    """Only other code of ours makes one, so the file is edited here."""
    before, after = side(site()), side(site())
    name = (COMPONENT, BOOTSTRAP)
    old = after.objects[name]
    text = old.body["data"]["envoy.json"]
    body = {**old.body, "data": {"envoy.json": text.replace("[^?#]*", "[^?]*")}}
    changed = replace(after, objects={**after.objects, name: old._replace(body=body)})
    found = effects_of(compare("osaka-1", before, changed))
    assert ["any key may be looked for at another host" in each.why for each in found] == [True]
