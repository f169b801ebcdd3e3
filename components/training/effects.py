"""Effects of changes to job templates on machines: none. Running jobs stay as they were made."""

from components.effects.applying import rules
from components.effects.table import read_kinds

RULES = rules(*read_kinds(globals()).kinds)
"""These come before Kubernetes' own: of two rules for one field the earlier decides."""
