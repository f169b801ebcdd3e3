"""Effects of changes to the component's own kinds; Kubernetes' have rules of their own. A device
plugin is a DaemonSet: its pods restart, jobs keep their devices, and for that moment nobody new
gets one; ``plugins.py`` judges devices that get another name."""

from components.accelerators.effects.asking import TABLE as ASKING
from components.accelerators.effects.operator import KINDS as OPERATOR
from components.accelerators.effects.plugins import RULES as PLUGINS
from components.effects.applying import rules

RULES = [*rules(*ASKING.kinds, *OPERATOR), *PLUGINS]
"""They come before Kubernetes' own: the policies and plugins here are known, others are not."""
