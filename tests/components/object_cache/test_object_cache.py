"""The objects of the cache as plain data: what follows from which field of the site file."""

import json
from dataclasses import replace
from typing import Any

import pytest
from cache_server import settings

from components.making.manifest import CONFIGURATION_ANNOTATION, Json
from components.object_cache.bootstrap import (
    ADMIN_PORT,
    METRICS_PORT,
    PROBES_PORT,
    bootstrap,
    bootstrap_text,
)
from components.object_cache.objects import objects
from components.object_cache.server import environment
from components.object_cache.service import traffic_distribution
from schemas.facts.site import Site
from tests.kit import accelerator_sites
from tests.kit.object_cache_site import CACHE, bodies, cache_of, endpoints, of_hosts, site

EVERY_POOL = ["control", "cpu", "v100", "h100", "t4", "mncore"]


def pod(made: Site, name: str) -> Json:
    found: Json = bodies(made)[f"DaemonSet/{name}"]["spec"]["template"]["spec"]
    return found


def container(made: Site, name: str) -> Json:
    (found,) = pod(made, name)["containers"]
    assert isinstance(found, dict)
    return found


def annotations(made: Site, name: str) -> dict[str, str]:
    found: dict[str, str] = bodies(made)[f"DaemonSet/{name}"]["spec"]["template"]["metadata"][
        "annotations"
    ]
    return found


def test_a_site_without_a_cache_has_no_objects() -> None:
    assert objects(accelerator_sites.site(None)) == []


def test_servers_are_on_the_pools_that_keep_objects_and_envoy_is_on_all() -> None:
    found = [name for name in bodies(site()) if name.startswith("DaemonSet/")]
    servers = [f"DaemonSet/cache-server/{pool}" for pool in CACHE["pools"]]
    assert found == [*servers, *(f"DaemonSet/envoy/{pool}" for pool in EVERY_POOL)]


def test_without_pools_every_host_keeps_objects() -> None:
    """Of the bare site: some of its profiles have no NVMe, which the rules would refuse."""
    made = site()
    cache = cache_of(made).model_copy(update={"pools": None})
    made = replace(made, file=made.file.model_copy(update={"cache": cache}))
    assert f"DaemonSet/cache-server/{EVERY_POOL[0]}" in bodies(made)
    assert len(endpoints(made)) == len(made.hosts)


# --- the servers ---------------------------------------------------------------------------------


def test_a_server_sees_its_data_and_its_buckets_where_the_site_says() -> None:
    made = site({"config_path": "/srv/conf/buckets.conf"}, data_path="/mnt/nvme/objects")
    mounts = {each["name"]: each for each in container(made, "cache-server/v100")["volumeMounts"]}
    volumes = {each["name"]: each for each in pod(made, "cache-server/v100")["volumes"]}
    assert volumes["data"]["hostPath"] == {"path": "/mnt/nvme/objects", "type": "Directory"}
    assert mounts["data"] == {"name": "data", "mountPath": "/mnt/nvme/objects"}
    assert mounts["buckets"]["mountPath"] == "/srv/conf"
    assert list(bodies(made)["ConfigMap/cache-buckets"]["data"]) == ["buckets.conf"]


def test_a_server_is_at_its_hosts_address() -> None:
    made = site({"port": 9081})
    assert pod(made, "cache-server/v100")["hostNetwork"] is True
    (port,) = container(made, "cache-server/v100")["ports"]
    assert (port["containerPort"], port["hostPort"]) == (9081, 9081)
    assert {address["port_value"] for address in endpoints(made).values()} == {9081}


def variables(made: Site) -> dict[str, str]:
    """The environment of a server on the host 10.0.0.7, in its order."""
    of_node = {"status.hostIP": "10.0.0.7"}
    return {
        each["name"]: each["value"]
        if "value" in each
        else of_node[each["valueFrom"]["fieldRef"]["fieldPath"]]
        for each in container(made, "cache-server/v100")["env"]
    }


def test_a_server_finds_in_its_environment_what_the_site_says() -> None:
    """The reference server starts by these alone: by the names of its own settings."""
    made = site({"port": 9081, "config_path": "/srv/conf/b.json", "args": []}, audience="objects")
    found = settings.read([], {**variables(made), "KUBERNETES_SERVICE_HOST": "10.96.0.1"})
    assert (str(found.config), str(found.data)) == ("/srv/conf/b.json", "/srv/nvme/cache")
    assert (found.capacity, found.audience) == (2 * 2**40, "objects")
    assert (found.host, found.port) == ("10.0.0.7", 9081)


