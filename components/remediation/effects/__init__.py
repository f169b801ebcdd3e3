"""Effects of changes to fault detection and remediation on machines.

A detector that restarts drains nothing. What finds more faults, repairs more of them, or more at a
time, may reboot hosts: which, Git does not say, so it is unknown unless the nodes' last known state
is given. ``repairs.py`` says which hosts these are, ``thresholds.py`` whether a check finds more,
``readings.py`` what a node's condition tells; ``detector.py``, ``operations.py``,
``healthchecks.py``, ``settings.py`` and ``programs.py`` judge the objects.
"""

from components.effects import kinds
from components.effects.applying import Applier, rules
from components.effects.configuration import CONFIGURATION
from components.effects.kubernetes import RULES as KUBERNETES
from components.effects.rules import Rule
from components.remediation.effects import healthchecks, operations
from components.remediation.effects.detector import add_check_effects
from components.remediation.effects.detector import add_restart_notes as of_detector
from components.remediation.effects.programs import add_restart_notes as of_program
from components.remediation.effects.programs import of_a_program
from components.remediation.effects.settings import add_content_effects as of_settings

_NARROWED = {
    kinds.DEPLOYMENT: of_program,
    kinds.DAEMON_SET: of_detector,
    **dict.fromkeys(kinds.RIGHTS, of_a_program),
}
_FILES = [
    kind._replace(
        added=of_settings(kind.added),
        gone=of_settings(kind.gone),
        fields=tuple((path, add_check_effects(of_settings(judge))) for path, judge in kind.fields),
        replaced=of_settings(kind.replaced or kind.gone),
    )
    for kind in CONFIGURATION
    if kind.name == "ConfigMap"
]
RULES: list[Rule] = [
    *operations.RULES,
    *healthchecks.RULES,
    *(rule for kind in _FILES for rule in rules(kind, Applier.PULUMI)),
    *(
        rule._replace(judge=_NARROWED[rule.kind](rule.judge))
        for rule in KUBERNETES
        if rule.kind in _NARROWED
    ),
]
"""Of this component's objects; Kubernetes' own rules follow."""
