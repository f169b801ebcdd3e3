"""The object cache: what it answers, how evenly, and what it holds."""

from components.making.promql import RATE, by
from components.making.told import Told
from components.making.watch import Board
from components.object_cache.names import CLUSTER, ENVOY, SERVER
from schemas.facts.site import Site
from schemas.model.object_cache import Cache

SERVERS = f'envoy_cluster_name="{CLUSTER}"'
"""The servers, as Envoy's statistics call them."""
TOLD = Told(__file__)


def board(site: Site, cache: Cache) -> Board:
    """The dashboard of a site's cache."""
    panels = TOLD.panels(
        "answers",
        asked=by(site, ENVOY, SERVERS),
        hits=_answer_rate(site, 'envoy_response_code=~"200|206"'),
        misses=_answer_rate(site, 'envoy_response_code="404"'),
        failed=_answer_rate(site, 'envoy_response_code=~"5.."'),
        every=_answer_rate(site),
    )
    if cache.server.metrics_path is not None:
        asked = by(site, SERVER)
        requests = f"sum by (node) (rate(cache_requests_total{asked}[{RATE}]))"
        panels += TOLD.panels("servers", asked=asked, requests=requests)
    return TOLD.board(panels)


def _answer_rate(site: Site, *more: str) -> str:
    where = by(site, ENVOY, SERVERS, *more)
    return f"sum(rate(envoy_cluster_upstream_rq{where}[{RATE}]))"
