"""One look at a site: its objects on the management cluster, and its alerts in Prometheus."""

import os
import time
from collections.abc import Iterator
from datetime import datetime
from urllib.parse import quote, urlsplit

from components.making.manifest import Json
from components.making.watch import Severity
from components.monitoring.routes import SITE_LABEL
from foresite.command import UsageError
from foresite.delivery.rings.health import CLOCKS, Seen
from foresite.delivery.servers.apiserver import ApiServer, NoAnswerError
from foresite.https import ask, server_url, token_of
from schemas.facts.adopted import management_names
from schemas.facts.site import Site
from schemas.kubernetes.bodies import items, mapping

VARIABLE, SERVERS = "FORESITE_PROMETHEUS_TOKEN", "FORESITE_PROMETHEUS_URL"
_MOST, _PARTS = 500, 40
"""Objects of a kind in one answer, and answers; of more nothing is said."""
_ANSWER_BYTES, _ANSWER_SECONDS = 8 << 20, 15.0
_CORE = "cluster.x-k8s.io/v1beta2"


def seen(site: Site, server: ApiServer, applied: float) -> Seen:
    """A site's objects now. Raises NoAnswerError and RefusedError."""
    names, now = management_names(site), time.time()
    mine = f"namespaces/{names.namespace}"
    label = f"labelSelector=cluster.x-k8s.io/cluster-name={quote(names.cluster)}"
    control = f"controlplane.{_CORE}/{mine}/kubeadmcontrolplanes/{names.control_plane}"
    found = [server.get(f"/apis/{_CORE}/{mine}/clusters/{names.cluster}") or {}]
    found += [server.get(f"/apis/{control}") or {}]
    found += _list(server, f"{_CORE}/{mine}/machinedeployments", label)
    sets = [*_list(server, f"{_CORE}/{mine}/machinesets", label)]
    there = {(str(e.get("kind")), str(mapping(e, "metadata").get("name"))): e for e in found}
    return Seen(there, applied, now, sets, server.ahead or 0.0)


def _list(server: ApiServer, path: str, query: str) -> Iterator[Json]:
    """The objects of a list, part by part."""
    more = ""
    for _ in range(_PARTS):
        answer = server.get(f"/apis/{path}?limit={_MOST}&{query}{more}") or {}
        yield from items(answer, "items")
        if not (token := mapping(answer, "metadata").get("continue")):
            return
        more = f"&continue={quote(str(token), safe='')}"
    raise NoAnswerError(f"more than {_PARTS * _MOST} {path.rpartition('/')[2]}")


def _asked(url: str, what: str, part: str) -> list[Json]:
    """A list of what Prometheus says. Raises OSError, HTTPException, ValueError and UsageError."""
    headers = {}
    if os.environ.get(VARIABLE):  # Git says where to ask, and never where a token goes
        if not (servers := os.environ.get(SERVERS, "").split()):
            fix = "set that one to the server that may have it, such as https://prometheus.example"
            raise UsageError(f"{VARIABLE} is set, and {SERVERS} does not say for whom; {fix}")
        if urlsplit(url)[:2] in {urlsplit(server_url(SERVERS, each))[:2] for each in servers}:
            headers["Authorization"] = f"Bearer {token_of(VARIABLE, 'set it, or unset it')}"
    answer = ask(f"{url}/api/v1/{what}", headers, _ANSWER_BYTES, _ANSWER_SECONDS, direct=False)
    data = mapping(answer, "data") if isinstance(answer, dict) else {}
    if not isinstance(data.get(part), list) or answer.get("status") != "success":
        raise ValueError("its answer is none of Prometheus' API")
    return items(data, part)


def has_rules(url: str, site: str) -> bool:
    """True: Prometheus has an alerting rule of the site. Raises ValueError without, as then none
    would ever fire, and as ``firing``."""
    groups = _asked(url, "rules?type=alert", "groups")
    labels = (mapping(rule, "labels") for group in groups for rule in items(group, "rules"))
    if any(each.get(SITE_LABEL) == site for each in labels):
        return True
    raise ValueError(f"it has no alerting rule with the label {SITE_LABEL}={site}")


def firing(url: str, site: str, changed: float) -> tuple[list[str], list[str]]:
    """The site's own critical alerts that fire: since before it was changed, and since then. Raises
    OSError, HTTPException, ValueError and UsageError."""
    found: tuple[list[str], list[str]] = [], []
    for each in _asked(url, "alerts", "alerts"):
        labels = mapping(each, "labels")
        about = labels.get(SITE_LABEL), labels.get("severity"), each.get("state")
        if about == (site, Severity.CRITICAL.value, "firing"):
            since = datetime.fromisoformat(str(each.get("activeAt"))).timestamp()
            which = [f"{k}={labels[k]}" for k in ("instance", "node", "pool") if k in labels]
            named = " ".join([str(labels.get("alertname")), *which])
            found[since >= changed - CLOCKS].append(named)
    return found
