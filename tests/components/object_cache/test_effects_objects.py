"""Texts on a cache's objects, and on those who read them, when something changes.

Expected is what the sources make of it that the rules name.
"""

from dataclasses import replace
from typing import Any

import pytest

from components.effects.vocabulary import Action, Impact
from components.making.manifest import Json
from components.object_cache.effects.buckets import access
from components.object_cache.names import COMPONENT
from components.object_cache.objects import objects
from preview.differences.compare import compare
from schemas.facts.site import Site
from schemas.model.object_cache import Bucket
from tests.kit.object_cache_changes import (
    BUCKETS,
    actions,
    change,
    effects_of,
    said,
    side,
    site,
    without_one,
)
from tests.kit.object_cache_site import site as plain


# --- what becomes of objects ---
def test_servers_in_another_folder_start_empty() -> None:
    text = said(site(), site(data_path="/srv/other"), "DaemonSet/cache-server/h100")
    assert "the cache starts empty in /srv/other" in text
    assert (
        "objects in /srv/nvme/cache are not used, and take space until a person deletes them"
        in text
    )


def test_another_user_may_find_files_that_it_cannot_read() -> None:
    text = said(site(), site({"user": 1000}), "DaemonSet/cache-server/h100")
    assert "existing files belong to user 65532" in text


def test_tokens_for_the_old_audience_are_refused_once_servers_know_the_new_one() -> None:
    before, after = (site(audience=each) for each in ("objects", "things"))
    text = said(before, after, "DaemonSet/cache-server/v100")
    assert "running pods have tokens for objects" in text
    assert "until it is created again with tokens for things" in text
    other = said(before, site({"args": ["-v"]}, audience="objects"), "DaemonSet/cache-server/v100")
    assert "tokens" not in other


def test_a_server_with_less_space_makes_room() -> None:
    """How is the site's server's to say: only the reference server's way is known."""
    for size, words in (("1Ti", SMALLER), ("3Ti", LARGER)):
        text = said(site(), site(capacity=size), "DaemonSet/cache-server/v100")
        assert words in text


@pytest.mark.parametrize(
    ("name", "more", "less"),
    [
        ("DaemonSet/cache-server/v100", site({"memory": "8Gi"}), site({"memory": "2Gi"})),
        ("DaemonSet/cache-server/v100", site({"cpu": "1500m"}), site({"cpu": "500m"})),
        ("DaemonSet/envoy/cpu", site(envoy={"cpu": "2"}), site(envoy={"memory": "1Gi"})),
    ],
)
def test_who_needs_more_of_a_host_may_cost_jobs_theirs(name: str, more: Site, less: Site) -> None:
    """Kubernetes' scheduler preempts pods of lower priority where a host is full."""
    words = "pods of lower priority are evicted to make room"
    assert words in said(site(), more, name)
    assert words not in said(site(), less, name)


def test_at_another_port_servers_are_asked_before_they_answer() -> None:
    after = site({"port": 8082})
    text = said(site(), after, "DaemonSet/cache-server/v100")
    assert "it answers there after its restart" in text
    text = said(site(), after, "ConfigMap/envoy-endpoints")
    assert "no key moves" in text and "after its restart" in text


def test_by_dns_the_port_of_servers_is_that_of_the_bootstrap() -> None:
    """Envoy asks a name for addresses alone, and reads its bootstrap when it starts."""
    before, after = site(discovery="dns"), site({"port": 8082}, discovery="dns")
    assert "after their own restart" in said(before, after, "Service/servers")
    text = said(before, after, "DaemonSet/cache-server/v100")
    assert "from its own restart on" in text and "within about two minutes" not in text


def test_an_envoy_that_stops_lets_its_requests_end() -> None:
    """The hook waits so long, and then Envoy is told to stop, which ends what is left."""
    manifests = {each.name: each for each in objects(site())}
    (container,) = manifests["DaemonSet/envoy/cpu"].body["spec"]["template"]["spec"]["containers"]
    hook = container["lifecycle"]["preStop"]["exec"]["command"][-1]
    text = said(site(), site(envoy={"workers": 8}), "DaemonSet/envoy/cpu")
    assert f"{hook.rpartition('sleep ')[2]} s to end" in text


