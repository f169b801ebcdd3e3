"""The scrapes, alerts and panels of faults and repairs."""

from functools import cache
from pathlib import Path

import yaml

from components.making.faults import DETECTOR
from components.making.manifest import Json
from components.making.watch import Group, Watched, program
from components.remediation import controller, detector
from components.remediation.names import CONTROLLER, TURNS
from components.remediation.program import METRICS_PORT
from components.remediation.program import NAME as DEVICE_TAINTS
from components.remediation.watch import alerts
from schemas.facts.site import Site
from schemas.model.vocabulary import RemediatorKind


def watch(site: Site) -> Watched:
    """The data from which monitoring renders faults and repairs; nothing where no detector runs."""
    remediation, monitoring = site.file.remediation, site.file.monitoring
    if remediation is None or monitoring is None:
        return Watched()
    group = Group("repairs", alerts.rules(site, remediation, monitoring.thresholds), place=5)
    kinds = {remediator.kind for remediator in remediation.healers}
    operated = RemediatorKind.NODE_OPERATION_CONTROLLER in kinds
    scrapes = [
        program(DETECTOR, remediation.namespace, detector.METRICS_PORT)._replace(
            every_node=True, place=0
        )
    ]
    if operated:
        own = program(CONTROLLER, remediation.namespace, controller.METRICS_PORT)
        scrapes.append(own._replace(place=0))
        scrapes.append(program(TURNS, remediation.namespace, METRICS_PORT))
    if any(site.taints_devices(pool) for pool in site.file.pools):
        scrapes.append(program(DEVICE_TAINTS, remediation.namespace, METRICS_PORT))
    resources = custom_resources() if operated else []
    return Watched(scrapes, [group], [alerts.board(site, operated=operated)], resources)


@cache
def custom_resources() -> list[Json]:
    """Node remediations and operations, as entries of spec.resources."""
    text = Path(__file__).with_name("resources.yaml").read_text("utf-8")
    found: list[Json] = yaml.load(text, Loader=yaml.CSafeLoader)
    return found
