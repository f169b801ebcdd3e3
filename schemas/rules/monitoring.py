"""Rules on monitoring: every alert has somebody who gets it, and says something when it comes.

Sources: Alertmanager 0.28 (config/config.go, receivers of routes; config/notifiers.go: Slack's
channel may be left out, as an incoming web hook has its own), Kubernetes 1.34
(pkg/apis/core/validation, keys of Secrets).
"""

from collections.abc import Iterator

from schemas.facts.site import Site
from schemas.kubernetes.node_labels import is_own
from schemas.model.monitoring import Monitoring
from schemas.model.remediation import Remediation
from schemas.rules.finding import Finding, Path, say
from schemas.rules.remediation import has_remediator

_PLACE: Path = ("monitoring",)
_DRAIN_SECONDS = 300
"""Least seconds of a repair besides the reboot: a drain is checked once a minute, twice
where there are pods (pfnet-research/node-operation-controller 0ac94deb, DrainInterval)."""


def receivers(monitoring: Monitoring) -> Iterator[Finding]:
    """Each receiver is used."""
    used = {monitoring.routes.critical, monitoring.routes.warning}
    for index, receiver in enumerate(monitoring.receivers):
        if receiver.name not in used:
            yield say("receiver-unused", (*_PLACE, "receivers", index, "name"), receiver)


def monitoring_labels(monitoring: Monitoring) -> Iterator[Finding]:
    """Labels by which others choose objects are none of Foresite's own."""
    named = [((*_PLACE, "labels", key), key, True) for key in monitoring.labels]
    if monitoring.dashboards_label:
        named.append(((*_PLACE, "dashboards_label"), monitoring.dashboards_label, False))
    for place, key, is_key in named:
        if is_own(key) or key == "app.kubernetes.io/managed-by":
            yield say("label-of-foresite", place, key, key=is_key)


def thresholds_used(site: Site, monitoring: Monitoring) -> Iterator[Finding]:
    """A threshold that is written is one of an alert that the site has."""
    backends = site.scheduling.backends
    gangs = any(each.scheduler is not None and each.scheduler.gang for each in backends)
    cached = (site.file.cache is not None, "the site has no cache")
    there = {
        "gang_minutes": (gangs, "no scheduler of the site has gangs"),
        "repair_minutes": (has_remediator(site), "the site has no remediator"),
    } | dict.fromkeys(("cache_hit_percent", "cache_error_percent", "cache_imbalance"), cached)
    for name, (used, why) in there.items():
        if not used and name in monitoring.thresholds.model_fields_set:
            yield say("threshold-unused", (*_PLACE, "thresholds", name), why, name)


def repair_alert(site: Site, monitoring: Monitoring, remediation: Remediation) -> Iterator[Finding]:
    """The alert on repairs that take too long does not come while one may still help."""
    if not has_remediator(site):
        return
    takes = remediation.reboot.timeout_seconds
    needed = -(-(takes + _DRAIN_SECONDS) // 60)
    if monitoring.thresholds.repair_minutes >= needed:
        return
    written = "repair_minutes" in monitoring.thresholds.model_fields_set
    place: Path = ("remediation", "reboot", "timeout_seconds")
    fix = f"add repair_minutes: {needed} to monitoring.thresholds, or lower this"
    if written:
        place = (*_PLACE, "thresholds", "repair_minutes")
        fix = f"write {needed} or more, or lower remediation.reboot.timeout_seconds"
    yield say("repair-alert-too-early", place, takes, monitoring, fix)
