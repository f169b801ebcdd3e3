"""The judge: rules over plain Kubernetes objects, which share no code with what makes these.

Imports nothing else of Foresite. The same rules run in ``foresite check`` (offline), as a
CrossGuard pack in ``pulumi preview`` and ``up`` (policies/pack), and some of them in the cluster
itself as ValidatingAdmissionPolicies (policies/cluster). What a rule is written with is here at
hand: sites' own rules import it.
"""

from policies.rule import Found, Object, ObjectRule, Rule, Severity, SiteRule, Violation

__all__ = ["Found", "Object", "ObjectRule", "Rule", "Severity", "SiteRule", "Violation"]
