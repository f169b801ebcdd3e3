"""Effects of changes to fault detection and remediation on machines.

A detector that restarts drains nothing. What finds more faults, repairs more of them, or more at a
time, may reboot hosts: which, Git does not say, so it is unknown unless the nodes' last known state
is given. ``repairs.py`` says which hosts these are, ``thresholds.py`` whether a check finds more,
``readings.py`` what a node's condition tells; ``detector.py``, ``operations.py``,
``healthchecks.py``, ``settings.py`` and ``programs.py`` judge the objects.
"""

from components.effects import kinds
from components.effects.applying import rules
from components.effects.configuration import CONFIG_MAP
from components.effects.kubernetes import RULES as KUBERNETES
from components.effects.rules import narrow
from components.remediation.effects import detector, healthchecks, operations, programs, settings

_NARROWED = {
    kinds.DEPLOYMENT: programs.note_restarts,
    kinds.DAEMON_SET: detector.note_restarts,
    **dict.fromkeys(kinds.RIGHTS, programs.of_a_program),
}
RULES = [
    *operations.RULES,
    *healthchecks.RULES,
    *rules(CONFIG_MAP.narrowed(settings.judge_content).narrowed(detector.judge_checks)),
    *narrow(KUBERNETES, _NARROWED),
]
"""Of this component's objects; Kubernetes' own rules follow."""