BUCKET = "ConfigMap/cache-buckets"
LARGER = "nothing is deleted"
SMALLER = (
    "the reference server deletes what was read longest ago; a server of your own does as it does"
)


def private(*namespaces: str) -> Json:
    return {"public": False, "namespaces": list(namespaces)}


def public(*namespaces: str) -> Json:
    return {"public": True, "namespaces": list(namespaces)}


@pytest.mark.parametrize(
    ("first", "words"),
    [
        ({"quota": "8Ti"}, LARGER),
        ({"quota": "2Ti"}, SMALLER),
        ({"public": True}, "without a token"),
    ],
)
def test_what_a_changed_bucket_means_is_said(first: dict[str, Any], words: str) -> None:
    after = site(buckets=[{**BUCKETS[0], **first}, BUCKETS[1]])
    text = said(site(), after, BUCKET)
    assert words in text
    assert "server.reloads_config" in text and "no pod restarts" in text


ANYBODY, TOKEN = "anybody, without a token", "every pod that shows a token"
ENDS = "all others, hosts among them, read from the origin"


def reads(who: str, before: str) -> str:
    return f"{who} may read it (before: {before})"


def writes(who: str, before: str) -> str:
    return f"{who} may write it (before: {before})"


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        (private("a"), private("a"), []),
        (private("a"), private("a", "b"),
         [reads("pods of a and b", "pods of a"), writes("pods of a and b", "pods of a")]),
        (private("a", "b"), private("b"),
         [reads("pods of b", "pods of a and b"), "pods of a read from the origin",
          writes("pods of b", "pods of a and b")]),
        (private("a"), private(),
         [reads("nobody", "pods of a"), "pods of a read from the origin",
          writes("nobody", "pods of a")]),
        # Everybody goes on reading what is public.
        (public("a", "b"), public("a"), [writes("pods of a", "pods of a and b")]),
        # Without a namespace a public bucket is written by whoever has a token.
        (public("a"), public(), [writes(TOKEN, "pods of a")]),
        (public(), public("a"), [writes("pods of a", TOKEN)]),
        (private("a"), public("a"), [reads(f"{ANYBODY},", "pods of a")]),
        (public("a"), private("a"), [reads("pods of a", ANYBODY), ENDS]),
        (public(), private("a"), [reads("pods of a", ANYBODY), ENDS, writes("pods of a", TOKEN)]),
        (private("a", "b", "c", "d"), public(),
         [reads(f"{ANYBODY},", "pods of 4 namespaces"), writes(TOKEN, "pods of 4 namespaces")]),
    ],
)  # fmt: skip
def test_who_may_read_and_write_a_bucket_follows_from_the_whole_of_it(
    before: Json, after: Json, says: list[str]
) -> None:
    """As Bucket.readable_by and Bucket.writable_by say."""
    sides = [Bucket(name="some", quota="1Ti", **each) for each in (before, after)]
    assert [each.full for each in access(*sides)] == says


def test_another_namespace_and_flag_of_a_bucket_are_told_with_its_file() -> None:
    closed = [BUCKETS[0], {**BUCKETS[1], "public": False}]
    assert reads("pods of biology and vision", ANYBODY) in said(
        site(), site(buckets=closed), BUCKET
    )
    open_to_all = [BUCKETS[0], {**BUCKETS[1], "namespaces": []}]
    text = said(site(), site(buckets=open_to_all), BUCKET)
    assert writes(TOKEN, "pods of biology and vision") in text
    assert "origin" not in text


def test_a_file_of_another_name_is_found_after_a_restart() -> None:
    after = site({"config_path": "/etc/cache/other.json"})
    text = said(site(), after, BUCKET)
    assert "restart is judged there" in text and "it finds the new file after its restart" in text
    text = said(site(), after, "DaemonSet/cache-server/v100")
    assert "find their buckets in /etc/cache/other.json after their restart" in text


def test_a_bucket_that_goes_takes_copies_with_it() -> None:
    text = said(site(), site(buckets=BUCKETS[:1]), BUCKET)
    assert "the bucket goes with what it keeps: copies" in text
    assert "empty at first" in said(site(buckets=BUCKETS[:1]), site(), BUCKET)


