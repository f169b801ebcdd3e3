"""Effects of changes to network devices on hosts: a rule for every kind that Foresite writes.

``policies.py`` judges how interfaces are divided, ``operator.py`` what else the SR-IOV operator is
told, ``plugins.py`` the device plugins that Foresite runs itself.
"""

from components.effects.rules import Rule
from components.network_devices.effects import operator, plugins, policies

RULES: list[Rule] = [*policies.RULES, *operator.RULES, *plugins.RULES]
"""The rules of this component; those of Kubernetes' kinds come after them."""