def test_a_sites_own_variables_may_use_the_others() -> None:
    """Kubernetes expands $(NAME) of variables that stand before (EnvVar.value)."""
    found = variables(site({"env": {"ADDRESS": ":$(CACHE_PORT)"}}))
    assert list(found)[-1] == "ADDRESS"
    assert set(found) == {*environment(cache_of(site())), "CACHE_HOST", "ADDRESS"}


def test_the_same_space_in_another_unit_restarts_nothing() -> None:
    assert bodies(site(capacity="2048Gi")) == bodies(site(capacity="2Ti"))


@pytest.mark.parametrize(("name", "user"), [("cache-server/v100", 1234), ("envoy/cpu", 101)])
def test_both_run_without_rights(name: str, user: int) -> None:
    """All that the Pod Security Standard "restricted" asks of what is no volume and no network."""
    made = site({"user": 1234})
    security = pod(made, name)["securityContext"]
    assert security == {
        "runAsNonRoot": True,
        "runAsUser": user,
        "runAsGroup": user,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    assert container(made, name)["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


@pytest.mark.parametrize("name", ["cache-server/v100", "envoy/v100"])
def test_both_return_to_a_node_under_repair_and_yield_to_nobody(name: str) -> None:
    spec = pod(site(), name)
    assert spec["tolerations"] == [{"operator": "Exists"}]
    assert spec["priorityClassName"] == "system-node-critical"
    update = bodies(site())[f"DaemonSet/{name}"]["spec"]["updateStrategy"]
    assert update["rollingUpdate"] == {"maxUnavailable": "10%"}


def test_a_server_with_a_full_disk_serves_nobody_and_is_not_restarted() -> None:
    """Its path fails, and it takes connections."""
    found = container(site({"health_path": "/health"}), "cache-server/v100")
    assert found["readinessProbe"]["httpGet"] == {"path": "/health", "port": "objects"}
    for name in ("startupProbe", "livenessProbe"):
        assert found[name]["tcpSocket"] == {"port": "objects"}
        assert "httpGet" not in found[name]


def test_the_next_servers_stop_once_envoys_have_taken_the_first_ones_back() -> None:
    made = site()
    spec = bodies(made)["DaemonSet/cache-server/v100"]["spec"]
    clusters = bootstrap(cache_of(made))["static_resources"]["clusters"]
    (check,) = clusters[0]["health_checks"]
    asked = [int(check[name][:-1]) for name in ("unhealthy_interval", "interval_jitter")]
    # One that failed is asked seldom, and after its first answer once more soon.
    edge = int(check["healthy_edge_interval"][:-1]) + asked[1]
    assert spec["minReadySeconds"] >= sum(asked) + edge
    assert "minReadySeconds" not in bodies(made)["DaemonSet/envoy/v100"]["spec"]


def test_prometheus_asks_at_the_port_for_metrics() -> None:
    assert annotations(site(), "envoy/cpu")["prometheus.io/port"] == str(METRICS_PORT)


def test_envoy_has_no_token() -> None:
    assert pod(site(), "envoy/cpu")["automountServiceAccountToken"] is False
    assert pod(site(), "cache-server/v100")["automountServiceAccountToken"] is True


@pytest.mark.parametrize(
    ("name", "field"), [("cache-server/v100", "server"), ("envoy/cpu", "envoy")]
)
def test_memory_is_limited_and_the_processor_is_not(name: str, field: str) -> None:
    own = {"cpu": "3", "memory": "3Gi"}
    made = site(own) if field == "server" else site(envoy=own)
    assert container(made, name)["resources"] == {"requests": own, "limits": {"memory": "3Gi"}}


# --- what restarts pods --------------------------------------------------------------------------


def test_servers_that_do_not_read_their_buckets_again_are_restarted() -> None:
    buckets = [*CACHE["buckets"], {"name": "new", "quota": "1Gi", "public": True}]
    for reloads, same in ((True, True), (False, False)):
        server = {"reloads_config": reloads}
        before, after = site(server), site(server, buckets=buckets)
        name = "cache-server/v100"
        assert (annotations(before, name) == annotations(after, name)) is same
        assert (CONFIGURATION_ANNOTATION in annotations(before, name)) is not reloads


def test_new_endpoints_restart_no_envoy_and_a_new_bootstrap_does() -> None:
    plain = annotations(of_hosts(["a", "b"]), "envoy/cpu")
    assert annotations(of_hosts(["a", "b", "c"]), "envoy/cpu") == plain
    assert annotations(of_hosts(["a", "b"], table_size=131_071), "envoy/cpu") != plain


# --- services, budgets, bootstrap ----------------------------------------------------------------


def test_dns_needs_no_endpoints() -> None:
    made = bodies(site(discovery="dns", service="store", namespace="caches"))
    assert "ConfigMap/envoy-endpoints" not in made
    assert "Service/servers" not in bodies(site())
    service = made["Service/servers"]
    assert service["spec"]["clusterIP"] == "None"
    (text,) = made["ConfigMap/envoy-bootstrap"]["data"].values()
    (cluster, _) = json.loads(text)["static_resources"]["clusters"]
    (group,) = cluster["load_assignment"]["endpoints"]
    (endpoint,) = group["lb_endpoints"]
    address = endpoint["endpoint"]["address"]["socket_address"]
    assert address["address"] == f"{service['metadata']['name']}.caches.svc.cluster.local."
    (volume,) = pod(site(discovery="dns"), "envoy/cpu")["volumes"]
    assert volume["name"] == "bootstrap"


def test_the_service_leads_to_envoy() -> None:
    made = site(service="store", namespace="caches", address="10.96.0.80", envoy={"port": 10080})
    spec = bodies(made)["Service/cache"]["spec"]
    (port,) = spec["ports"]
    (listener, *_) = bootstrap(cache_of(made))["static_resources"]["listeners"]
    (own, *_) = container(made, "envoy/cpu")["ports"]
    assert (port["port"], port["targetPort"]) == (80, own["name"])
    assert own["containerPort"] == 10080
    assert listener["address"]["socket_address"]["port_value"] == 10080
    assert spec["clusterIP"] == "10.96.0.80"
    for pool in EVERY_POOL:
        template = bodies(made)[f"DaemonSet/envoy/{pool}"]["spec"]["template"]
        assert spec["selector"].items() <= template["metadata"]["labels"].items()


def test_the_cluster_picks_the_address_where_none_is_given() -> None:
    assert "clusterIP" not in bodies(site())["Service/cache"]["spec"]


@pytest.mark.parametrize(
    ("version", "value"),
    [("v1.33.9", "PreferClose"), ("v1.34.9", "PreferClose"), ("v1.35.0", "PreferSameZone")],
)
def test_the_zone_is_preferred_in_words_that_the_version_before_takes(
    version: str, value: str
) -> None:
    """In an upgrade the API server is a minor behind; 1.34 is the first that takes the newer."""
    assert traffic_distribution(version) == value


@pytest.mark.parametrize(("hosts", "least"), [(1, 0), (2, 1), (20, 18), (400, 360)])
def test_a_budget_is_a_whole_number_of_the_machines(hosts: int, least: int) -> None:
    """A tenth may be out, as in an update. One host of the pool is a spare."""
    made = of_hosts([f"n-{n}" for n in range(hosts + 1)])
    spec = bodies(made)["PodDisruptionBudget/cache-server"]["spec"]
    assert spec["minAvailable"] == least
    assert type(spec["minAvailable"]) is int
    assert "maxUnavailable" not in spec


def test_no_port_of_envoy_is_taken_twice() -> None:
    made = bootstrap(cache_of(site()))
    ports = [
        each["address"]["socket_address"]["port_value"]
        for each in (made["admin"], *made["static_resources"]["listeners"])
    ]
    assert sorted(ports) == sorted({8080, ADMIN_PORT, PROBES_PORT, METRICS_PORT})


def test_the_administration_is_on_the_loopback() -> None:
    assert (
        bootstrap(cache_of(site()))["admin"]["address"]["socket_address"]["address"] == "127.0.0.1"
    )


def test_envoy_stops_before_the_kernel_stops_it() -> None:
    made = site(envoy={"memory": "1000Mi"})
    (heap, _) = bootstrap(cache_of(made))["overload_manager"]["resource_monitors"]
    assert heap["typed_config"]["max_heap_size_bytes"] == 900 * 2**20


def test_texts_are_the_same_each_time() -> None:
    first, second = (bootstrap_text(cache_of(site())) for _ in range(2))
    assert first == second
    assert json.loads(first) == bootstrap(cache_of(site()))


def test_the_namespace_is_protected_and_open_to_paths_of_the_host() -> None:
    made = {each.name: each for each in objects(site(namespace="caches"))}
    space = made["Namespace/caches"]
    assert space.protect
    assert space.body["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "privileged"
    spaces: set[Any] = {each.body["metadata"].get("namespace") for each in made.values()}
    assert spaces == {None, "caches"}
