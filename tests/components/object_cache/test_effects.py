"""Effects of changes to a site's cache on its hosts.

Expected is what the sources make of it that the rules name: a changed pod template restarts a
DaemonSet's pods, a changed ConfigMap none, Envoy reads its bootstrap when it starts and its
endpoints whenever they change.
"""

from dataclasses import replace
from typing import Any

import pytest

from components.effects.vocabulary import Action, Impact
from components.object_cache.names import COMPONENT
from components.object_cache.objects import objects
from preview.differences.compare import compare
from schemas.facts.site import Site
from tests.kit.fields import unruled
from tests.kit.object_cache_changes import (
    BUCKETS,
    ENVOYS,
    EVERY_RULE,
    SERVERS,
    actions,
    change,
    effects,
    effects_of,
    outcome,
    readdressed,
    restarts,
    said,
    side,
    site,
    unnamed,
    with_hosts,
    without,
    without_one,
)
from tests.kit.object_cache_site import cache_of
from tests.kit.object_cache_site import site as plain


# --- which hosts ---
@pytest.mark.parametrize(
    "after",
    [
        site(capacity="2048Gi"),
        site(token_seconds=7200),
        site(buckets=BUCKETS[::-1]),
        site(buckets=[{**each, "namespaces": each["namespaces"][::-1]} for each in BUCKETS]),
        site(pools=list(SERVERS[::-1])),
        site({"env": {"COLOUR": "no", "LEVEL": "info"}}),
        with_hosts(site(), lambda hosts: hosts.reverse()),
    ],
)
def test_what_no_object_says_changes_nothing(after: Site) -> None:
    assert change(site(), after).changes == {}


@pytest.mark.parametrize(
    ("server", "pools"),
    [
        ({"image": "registry.example/cache/cache-server:v2@sha256:" + "cd" * 32}, SERVERS),
        ({"command": ["serve"]}, SERVERS),
        ({"args": ["--port=8081", "--verbose"]}, SERVERS),
        ({"env": {"LEVEL": "debug", "COLOUR": "no"}}, SERVERS),
        ({"port": 8082}, SERVERS),
        ({"config_path": "/etc/buckets/buckets.json"}, SERVERS),
        ({"config_path": "/etc/cache/other.json"}, SERVERS),
        ({"metrics_path": None}, SERVERS),
        ({"user": 1000}, SERVERS),
        ({"cpu": "2"}, SERVERS),
        ({"memory": "8Gi"}, SERVERS),
        ({"reloads_config": False}, SERVERS),
        # Envoys ask for it too, and read what they ask for when they start.
        ({"health_path": "/live"}, ENVOYS),
    ],
)
def test_a_changed_server_restarts_where_it_runs_and_drains_none(
    server: dict[str, Any], pools: tuple[str, ...]
) -> None:
    assert outcome(site(), site(server)) == restarts(pools)


@pytest.mark.parametrize(
    "envoy",
    [
        {"image": "registry.example/envoy:v2@sha256:" + "cd" * 32},
        {"port": 10080},
        {"workers": 8},
        {"cpu": "2"},
        {"memory": "4Gi"},
    ],
)
def test_a_changed_envoy_restarts_on_every_host_and_drains_none(envoy: dict[str, Any]) -> None:
    assert outcome(site(), site(envoy=envoy)) == restarts(ENVOYS)


@pytest.mark.parametrize(
    ("changed", "pools"),
    [
        ({"data_path": "/srv/other"}, SERVERS),
        ({"capacity": "3Ti"}, SERVERS),
        ({"audience": "other"}, SERVERS),
        ({"table_size": 1_299_709}, ENVOYS),
        ({"discovery": "dns"}, ENVOYS),
        ({"namespace": "caches"}, ENVOYS),
        # The servers of the other pool stay, and are told of larger shares.
        ({"pools": ["v100"]}, ("h100",)),
        ({"pools": ["v100", "h100", "cpu"]}, ("cpu",)),
        # Nobody restarts for what the servers and the Service are told.
        ({"buckets": BUCKETS[:1]}, ()),
        ({"buckets": [{**BUCKETS[0], "quota": "3Ti"}, BUCKETS[1]]}, ()),
        ({"service": "store"}, ()),
        ({"address": "10.96.0.80"}, ()),
    ],
)
def test_other_changes_restart_what_reads_them_at_its_start(
    changed: dict[str, Any], pools: tuple[str, ...]
) -> None:
    assert outcome(site(), site(**changed)) == restarts(pools)


