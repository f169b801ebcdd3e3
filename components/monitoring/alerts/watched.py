"""The base of the other alerts: that there are metrics at all."""

from collections.abc import Iterator, Sequence

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
    return [
        *(_absent("WatchLost", _answers(job(site, each)), each) for each in VITAL),
        *(_absent("ExporterGone", _answers(job(site, each)), each) for each in BY_UP),
        *(
            _absent(
                "ExporterGone", recent(each.always) if each.always else _answers(each.job), each.job
            )
            for each in asked
        ),
        *_on_nodes(scrapes),
    ]


def _absent(name: str, sign: str, exporter: str) -> Alert:
    return TOLD.alert(name, up=sign, exporter=exporter)


def _answers(job_name: str) -> str:
    return f"{series('up', job_name)} == 1"


def _on_nodes(scrapes: Sequence[Scrape]) -> Iterator[Alert]:
    """Nodes that one alone of the programs is gone from."""
    known = {Exporter.NODE_EXPORTER.value: UPTIME}
    known |= {each.job: _answers(each.job) for each in scrapes if each.every_node}
    for exporter, there in known.items():
        yield TOLD.alert("NodeUnwatched", exporter=exporter, there=there)
