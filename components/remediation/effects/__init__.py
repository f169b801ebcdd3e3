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
from components.remediation.effects import healthchecks, operations
from components.remediation.effects.detector import judge_checks
from components.remediation.effects.detector import note_restarts as of_detector
from components.remediation.effects.programs import note_restarts as of_program
from components.remediation.effects.programs import of_a_program
from components.remediation.effects.settings import judge_content as of_settings

_NARROWED = {
    kinds.DEPLOYMENT: of_program,
    kinds.DAEMON_SET: of_detector,
    **dict.fromkeys(kinds.RIGHTS, of_a_program),
}
RULES = [
    *operations.RULES,
    *healthchecks.RULES,
    *rules(CONFIG_MAP.narrowed(of_settings).narrowed(judge_checks)),
    *narrow(KUBERNETES, _NARROWED),
]
"""Of this component's objects; Kubernetes' own rules follow."""
