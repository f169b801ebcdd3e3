"""Effects of changes to the rights of people: no machine and no pod notices.

Programs have accounts of their own, which no role of people is bound to. A request that a person
may no longer make is refused from the next one on; a running exec or log stream ends by itself.

Source: Kubernetes 1.34, plugin/pkg/auth/authorizer/rbac/rbac.go.
"""

from components.effects import kinds
from components.effects.access import RBAC, RBAC_VALIDATION
from components.effects.applying import Applier, Fixed, Kind, rules
from components.effects.rules import Rule, harmless

GIVEN = harmless("people get rights; nothing that runs is touched", RBAC)
TAKEN = harmless(
    "people lose rights from their next request on; their pods and jobs continue", RBAC
)
CHANGED = harmless("people may do other things from their next request on", RBAC)
_REF = Fixed("roleRef", replaces=True, refuses=True, source=RBAC_VALIDATION)

KINDS = (
    Kind(kinds.CLUSTER_ROLE, GIVEN, TAKEN, (("rules", CHANGED),)),
    Kind(kinds.ROLE_BINDING, GIVEN, TAKEN, (("subjects", CHANGED),), (_REF,)),
    Kind(kinds.CLUSTER_ROLE_BINDING, GIVEN, TAKEN, (("subjects", CHANGED),), (_REF,)),
)
RULES: list[Rule] = [each for kind in KINDS for each in rules(kind, Applier.PULUMI)]
"""For the kinds of this component; Kubernetes' rules come behind them."""
