"""Effects of changes to network devices on hosts: how interfaces are divided (``policies.py``),
what else the SR-IOV operator is told (``operator.py``), and our device plugins (``plugins.py``)."""

from components.effects.rules import Rule
from components.network_devices.effects import operator, plugins, policies

RULES: list[Rule] = [*policies.RULES, *operator.RULES, *plugins.RULES]
"""The rules of this component; those of Kubernetes' kinds come after them."""