def test_shares_of_the_same_quota_follow_the_number_of_hosts() -> None:
    fewer = without_one(site())
    for before, after, words in ((site(), fewer, LARGER), (fewer, site(), SMALLER)):
        text = said(before, after, BUCKET)
        assert "for another number of hosts" in text and words in text


def test_buckets_that_are_read_once_are_judged_at_the_restart() -> None:
    after = plain(buckets=[{**BUCKETS[0], "quota": "2Ti"}, BUCKETS[1]])
    text = said(plain(), after, BUCKET)
    assert "restart is judged there" in text and SMALLER in text
    assert "no pod restarts" not in text


# --- how pods reach it ---
SERVICE = "Service/cache"


def test_a_service_gets_another_address_by_being_made_anew() -> None:
    before, after = site(address="10.96.0.80"), site(address="10.96.0.81")
    assert actions(before, after, SERVICE) == {Action.REPLACED}
    assert "for a moment the cache has no address" in said(before, after, SERVICE)


def test_pods_that_run_go_on_asking_for_the_old_name() -> None:
    assert actions(site(), site(service="store"), SERVICE) == {Action.REPLACED}
    assert "running pods ask for the old name" in said(site(), site(service="store"), SERVICE)


@pytest.mark.parametrize("renamed", [{"service": "store"}, {"namespace": "caches"}])
def test_one_address_is_not_given_to_two_services(renamed: dict[str, str]) -> None:
    """The new one is made first, as its name is another."""
    before, after = site(address="10.96.0.80"), site(address="10.96.0.80", **renamed)
    assert Action.REFUSED in actions(before, after, SERVICE)
    assert "does not give an address twice" in said(before, after, SERVICE)
    elsewhere = site(address="10.96.0.81", **renamed)
    assert Action.REFUSED not in actions(before, elsewhere, SERVICE)


def test_each_envoy_is_asked_at_its_own_port() -> None:
    """The Service has the port's name, so another number changes nothing of it."""
    after = site(envoy={"port": 10080})
    assert (COMPONENT, SERVICE) not in change(site(), after).changes
    text = said(site(), after, "DaemonSet/envoy/cpu")
    assert "each is asked where it listens" in text


@pytest.mark.parametrize(
    ("ports", "words"),
    [((8080, "http"), "each pod's port of the name http"), ((8080, 8090), "refused until then")],
)
def test_ports_by_number_of_other_code_are_judged(ports: tuple[int, int | str], words: str) -> None:
    made = side(site())
    service = made.objects[COMPONENT, SERVICE]
    sides = []
    for port in ports:
        (old,) = service.body["spec"]["ports"]
        spec = {**service.body["spec"], "ports": [{**old, "targetPort": port}]}
        one = service._replace(body={**service.body, "spec": spec})
        sides.append(replace(made, objects={**made.objects, (COMPONENT, SERVICE): one}))
    (found,) = effects_of(compare("osaka-1", *sides))
    assert words in found.why


def test_envoys_that_have_not_restarted_ask_dns_for_the_old_name() -> None:
    before = site(discovery="dns")
    for after in (site(), site(discovery="dns", service="store")):
        assert "an Envoy that has not restarted" in said(before, after, "Service/servers")


@pytest.mark.parametrize(
    ("old", "new", "stays"),
    [("PreferClose", "PreferSameZone", True), ("PreferSameZone", "PreferSameNode", False)],
)
def test_two_names_of_one_distribution_move_no_connection(old: str, new: str, stays: bool) -> None:
    sides = []
    for word in (old, new):
        made = side(site())
        manifest = made.objects[COMPONENT, SERVICE]
        spec = {**manifest.body["spec"], "trafficDistribution": word}
        one = manifest._replace(body={**manifest.body, "spec": spec})
        sides.append(replace(made, objects={**made.objects, (COMPONENT, SERVICE): one}))
    (found,) = effects_of(compare("osaka-1", *sides))
    assert ("connections go where they went" in found.why) is stays
    assert found.impact is Impact.NONE


def test_budgets_hold_up_no_drain() -> None:
    """A drain leaves pods of DaemonSets alone."""
    text = said(site(), without_one(site()), "PodDisruptionBudget/cache-server")
    assert "no drain goes faster or waits" in text
