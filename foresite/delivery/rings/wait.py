"""Waiting for the sites of a ring: until all are healthy and have been so for the soak, one has
failed or is late, or the time of this run is over. Holds no lock, and leaves nothing behind."""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from http.client import HTTPException

from components.engines.fleet import KINDS
from components.machines.fleet import from_site
from foresite.command import UsageError, count, few
from foresite.delivery.rings.health import Health, Verdict, Wanted, health
from foresite.delivery.rings.look import firing, has_rules, seen
from foresite.delivery.servers.apiserver import ApiServer, Kubectl, NoAnswerError, RefusedError
from foresite.delivery.stack.live import expected_objects
from schemas.facts.site import Site
from schemas.kubernetes.grouping import group_by_key
from schemas.model.fleet import Rings

LOOK_SECONDS = 15.0
"""Seconds between two looks at the sites of a ring."""
_WATCHED = 300.0
"""Seconds of a soak that one run sees itself: of what came and went while nobody looked, nothing
is known. Without a soak it is two looks, as one may see counts of before (health.py)."""
_SAY_SECONDS = 300.0
"""Seconds after which a site's progress is said again, though nothing has moved."""
_LOOKS = 8
"""Management clusters that are looked at at a time."""


class Waiting:
    """A site while its ring waits for it; times are in seconds of the epoch. ``applied`` is when
    its update began, and ``changed`` when the first one after the commit that passed did: alerts
    before that are not of a change that waits."""

    health = Health(Verdict.WAITING)
    _ruled, _said = False, (object(), 0.0)
    _well, _disturbed, _end, _late = 0.0, 0.0, 0.0, float("inf")

    def __init__(
        self, site: Site, rings: Rings, kubectl: Kubectl | None, applied: float, changed: float
    ) -> None:
        self.site, self.moved, self._bound = site, time.time(), 60.0 * rings.late_minutes
        self.kubectl, self._applied, self._changed = kubectl, applied, changed
        fleet = from_site(site)
        turns = (60.0 * g.pace.install_minutes + g.pace.drain_seconds for g in fleet.groups)
        self._turn, self._at_once = max(turns, default=0.0), fleet.at_once
        owners = {group.owner[1]: group for group in fleet.groups}
        made = [e for e in expected_objects(site).values() if e.group_kind in KINDS["site"]]
        self._wanted = [Wanted(each, owners.get(each.name)) for each in made]

    def look(self, server: ApiServer | Exception, sharing: int = 1) -> None:
        """Look at it; who is late has failed. So many sites share their cluster's limit."""
        before, now, found = self.health, time.time(), self._found(server, sharing)
        if found.of and not self._end:
            self._end = now + 3600 * found.install
            self._late = self._end + 3600 * found.drain + self._bound
        self.moved = now if found.done > before.done else self.moved
        if found.verdict is Verdict.HEALTHY:  # what comes after is another rollout, or a repair
            self._well, self._end, self._late = now, 0.0, float("inf")
        if found.verdict is Verdict.WAITING:
            self._disturbed = now
            if not found.of:  # it was not seen: what is known of it stands
                found = found._replace(done=before.done, of=before.of)
            if now > min(self._late, max(self.moved, self._well) + self._turn + self._bound):
                found = found._replace(verdict=Verdict.FAILED, why=f"late: {found.why}")
        self.health = found._replace(since=max(found.since, self._disturbed))

    def _found(self, server: ApiServer | Exception, sharing: int = 1) -> Health:
        """Its health now. A server that does not answer is no healthy site."""
        file, name = self.site.file, self.site.name
        try:
            if isinstance(server, Exception):
                raise server
            now, limit = seen(self.site, server, self._applied), max(1, self._at_once // sharing)
            found = health(self._wanted, now, limit)
        except (NoAnswerError, RefusedError, OSError) as error:
            # Nobody is let in, or there is no kubectl: that does not pass by itself.
            no_kubectl = isinstance(error, FileNotFoundError)
            closed = no_kubectl or getattr(error, "status", 0) in (401, 403)
            why = f"{file.management} does not say: {error}"
            return Health(Verdict.FAILED if closed else Verdict.WAITING, why)
        asked = file.monitoring and file.monitoring.prometheus_url
        if found.verdict or not asked:
            return found
        try:
            before, since = firing(asked.rstrip("/"), name, self._changed)
            self._ruled = self._ruled or has_rules(asked.rstrip("/"), name)
        except (OSError, HTTPException, ValueError, UsageError) as error:
            why = f"Prometheus does not say which alerts fire: {error}"
            # What is wrong with a variable of this run does not pass by itself.
            worst = Verdict.FAILED if isinstance(error, UsageError) else Verdict.WAITING
            return found._replace(verdict=worst, why=why)
        notes = *found.notes, *(f"fires since before it was changed: {each}" for each in before)
        why = f"critical alerts fire: {few(since, 3)}" if since else ""
        return found._replace(verdict=Verdict(bool(since)), why=why, notes=notes)

    def news(self) -> str:
        """A line on it where something has moved, or nobody has said anything for a while."""
        now, found = time.time(), self.health
        waits, state = found.verdict is Verdict.WAITING, (found.verdict, found.done)
        if state == self._said[0] and not (waits and now > self._said[1] + _SAY_SECONDS):
            return ""
        self._said = state, now
        line = f"{self.site.name}: {found.done} of {count(found.of, 'machine')}"
        line += f", expected by {clock(self._end)}" if waits and self._end > now else ""
        line += f", late after {clock(self._late)}" if waits and self._end else ""
        why = [found.why] if found.why else []
        return "; ".join([f"{line}, {found.verdict.name.lower()}", *why, *found.notes])


def wait(
    sites: Sequence[Waiting], rings: Rings, until: float, tell: Callable[[str], object]
) -> Verdict:
    """Wait for the sites of a ring until a time: healthy, and for the soak; still waiting; or
    failed."""
    watched, groups = 0.0, group_by_key((each.site.file.management, each) for each in sites)
    while True:
        with ThreadPoolExecutor(_LOOKS) as pool:
            list(pool.map(_look, groups.values()))
        worst = max(each.health.verdict for each in sites)
        for line in filter(None, (each.news() for each in sites)):
            tell(line)
        if worst is Verdict.FAILED:
            return worst
        now, rest = time.time(), LOOK_SECONDS
        if worst is Verdict.HEALTHY:
            soak, begins = 60 * rings.soak_minutes, not watched
            watched = watched or now
            passed = max(max(each.health.since for each in sites) + soak,
                         watched + max(min(soak, _WATCHED), LOOK_SECONDS))  # fmt: skip
            if now >= passed:
                return worst
            if begins:
                tell(f"healthy: the next ring begins at {clock(passed)} if it stays so")
            rest = min(rest, passed - now)
        watched = watched if worst is Verdict.HEALTHY else 0.0
        if now + rest > until:
            return Verdict.WAITING
        time.sleep(rest)


def _look(sites: Sequence[Waiting]) -> None:
    """Look at the sites of a management cluster with one login, and wait for it once if it is away.
    The Bare Metal Operator has one limit for all of them: they take turns."""
    kubectl, context = sites[0].kubectl, sites[0].site.file.management
    try:
        if kubectl is None:
            raise FileNotFoundError("there is no kubectl to ask it")
        with ApiServer(kubectl, context) as server:
            for each in sites:
                each.look(server, len(sites))
    except (NoAnswerError, OSError) as error:
        for each in sites:
            each.look(error)
    moved = max(each.moved for each in sites)
    for each in sites:
        each.moved = moved


def clock(seconds: float) -> str:
    """A time for a person."""
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M} UTC"
