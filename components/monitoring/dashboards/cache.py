"""The object cache: what it answers, how evenly, and what it holds."""

from components.monitoring.dashboards.panels import Board, Panel, panel
from components.monitoring.dashboards.queries import RATE, by
from components.monitoring.exporters import Exporter, exporters
from schemas.facts.site import Site

ENVOY, SERVER = Exporter.ENVOY, Exporter.CACHE_SERVER
CLUSTER = 'envoy_cluster_name="cache"'
"""The servers, as Envoy's statistics call them."""


def cache(site: Site) -> Board | None:
    """The dashboard of the cache; none where the site has none."""
    if site.file.cache is None:
        return None
    panels = _answers(site)
    if SERVER in exporters(site):
        panels += _servers(site)
    text = "Hits, errors and balance of the object cache."
    return Board("cache", "Object cache", text, tuple(panels))


def _answered(site: Site, *more: str) -> str:
    where = by(site, ENVOY, CLUSTER, *more)
    return f"sum(rate(envoy_cluster_upstream_rq{where}[{RATE}]))"


def _answers(site: Site) -> list[Panel]:
    hits = _answered(site, 'envoy_response_code=~"200|206"')
    misses = _answered(site, 'envoy_response_code="404"')
    failed = _answered(site, 'envoy_response_code=~"5.."')
    answers = by(site, ENVOY, CLUSTER)
    healthy, total = (f"envoy_cluster_membership_{each}{answers}" for each in ("healthy", "total"))
    return [
        panel(
            "Hits",
            "Share of reads that the cache answered. A miss costs a read of the origin.",
            ENVOY,
            (f"{hits} / ({hits} + {misses})", "hits"),
            unit="percentunit",
        ),
        panel(
            "Errors",
            "Share of answers that are failures; PFIO takes each for a miss.",
            ENVOY,
            (f"{failed} / {_answered(site)}", "failures"),
            unit="percentunit",
        ),
        panel(
            "Answers",
            "By code: 401 and 403 are tokens and rights.",
            ENVOY,
            (
                f"sum by (envoy_response_code) (rate(envoy_cluster_upstream_rq{answers}[{RATE}]))",
                "{{envoy_response_code}}",
            ),
            unit="reqps",
        ),
        panel(
            "Servers in the table",
            "Fewest and most of all Envoys: all should have the same.",
            ENVOY,
            (f"min({healthy})", "healthy, fewest"),
            (f"max({healthy})", "healthy, most"),
            (f"max({total})", "known"),
        ),
    ]


def _servers(site: Site) -> list[Panel]:
    """Of the reference server; another one may have other metrics, and these stay empty."""
    asked = by(site, SERVER)
    quota = f"sum by (bucket) (cache_quota_bytes{asked}) > 0"
    requests = f"sum by (node) (rate(cache_requests_total{asked}[{RATE}]))"
    return [
        panel(
            "Balance",
            "Requests of the busiest server, as a share of the mean.",
            SERVER,
            (f"max({requests}) / avg({requests})", "busiest"),
            unit="percentunit",
        ),
        panel(
            "Space by bucket",
            "Share of its quota that a bucket takes.",
            SERVER,
            (
                f"sum by (bucket) (cache_used_bytes{asked}) / ({quota})",
                "{{bucket}}",
            ),
            unit="percentunit",
        ),
        panel(
            "Evicted",
            "Objects that made room for others.",
            SERVER,
            (f"sum by (bucket) (rate(cache_evicted_bytes_total{asked}[{RATE}]))", "{{bucket}}"),
            unit="Bps",
        ),
        panel(
            "Lost objects",
            "Objects whose file was not as it must be: a disk may be failing.",
            SERVER,
            (f"topk(20, increase(cache_lost_objects_total{asked}[1d])) > 0", "{{node}}"),
        ),
    ]
