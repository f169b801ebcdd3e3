"""Effects of changes to job templates on machines: nothing. Jobs are made of them when somebody
makes a job, and running jobs keep what they were made of.
"""

from components.effects.applying import rules
from components.effects.table import read_kinds

RULES = rules(*read_kinds(globals()).kinds)
"""These come before Kubernetes' own: of two rules for one field the earlier decides."""
