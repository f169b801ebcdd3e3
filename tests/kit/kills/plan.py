"""The meaning of a seed: which run is killed, what of it, by which signal and when."""

import random
import signal
from dataclasses import dataclass, field

PLUGIN, HOST = "pulumi-resource-kubernetes", "pulumi-language-python"
ENGINE, EVERYTHING, API, ETCD = "the engine's group", "everything", "kube-apiserver", "etcd"
VICTIMS = (
    (ENGINE, signal.SIGTERM),
    (ENGINE, signal.SIGKILL),
    (EVERYTHING, signal.SIGKILL),
    (PLUGIN, signal.SIGTERM),
    (PLUGIN, signal.SIGKILL),
    (HOST, signal.SIGKILL),
    (API, signal.SIGKILL),
    (ETCD, signal.SIGKILL),
)
FIRST, CHANGE, BACK, AGAIN = "first up", "change", "change, taken back", "first up, then recover"
CASES = (FIRST, CHANGE, BACK, AGAIN)
WRITES = {FIRST: 20, CHANGE: 11, BACK: 4, AGAIN: 20}
"""Objects that are written in each case, but for the last ones: the run must not be over."""


@dataclass(frozen=True)
class Plan:
    """The plan of a seed: which run is killed, of what, when, and with checkpoints or without."""

    seed: int
    case: str
    victim: str
    signal: signal.Signals
    writes: int
    seconds: float
    checkpoints: bool
    at_once: int

    @classmethod
    def of(cls, seed: int) -> "Plan":
        """Every case meets every victim as seeds go up; moments are drawn."""
        draw = random.Random(seed)
        case = CASES[seed % len(CASES)]
        victim, number = VICTIMS[(seed // len(CASES) + seed) % len(VICTIMS)]
        early = draw.random() < 0.25
        writes = 0 if early else draw.randint(1, WRITES[case])
        seconds, keeps, at_once = (
            draw.uniform(0.3, 3.0),
            draw.random() < 0.4,
            draw.choice((1, 1, 4)),
        )
        return cls(seed, case, victim, number, writes, seconds, keeps, at_once)

    def __str__(self) -> str:
        when = f"after {self.writes} objects" if self.writes else f"after {self.seconds:.1f} s"
        keeps = "with checkpoints" if self.checkpoints else "without checkpoints"
        return (
            f"{self.case}: {self.victim} by {self.signal.name} {when}, {self.at_once} at a time, "
            f"{keeps}"
        )


@dataclass
class Outcome:
    """The outcome of a seed: the number of killed runs, and of the objects that the first of them
    had written by then. ``wrong`` is empty where all is as it should be."""

    seed: int
    plan: str
    hits: int = 0
    written: int = 0
    orphans: int = 0
    seconds: float = 0.0
    wrong: list[str] = field(default_factory=list)
