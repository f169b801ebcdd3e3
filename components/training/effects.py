"""Effects of changes to job templates on machines: nothing. Jobs are made of them when somebody
makes a job, and running jobs keep what they were made of.

Of Kubernetes' own rules that of ConfigMaps is narrowed: who reads these is known, people.
Sources: Kubeflow Trainer 2.2.0, pkg/runtime/framework/plugins/jobset/jobset.go (a JobSet that is
there and not suspended stays as it is), pkg/controller/clustertrainingruntime_controller.go.
"""

from components.effects.applying import Applier, Kind, rules
from components.effects.rules import Rule, harmless

BUILD = "Kubeflow Trainer 2.2.0, pkg/runtime/framework/plugins/jobset/jobset.go (Build)"
IN_USE = "Kubeflow Trainer 2.2.0, pkg/controller/clustertrainingruntime_controller.go"
EXAMPLES = "foresite, components/training/examples.py"

RUNTIME = Kind(
    "ClusterTrainingRuntime.trainer.kubeflow.org",
    harmless("TrainJobs may name it from now on", BUILD),
    harmless(
        "running jobs continue; while a TrainJob names it, ended ones too, it stays, and `pulumi "
        "up` waits for its end and fails after ten minutes",
        IN_USE,
    ),
    (
        (
            "spec",
            harmless(
                "TrainJobs that run stay as they are; those made later are made of it so, and "
                "those that wait suspended too",
                BUILD,
            ),
        ),
    ),
)
TEXTS = Kind(
    "ConfigMap",
    harmless("people read it, and no pod does", EXAMPLES),
    harmless("jobs that were made of it go on", EXAMPLES),
    (("data", harmless("people read it; jobs that were made of it stay as they are", EXAMPLES)),),
)

RULES: list[Rule] = [rule for kind in (RUNTIME, TEXTS) for rule in rules(kind, Applier.PULUMI)]
"""These come before Kubernetes' own: of two rules for one field the earlier decides."""
