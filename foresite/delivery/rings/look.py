"""One look at a site: its objects on the management cluster, and its alerts in Prometheus."""

import os
import time
from collections.abc import Iterator
from datetime import datetime
from http.client import HTTPException
from urllib.parse import quote, urlsplit

from components.machines.effects import kinds
from components.machines.fleet import from_site
from components.making.manifest import Json
from components.making.watch import Severity
from components.monitoring.routes import SITE_LABEL
from foresite.command import UsageError, few
from foresite.delivery.rings.health import (
    CLOCKS,
    CLUSTER,
    CONTROL_PLANE,
    DEPLOYMENT,
    Health,
    Seen,
    Verdict,
    Wanted,
    health,
)
from foresite.delivery.servers.apiserver import ApiServer, Kubectl, NoAnswerError, RefusedError
from foresite.delivery.stack.live import expected_objects
from foresite.https import ask, server_url, token_of
from schemas.facts.adopted import management_names
from schemas.facts.site import Site
from schemas.kubernetes.bodies import items, mapping

VARIABLE, SERVERS = "FORESITE_PROMETHEUS_TOKEN", "FORESITE_PROMETHEUS_URL"
_MOST, _PARTS = 500, 40
"""Objects of a kind in one answer, and answers; of more nothing is said."""
_ANSWER_BYTES, _ANSWER_SECONDS = 8 << 20, 15.0
_CORE = "cluster.x-k8s.io/v1beta2"
_KINDS = {"Cluster.cluster.x-k8s.io", kinds.CONTROL_PLANE, kinds.DEPLOYMENT}


class Watched:
    """A site whose ring waits for it; ``applied`` is when its update began, and ``changed`` when
    the first one after the commit that passed did, in seconds of the epoch: alerts before that are
    not of a change that waits. ``beside``: the sites of the ring on its management cluster, which
    share its limit. ``turn`` are the seconds that one machine takes at most."""

    def __init__(
        self,
        site: Site,
        kubectl: Kubectl | None,
        applied: float,
        changed: float = 0.0,
        beside: int = 1,
    ) -> None:
        self.site, self._kubectl, self._applied, self._changed = site, kubectl, applied, changed
        self._ruled, fleet = False, from_site(site)
        paces = [each.pace for each in fleet.groups]
        self.turn = max((60.0 * p.install_minutes + p.drain_seconds for p in paces), default=0.0)
        owners = {group.owner[1]: group for group in fleet.groups}
        made = [each for each in expected_objects(site).values() if each.group_kind in _KINDS]
        self._wanted = [Wanted(each, owners.get(each.name)) for each in made]
        self._limit = max(1, fleet.at_once // beside)

    def look(self) -> Health:
        """The health of the site now. A server that does not answer is no healthy site."""
        try:
            found = health(self._wanted, self._seen(), self._limit)
        except (NoAnswerError, RefusedError, OSError) as error:
            why = f"{self.site.file.management} does not say: {error}"
            # Nobody is let in, or there is no kubectl: that does not pass by itself.
            closed = isinstance(error, FileNotFoundError) or getattr(error, "status", 0) in (
                401,
                403,
            )
            return Health(Verdict.FAILED if closed else Verdict.WAITING, why)
        monitoring, name = self.site.file.monitoring, self.site.name
        asked = monitoring.prometheus_url if monitoring else None
        if asked is None or found.verdict is not Verdict.HEALTHY:
            return found
        try:
            before, since = _firing(asked.rstrip("/"), name, self._changed)
            if not (self._ruled or _ruled(asked.rstrip("/"), name)):
                raise ValueError(f"it has no alerting rule with the label {SITE_LABEL}={name}")
            self._ruled = True
        except (OSError, HTTPException, ValueError, UsageError) as error:
            why = f"Prometheus does not say which alerts fire: {error}"
            return found._replace(verdict=Verdict.WAITING, why=why)
        notes = *found.notes, *(f"fires since before it was changed: {each}" for each in before)
        why = f"critical alerts fire: {few(since, 3)}" if since else ""
        return found._replace(verdict=Verdict(bool(since)), why=why, notes=notes)

    def _seen(self) -> Seen:
        if self._kubectl is None:
            raise FileNotFoundError("there is no kubectl to ask it")
        names, now = management_names(self.site), time.time()
        mine = f"namespaces/{names.namespace}"
        label = f"labelSelector=cluster.x-k8s.io/cluster-name={quote(names.cluster)}"
        control = f"controlplane.{_CORE}/{mine}/kubeadmcontrolplanes/{names.control_plane}"
        with ApiServer(self._kubectl, self.site.file.management) as server:
            cluster = server.get(f"/apis/{_CORE}/{mine}/clusters/{names.cluster}")
            found = {(CLUSTER, names.cluster): cluster}
            found[CONTROL_PLANE, names.control_plane] = server.get(f"/apis/{control}")
            for each in _list(server, f"{_CORE}/{mine}/machinedeployments", label):
                found[DEPLOYMENT, str(mapping(each, "metadata").get("name"))] = each
            sets = [*_list(server, f"{_CORE}/{mine}/machinesets", label)]
            ahead = server.ahead or 0.0
        there = {key: each for key, each in found.items() if each}
        return Seen(there, self._applied, now, sets, ahead)


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


def _is_for(url: str) -> bool:
    """True if the token is for this server: Git says where to ask, and never where a token goes."""
    if not (servers := os.environ.get(SERVERS, "").split()):
        raise UsageError(f"{VARIABLE} is set, and {SERVERS} does not say for which server it is")
    origins = {urlsplit(server_url(SERVERS, each))[:2] for each in servers}
    return urlsplit(url)[:2] in origins


def _asked(url: str, what: str, part: str) -> list[Json]:
    """A list of what Prometheus says. Raises OSError, HTTPException, ValueError and UsageError."""
    headers = {}
    if os.environ.get(VARIABLE) and _is_for(url):
        headers["Authorization"] = f"Bearer {token_of(VARIABLE, 'set it, or unset it')}"
    answer = ask(f"{url}/api/v1/{what}", headers, _ANSWER_BYTES, _ANSWER_SECONDS, direct=False)
    data = mapping(answer, "data") if isinstance(answer, dict) else {}
    if not isinstance(data.get(part), list) or answer.get("status") != "success":
        raise ValueError("its answer is none of Prometheus' API")
    return items(data, part)


def _ruled(url: str, site: str) -> bool:
    """True if Prometheus has a rule of this site: without, no alert would ever fire."""
    groups = _asked(url, "rules?type=alert", "groups")
    labels = (mapping(rule, "labels") for group in groups for rule in items(group, "rules"))
    return any(each.get(SITE_LABEL) == site for each in labels)


def _firing(url: str, site: str, changed: float) -> tuple[list[str], list[str]]:
    """The site's own critical alerts that fire: since before it was changed, and since then."""
    found: tuple[list[str], list[str]] = [], []
    for each in _asked(url, "alerts", "alerts"):
        labels = mapping(each, "labels")
        about = labels.get(SITE_LABEL), labels.get("severity"), each.get("state")
        if about == (site, Severity.CRITICAL.value, "firing"):
            since = datetime.fromisoformat(str(each.get("activeAt"))).timestamp()
            which = [f"{k}={labels[k]}" for k in ("instance", "node", "pool") if k in labels]
            found[since >= changed - CLOCKS].append(
                " ".join([str(labels.get("alertname")), *which])
            )
    return found
