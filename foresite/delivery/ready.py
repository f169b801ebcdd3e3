"""The readiness of a site to be applied: its API servers are asked, and its losses counted. Changes
nothing but, once acknowledged, the state's record of objects that a cluster has lost."""

import shutil
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from foresite.command import UsageError, count, few
from foresite.delivery.guard import Change, change, guard, needed_counts
from foresite.delivery.servers.apiserver import NoAnswerError
from foresite.delivery.servers.inventory import Look, look
from foresite.delivery.servers.probe import Asked, Need, contexts_of, kubectl_of, probe
from foresite.delivery.stack.engine import Engine, EngineError
from foresite.delivery.stack.live import expected_objects
from foresite.delivery.stack.register import forget
from foresite.delivery.stack.stated import Stated, stated_objects
from foresite.delivery.stack.statefile import folder
from preview.verdict.growth import size
from schemas.facts.site import Site

_SHOWN = 5
_COPIES = 12
"""Of all objects, in what Pulumi writes: inputs, outputs and the live object in each of the state,
its backup, and two lines of history (pulumi 3.255, backend/diy/state.go)."""
_SPARE = 1 << 20
"""Bytes besides."""
_DAMAGED = "failed to load checkpoint"


class Ready(NamedTuple):
    """The findings on a site before it is applied."""

    site: Site
    asked: list[Asked]
    change: Change
    looks: list[Look]

    @property
    def lost_objects(self) -> list[Stated]:
        """The applied objects that the clusters have lost."""
        return [each for found in self.looks for each in found.lost]

    def report_lines(self) -> Iterator[str]:
        """The questions that each server was asked, and those that none was asked, a line each."""
        yield from map(str, self.asked)
        for found in self.looks:
            if found.unseen:
                yield f"{found.context}: not looked at for what it has lost: {found.unseen}"
        if (lost := self.lost_objects) and not any(each.foreign for each in self.looks):
            number = count(len(lost), "object")
            yield f"{number} that the cluster has lost: {few(lost, _SHOWN)}"

    def guard(self, allow: Mapping[str, int]) -> None:
        """Raise UsageError for what would be lost, or grow, and is not named."""
        guard(self.site.name, self.change, self.looks, allow, ends=self._ends)

    @property
    def needed_counts(self) -> dict[str, int]:
        """The counts that have to be acknowledged for it."""
        return needed_counts(self.change, self.looks, ends=self._ends)

    @property
    def _ends(self) -> bool:
        return self.site.file.decommission is not None

    def forget_lost(self, engine: Engine) -> None:
        """Have the next ``up`` make anew what the clusters have lost. Raises UsageError."""
        if self._ends:
            return  # what is gone of a site that ends stays gone
        try:
            forget(engine, self.lost_objects)
        except EngineError as error:
            raise UsageError(f"{self.site.name}: nothing was changed: {error}") from None


def ready(engine: Engine, site: Site, *, writes: bool = False) -> Ready:
    """Ask and count. Raises UsageError where something is wrong; nothing was changed then."""
    if writes:
        _check_room(engine, site)
    try:
        state = stated_objects(engine)
        found = change(state, expected_objects(site))
        if found.more:
            # After a run that failed there is more to make, and that is no growth.
            last = engine.last_record()
            if last is None or last.result != "succeeded" or engine.was_interrupted():
                found = found._replace(more=0)
        asked = probe(engine, site, Need.WRITE if writes else Need.KINDS, found.gone)
        looks = look(kubectl_of(engine), site.name, contexts_of(site), state)
    except (EngineError, NoAnswerError) as error:
        damaged = _DAMAGED in str(error)
        fix = f"; the state is damaged: foresite recover {site.name}" if damaged else ""
        raise UsageError(f"{site.name}: nothing was changed: {error}{fix}") from None
    return Ready(site, asked, found, looks)


def _check_room(engine: Engine, site: Site) -> None:
    """Refuse a disk that the state does not fit on: Pulumi would leave half a file of it. Only of a
    backend that is a folder of this machine. Raises UsageError."""
    kept = folder(engine.environment)
    if kept is None:
        return
    needed = _COPIES * sum(map(size, expected_objects(site).values())) + _SPARE
    free = shutil.disk_usage(kept).free if kept.is_dir() else needed
    if free < needed:
        raise UsageError(
            f"{site.name}: nothing was changed: no space left on device for the state in {kept}: "
            f"{free >> 10} KiB are free, {needed >> 10} may be needed; make room, and run it again"
        )
