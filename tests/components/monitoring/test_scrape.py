"""Who is asked for metrics: every program of a site that has some, where it really is."""

import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import yaml

from components.making.manifest import Json
from components.making.promql import Exporter
from components.making.watch import Scrape
from components.monitoring.scrape import metric_filter, scrape_config
from components.schedulers.watch import KUEUE, VOLCANO
from schemas.facts.site import Site
from schemas.model.object_cache import CacheServer
from tests.kit.monitoring_metrics import ENVOY, METRICS, TARGET_LABELS
from tests.kit.monitoring_pods import (
    GPU_OPERATOR,
    OUTSIDE,
    STRANGER,
    chosen,
    discovered,
    expected,
    finds,
    kubernetes,
    pods,
    services,
)
from tests.kit.monitoring_sites import NAMES, OPERATED, PLAIN, expected_exporters, objects, scrapes

needs_promtool = pytest.mark.skipif(shutil.which("promtool") is None, reason="no promtool in PATH")


EVERY = [
    pytest.param(site, scrape, id=f"{name}-{scrape.name}")
    for name, site in OPERATED.items()
    for scrape in scrapes(site)
]


@pytest.mark.parametrize(("site", "scrape"), EVERY)
def test_a_target_selects_pods_that_listen_there(site: Site, scrape: Scrape) -> None:
    found = chosen(scrape, site)
    assert found
    for pod in found:
        if scrape is VOLCANO:
            continue  # its pods declare no port
        assert scrape.port in pod.ports.values(), pod.of
        if not scrape.service:
            # A port of this name that is another would be asked too.
            assert pod.ports.get(scrape.port_name) == scrape.port, pod.of


@pytest.mark.parametrize(("site", "scrape"), EVERY)
def test_a_service_of_ours_leads_there_by_its_port(site: Site, scrape: Scrape) -> None:
    if not scrape.service or scrape in (KUEUE, VOLCANO):
        return
    (service,) = services(scrape, site)
    ports = {port["name"]: port for port in service["spec"]["ports"]}
    assert ports[scrape.port_name]["port"] == scrape.port
    selector = service["spec"]["selector"].items()
    assert [p for p in pods(site) if selector <= p.labels.items()] == chosen(scrape, site)


@pytest.mark.parametrize("name", NAMES)
def test_whoever_has_metrics_is_asked_once(name: str) -> None:
    """By their own word: a port called metrics, or the annotations by which others find it."""
    site = OPERATED[name]
    asked = [pod for scrape in scrapes(site) for pod in chosen(scrape, site)]
    speaking = [
        pod
        for pod in pods(site)
        if pod not in OUTSIDE
        and ("metrics" in pod.ports or pod.annotations.get("prometheus.io/scrape") == "true")
    ]
    assert speaking
    for pod in speaking:
        assert asked.count(pod) == 1, pod.of
    assert all(asked.count(pod) == 1 for pod in asked)


@pytest.mark.parametrize(("site", "scrape"), EVERY)
def test_annotations_and_targets_say_the_same(site: Site, scrape: Scrape) -> None:
    for pod in chosen(scrape, site):
        told = pod.annotations
        if "prometheus.io/scrape" in told:
            assert told["prometheus.io/port"] == str(scrape.port)
            assert told.get("prometheus.io/path", "/metrics") == scrape.path


OWN = set(Exporter)
"""Exporters that the site's Prometheus scrapes already."""


@pytest.mark.parametrize("name", NAMES)
def test_every_exporter_of_a_site_is_asked(name: str) -> None:
    """That no other is, follows from the pods that each target selects."""
    site = OPERATED[name]
    assert {scrape.exporter for scrape in scrapes(site)} >= expected_exporters(site) - OWN


def test_a_cache_server_without_metrics_is_not_asked() -> None:
    names = {each.name for each in scrapes(OPERATED["edge-1"])}
    assert "envoy" in names and "cache-server" not in names


def test_a_cache_server_is_asked_at_its_own_path_and_port() -> None:
    site = OPERATED["tokyo-1"]
    cache = site.file.cache
    assert cache
    server = CacheServer(image=cache.server.image, port=9444, metrics_path="/own/metrics")
    update = {"cache": cache.model_copy(update={"server": server})}
    (found,) = (
        each
        for each in scrapes(
            Site(
                site.file.model_copy(update=update),
                site.hosts,
                site.release,
                site.hardware,
                site.texts,
                site.accelerators,
            )
        )
        if each.name == "cache-server"
    )
    assert (found.port, found.path) == (9444, "/own/metrics")


# --- the operator's monitors ---


def monitors(site: Site) -> dict[str, Json]:
    found = (each for each in objects(site) if each.kind in ("PodMonitor", "ServiceMonitor"))
    return {each.body["metadata"]["name"]: each.body for each in found}


