"""The settings of a site, from the JSON of its ConfigMap; ValueError where it is odd."""

from typing import NamedTuple

from pydantic import BaseModel, ConfigDict, PositiveInt


class Repair(NamedTuple):
    """A fault that is repaired, the condition that reports it, and by whom; ``beyond``: only where
    more devices of the node are bad, as fewer are taken out of use by themselves."""

    fault: str
    condition: str
    remediator: str
    beyond: int = 0


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True)


class Pool(_Part):
    """A pool of nodes with remediators."""

    limits: dict[str, PositiveInt] = {}
    """Nodes that may have a repair slot at a time, by remediator."""
    repairs: tuple[Repair, ...] = ()
    """In the order in which a node's faults are repaired."""
    by_number: tuple[Repair, ...] = ()
    """After them, those with a number of devices. A program that knows no number ignores the key:
    it would repair hosts with one bad device."""

    by_rack: bool = False
    """True if a rack is an NVLink domain, so that a repair ends the jobs across it: no repair
    begins in a rack while another one has some."""

    def of(self, fault: str) -> Repair | None:
        """The repair of a fault."""
        every = (*self.repairs, *self.by_number)
        return next((each for each in every if each.fault == fault), None)


class Settings(_Part):
    """What bounds repairs. Times are seconds."""

    attempts: PositiveInt
    """Reboots of a node within the window, or half its slots; then quarantine."""
    window: PositiveInt
    verdict: PositiveInt
    """From the request of a reboot until the fault must be gone."""
    percent: PositiveInt
    """Share of a pool's nodes with a fault beyond which no repair begins."""
    control_plane: tuple[str, int] = ("", 0)
    """The pool of the control plane, and its number of nodes."""
    pools: dict[str, Pool]
