"""Effects of changes to job templates on machines: nothing. Jobs are made of them when somebody
makes a job, and running jobs keep what they were made of.

Of Kubernetes' own rules that of ConfigMaps is narrowed: who reads these is known, people.
Sources: Kubeflow Trainer 2.2.0, pkg/runtime/framework/plugins/jobset/jobset.go (a JobSet that is
there and not suspended stays as it is), pkg/controller/clustertrainingruntime_controller.go.
"""

from components.effects.applying import rules
from components.effects.table import read_table

RULES = rules(*read_table(globals()).kinds)
"""These come before Kubernetes' own: of two rules for one field the earlier decides."""
