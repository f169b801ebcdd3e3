"""Effects of changes to this component's objects on hosts: a rule for every field that it makes.

One module for each kind of object; ``anykind.py`` has what holds for all of them, ``concerned.py``
whom a change concerns, ``scale.py`` and ``versions.py`` what workers and control plane share. Each
rule names the code that it was read from, and where nobody knows, the rule says so.
"""

from components.effects.rules import Rule
from components.machines.effects import (
    addresses,
    cluster,
    controlplane,
    health,
    host_agent,
    hosts,
    templates,
    workers,
)

RULES: list[Rule] = [
    rule
    for module in (cluster, addresses, templates, controlplane, workers, health, hosts, host_agent)
    for rule in module.RULES
]
"""The rules of every kind that this component makes."""
