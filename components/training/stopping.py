"""How a job ends and comes back: a gang goes as a whole, and returns as a whole.

The gang scheduler deletes all pods of a gang as soon as one of them is deleted, preempted or
evicted. What the Job controller makes of that depends on how each pod ends:

- A deleted pod ends with its container's exit code. Only the pod that was preempted has the
  condition DisruptionTarget; the others were just deleted, so for them only the code can say that
  it was no fault of theirs.
- That code is not 143 by itself: a process that handles no signals and runs as process 1 ignores
  SIGTERM and is killed (137, as if it had run out of memory); torchrun ends with 1; sshd with 0,
  which would count as a success. So ``SCRIPT`` runs the command and ends with 143 when told to.
- A worker whose neighbour is gone may fail before its own SIGTERM comes. So the script waits a
  little before it ends with an error.
"""

from components.making.manifest import Json, documents, fill
from components.making.told import Told

STOPPED = 143
"""128 and SIGTERM: the container was told to stop."""
GRACE_SECONDS = 60
"""From SIGTERM to the end: time to write a checkpoint."""
MARGIN_SECONDS = 5
"""Before that the script ends the command itself: a container that is killed has no code 143."""
LINGER_SECONDS = 15
"""Seconds that an error is held back: a gang's deletion takes as long to reach its last pod."""
RESTARTS = 3
"""Restarts of a JobSet whose own pods fail."""
LAUNCHER_RESTARTS = 10
"""The same with MPI: mpirun fails when its workers are stopped, and may do so before them."""
_RETURNING, _FAILING, _RESTARTING = documents(__file__)


def script(patience: int, linger: int) -> str:
    """A shell script that runs its arguments. On SIGTERM it tells them, and ends with 143 once they
    have ended, or after ``patience`` seconds; an error of theirs it holds back for ``linger``."""
    return Told(__file__).say("script", patience=patience, stopped=STOPPED, linger=linger)


SCRIPT = script(GRACE_SECONDS - MARGIN_SECONDS, LINGER_SECONDS)


def wrap(command: list[str]) -> list[str]:
    """The command, run by ``SCRIPT``."""
    return ["/bin/sh", "-c", SCRIPT, "job", *command]


def returning(pods: int) -> Json:
    """A plain Job's end: it makes stopped pods again, and fails with the first own failure."""
    found: Json = fill(_RETURNING, {"pods": pods, "stopped": STOPPED})
    return found


def failing(pods: int | None = None) -> Json:
    """How a Job of a JobSet ends: with the first pod that was stopped or failed."""
    count = {} if pods is None else {"parallelism": pods, "completions": pods}
    found: Json = fill(_FAILING, {"count": count, "stopped": STOPPED})
    return found


def restarting(restarts: int = RESTARTS) -> Json:
    """The failure policy of a JobSet: all of its Jobs start again; only faults are counted."""
    found: Json = fill(_RESTARTING, {"restarts": restarts})
    return found