@pytest.mark.parametrize("after", [without_one(site()), readdressed(site())])
def test_other_hosts_restart_nothing(after: Site) -> None:
    assert outcome(site(), after) == {}


def test_servers_that_read_their_buckets_once_restart_for_other_shares() -> None:
    """One host less, and each of the others may keep more."""
    assert outcome(plain(), without_one(plain())) == restarts(SERVERS)


def test_a_restart_is_a_tenth_at_a_time_and_spares_run_nothing() -> None:
    told = effects(site(), site({"cpu": "2"}))
    (v100,) = (each for each in told if each.name[1] == "DaemonSet/cache-server/v100")
    assert "1 at a time" in v100.why
    assert v100.at_most == 3  # the fourth is a spare
    assert "objects stay on the disks" in v100.why


# --- the whole cache ---
def test_a_cache_starts_pods_on_every_host() -> None:
    assert outcome(without(), site()) == restarts(ENVOYS)
    text = said(without(), site(), "DaemonSet/cache-server/v100")
    assert "no folder /srv/nvme/cache its pod waits for one" in text


def test_pods_of_a_new_pool_start_once_its_hosts_are_machines() -> None:
    pools = [pool for pool in site().file.pools if pool.name != "v100"]
    cache = cache_of(site()).model_copy(update={"pools": ["h100"]})
    before = replace(site(), file=site().file.model_copy(update={"pools": pools, "cache": cache}),
                     hosts=tuple(host for host in site().hosts if host.pool != "v100"))  # fmt: skip
    for name in ("DaemonSet/cache-server/v100", "DaemonSet/envoy/v100"):
        words = "start on the pool's hosts once they are machines"
        assert words in said(before, site(), name)
        assert "on no host" not in said(before, site(), name)
        assert words not in said(without(), site(), name)


def test_a_cache_that_goes_stops_its_pods_and_leaves_its_namespace() -> None:
    """Pulumi refuses to delete what is protected; nobody else had the servers' rights."""
    assert outcome(site(), without()) == restarts(ENVOYS)
    assert actions(site(), without(), "Namespace/cache-service") == {Action.REFUSED}
    for kind in ("ServiceAccount", "ClusterRole", "ClusterRoleBinding"):
        assert actions(site(), without(), f"{kind}/cache-server") == {Action.DELETED}
    text = said(site(), without(), "DaemonSet/cache-server/v100")
    assert "stay on the disks until a person deletes them" in text
    layers = {"bucket": "open", "registries": ["docker.io"]}
    text = said(site(address="10.96.0.80", image_layers=layers), without(),
                "DaemonSet/cache-server/v100")  # fmt: skip
    assert "are lost with these when hosts are installed again" in text
    assert "jobs go on" in said(site(), without(), "DaemonSet/envoy/v100")


def test_a_cache_in_another_namespace_leaves_the_old_one() -> None:
    found = effects(site(), site(namespace="caches"))
    refused = {each.name[1] for each in found if each.action is Action.REFUSED}
    assert refused == {"Namespace/cache-service"}


def test_a_server_that_stays_and_loses_a_right_is_not_known() -> None:
    made = side(site())
    name = (COMPONENT, "ClusterRole/cache-server")
    role = made.objects[name]
    poorer = role._replace(body={**role.body, "rules": []})
    after = replace(made, objects={**made.objects, name: poorer})
    found = effects_of(compare("osaka-1", made, after))
    assert {each.impact for each in found} == {Impact.UNKNOWN}


def test_a_site_that_is_not_applied_changes_nothing_in_a_cluster() -> None:
    found = effects(unnamed(site()), unnamed(site({"cpu": "2"}, table_size=1_299_709)))
    assert {each.impact for each in found} == {Impact.NONE}
    assert all("not applied yet" in each.why for each in found)


# --- every field ---
@pytest.mark.parametrize("of", [site(address="10.96.0.80"), site(discovery="dns"), plain()])
def test_every_field_has_a_rule(of: Site) -> None:
    assert set().union(*(unruled(EVERY_RULE, each) for each in objects(of))) == set()