@pytest.mark.parametrize("name", NAMES)
def test_each_target_has_one_monitor(name: str) -> None:
    site = OPERATED[name]
    made = monitors(site)
    assert set(made) == {f"foresite-{scrape.name}" for scrape in scrapes(site)}
    for scrape in scrapes(site):
        spec = made[f"foresite-{scrape.name}"]["spec"]
        assert spec["selector"]["matchLabels"] == scrape.labels
        # A team's Service with the same labels must never be shown Prometheus' token.
        assert scrape.namespace
        assert spec["namespaceSelector"] == {"matchNames": [scrape.namespace]}
        (endpoint,) = spec.get("podMetricsEndpoints") or spec["endpoints"]
        assert (endpoint["port"], endpoint["path"]) == (scrape.port_name, scrape.path)
        assert ("bearerTokenFile" in endpoint) == scrape.secure
        assert endpoint.get("scheme", "http") == ("https" if scrape.secure else "http")


@pytest.mark.parametrize("name", NAMES)
def test_each_target_has_the_labels_that_rules_count_on(name: str) -> None:
    """namespace and pod are the operator's own; instance is Prometheus'."""
    site = OPERATED[name]
    for scrape in scrapes(site):
        spec = monitors(site)[f"foresite-{scrape.name}"]["spec"]
        (endpoint,) = spec.get("podMetricsEndpoints") or spec["endpoints"]
        rules = {rule.get("targetLabel"): rule for rule in endpoint["relabelings"]}
        assert {"job", "node", "pool"} <= set(rules)
        assert rules["job"]["replacement"] == scrape.job
        drop = next(r["regex"] for r in endpoint["relabelings"] if r.get("action") == "labeldrop")
        assert not any(re.fullmatch(drop, label) for label in TARGET_LABELS)


def test_of_envoys_all_is_kept_that_somebody_asks_for() -> None:
    (envoys,) = (each for each in scrapes(OPERATED["tokyo-1"]) if each.name == "envoy")
    (rule,) = metric_filter(envoys)
    asked = [name for name, metric in METRICS.items() if metric.exporter == ENVOY]
    assert asked and all(re.fullmatch(rule["regex"], name) for name in asked)
    assert not re.fullmatch(rule["regex"], "envoy_listener_downstream_cx_length_ms_bucket")


# --- files, as Prometheus reads them ---

TOKEN = "/var/run/secrets/kubernetes.io/serviceaccount/token"


@needs_promtool
@pytest.mark.monitoring
@pytest.mark.parametrize("name", NAMES)
def test_prometheus_takes_the_configuration(tmp_path: Path, name: str) -> None:
    """As written, but for the discovery, which Debian's promtool was built without, and the token,
    as promtool looks whether the file is there."""
    files = {each.name: each.body["data"] for each in objects(PLAIN[name]) if "data" in each.body}
    text = files["ConfigMap/foresite-scrape"]["scrape.yaml"]
    (tmp_path / "token").write_text("made up")
    told = yaml.safe_load(text.replace(TOKEN, str(tmp_path / "token")))
    if not kubernetes():
        for each in told["scrape_configs"]:
            assert each.pop("kubernetes_sd_configs")
    path = tmp_path / "scrape.yaml"
    path.write_text(yaml.safe_dump(told))
    run = ["promtool", "check", "config", str(path)]
    done = subprocess.run(run, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    jobs = [each["job_name"] for each in told["scrape_configs"]]
    assert jobs == [scrape.name for scrape in scrapes(PLAIN[name])] and jobs


@pytest.mark.proof
@needs_promtool
@pytest.mark.monitoring
@pytest.mark.parametrize("name", NAMES)
def test_prometheus_asks_the_pods_and_nothing_else(tmp_path: Path, name: str) -> None:
    """Prometheus' own relabelling, of targets as discovery tells them."""
    site = PLAIN[name]
    there = dict(enumerate([*pods(site), STRANGER], start=1))
    ended = discovered(GPU_OPERATOR, 250)
    for each in ended:
        each["labels"]["__meta_kubernetes_pod_phase"] = "Succeeded"
    every = [each for number, pod in there.items() for each in discovered(pod, number)]

    def look(scrape: Scrape) -> None:
        config = scrape_config(scrape)
        (discovery,) = config.pop("kubernetes_sd_configs")
        spaces = discovery["namespaces"]["names"]
        seen = "__meta_kubernetes_namespace"
        config["static_configs"] = [
            each for each in [*every, *ended] if each["labels"][seen] in spaces
        ]
        finds(config, tmp_path, expected(scrape, site, there))

    # Each mostly waits.
    with ThreadPoolExecutor(8) as pool:
        assert len(list(pool.map(look, scrapes(site)))) == len(scrapes(site))
