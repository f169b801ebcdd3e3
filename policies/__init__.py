"""The judge: rules over plain Kubernetes objects. It shares facts about Kubernetes with what makes
these objects, and no decision.

Imports nothing of Foresite but these facts, module by module. The same rules run in ``foresite
check`` (offline), as a CrossGuard pack in ``pulumi preview`` and ``up`` (policies/pack), and some
of them in the cluster itself as ValidatingAdmissionPolicies (policies/cluster). What a rule is
written with is here at hand: sites' own rules import it.
"""

from policies.rule import Found, Object, ObjectRule, Rule, Severity, SiteRule, Violation

__all__ = ["Found", "Object", "ObjectRule", "Rule", "Severity", "SiteRule", "Violation"]
