"""The base of the other alerts: that there are metrics at all."""

from collections.abc import Sequence

from components.making.promql import UPTIME, Exporter, job, recent, series
from components.making.told import Told
from components.making.watch import Alert, Scrape
from schemas.facts.site import Site

VITAL = (Exporter.KUBE_STATE_METRICS, Exporter.API_SERVER)
"""Without the first hardly any alert works; without the second nothing does."""
BY_UP = (Exporter.NODE_EXPORTER, Exporter.KUBELET)
"""The site's own exporters whose loss is no emergency."""
TOLD = Told(__file__)


def rules(site: Site, scrapes: Sequence[Scrape]) -> list[Alert]:
    """The alerts on exporters that are gone."""
    # Of one exporter with several jobs, each is asked for; several scrapes may share one.
    asked = sorted(
        {each.job: each for each in scrapes if each.exporter}.values(),
        key=lambda each: (bool(each.always), each.job != each.exporter),
    )
    signs = {each.job: recent(each.always) if each.always else _answers(each.job) for each in asked}
    own = {each.value: _answers(job(site, each)) for each in (*VITAL, *BY_UP)}
    # Nodes that one alone of the programs is gone from.
    nodes = {Exporter.NODE_EXPORTER.value: UPTIME}
    nodes |= {each.job: _answers(each.job) for each in scrapes if each.every_node}
    return [
        *(
            TOLD.alert("WatchLost" if name in VITAL else "ExporterGone", up=sign, exporter=name)
            for name, sign in own.items()
        ),
        *(TOLD.alert("ExporterGone", up=sign, exporter=name) for name, sign in signs.items()),
        *(TOLD.alert("NodeUnwatched", there=sign, exporter=name) for name, sign in nodes.items()),
    ]


def _answers(job_name: str) -> str:
    return f"{series('up', job_name)} == 1"
