"""The object cache: what it answers, how evenly, and what it holds."""

from components.making.promql import RATE, by
from components.making.watch import Board, Panel, panel
from components.object_cache.names import CLUSTER, ENVOY, SERVER
from schemas.facts.site import Site
from schemas.model.object_cache import Cache

SERVERS = f'envoy_cluster_name="{CLUSTER}"'
"""The servers, as Envoy's statistics call them."""


def board(site: Site, cache: Cache) -> Board:
    """The dashboard of a site's cache."""
    panels = _answers(site)
    if cache.server.metrics_path is not None:
        panels += _servers(site)
    text = "Hits, errors and balance of the object cache."
    return Board("cache", "Object cache", text, tuple(panels), place=3)


def _answer_rate(site: Site, *more: str) -> str:
    where = by(site, ENVOY, SERVERS, *more)
    return f"sum(rate(envoy_cluster_upstream_rq{where}[{RATE}]))"


def _answers(site: Site) -> list[Panel]:
    hits = _answer_rate(site, 'envoy_response_code=~"200|206"')
    misses = _answer_rate(site, 'envoy_response_code="404"')
    failed = _answer_rate(site, 'envoy_response_code=~"5.."')
    answers = by(site, ENVOY, SERVERS)
    healthy, total = (f"envoy_cluster_membership_{each}{answers}" for each in ("healthy", "total"))
    return [
        panel(
            "Hits",
            "Share of reads that the cache answered. A miss costs a read of the origin.",
            (f"{hits} / ({hits} + {misses})", "hits"),
            unit="percentunit",
        ),
        panel(
            "Errors",
            "Share of answers that are failures; PFIO takes each for a miss.",
            (f"{failed} / {_answer_rate(site)}", "failures"),
            unit="percentunit",
        ),
        panel(
            "Answers",
            "By code: 401 and 403 are tokens and rights.",
            (
                f"sum by (envoy_response_code) (rate(envoy_cluster_upstream_rq{answers}[{RATE}]))",
                "{{envoy_response_code}}",
            ),
            unit="reqps",
        ),
        panel(
            "Servers in the table",
            "Fewest and most of all Envoys: all should have the same.",
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
            (f"max({requests}) / avg({requests})", "busiest"),
            unit="percentunit",
        ),
        panel(
            "Space by bucket",
            "Share of its quota that a bucket takes.",
            (
                f"sum by (bucket) (cache_used_bytes{asked}) / ({quota})",
                "{{bucket}}",
            ),
            unit="percentunit",
        ),
        panel(
            "Evicted",
            "Objects that made room for others.",
            (f"sum by (bucket) (rate(cache_evicted_bytes_total{asked}[{RATE}]))", "{{bucket}}"),
            unit="Bps",
        ),
        panel(
            "Lost objects",
            "Objects whose file was not as it must be: a disk may be failing.",
            (f"topk(20, increase(cache_lost_objects_total{asked}[1d])) > 0", "{{node}}"),
        ),
    ]
