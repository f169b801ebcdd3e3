"""Rules that hold in the site's clusters, whoever deploys: ours, then the site's own.

Each is a ValidatingAdmissionPolicy with its binding. What ours say is data (policies/cluster); here
they become objects of a site. The site's own stand in its file as CEL.
"""

from functools import lru_cache
from pathlib import Path

from components.admission_policies.names import OWN_SUFFIX, WHAT, WHY
from components.making.admission import in_force
from components.making.manifest import Json, Manifest, Target, annotate, filled, labels
from policies.cluster import Facts, binding, cluster_rules, object_name, policy
from schemas.facts.adopted import management_names
from schemas.facts.site import Site
from schemas.model.policies import CelRule
from schemas.model.vocabulary import Severity

COMPONENT = "admission-policies"
REMEDIATOR = "turns"
"""The account of the program that gives nodes with faults their turns (components/remediation)."""
RESETTER = "reboots"
"""The account of the Job that has a host's accelerators reset (components/remediation/job.py)."""
KUBERNETES_OWN = ("kube-system", "kube-public", "kube-node-lease")
"""Namespaces in which a mistake in a rule takes the cluster itself down; a rule of a site's own
holds there only where it says so."""


def objects(site: Site) -> list[Manifest]:
    """The policies of both clusters, each with its binding."""
    advisory = frozenset(each.value for each in site.file.policies.advisory)
    own = [each for rule in site.file.policies.cel for each in _own(site, rule)]
    return [*_ours(facts(site), advisory), *annotate(own)]


def facts(site: Site) -> Facts:
    """The facts of a site that the rules need."""
    remediation, accelerators = site.file.remediation, site.file.accelerators
    account = f"system:serviceaccount:{remediation.namespace}:" if remediation else ""
    resets = remediation is not None and remediation.reboot.reset_first
    operator = accelerators.gpu_operator if accelerators else None
    return Facts(
        site.name,
        remediator=f"{account}{REMEDIATOR}" if account else "",
        resetter=f"{account}{RESETTER}" if resets else "",
        operators=(operator.namespace,) if operator else (),
        namespace=management_names(site).namespace,
        cluster=management_names(site).cluster,
    )


@lru_cache(maxsize=4)  # both sides of a change have mostly the same
def _ours(facts: Facts, advisory: frozenset[str]) -> list[Manifest]:
    found: list[Manifest] = []
    for rule in cluster_rules(facts):
        name = object_name(rule.name, rule.cluster, facts.site)
        metadata = _metadata(facts.site, name, rule.what, rule.why)
        bound = binding(rule, advisory=rule.name in advisory)
        target = Target(rule.cluster)
        found += in_force(rule.name, metadata, policy(rule), bound, target=target)
    return annotate(found)


def _own(site: Site, rule: CelRule) -> list[Manifest]:
    mandatory = rule.severity is Severity.MANDATORY
    but = {"operator": "NotIn", "values": list(KUBERNETES_OWN)}
    chosen = {"operator": "In", "values": list(rule.namespaces)} if rule.namespaces else but
    spec, bound = filled(
        Path(__file__).with_name("own.yaml"),
        rules=[_match_rule(each) for each in rule.kinds],
        expression=rule.expression,
        message=f"{rule.what} ({rule.why})",
        actions=["Deny"] if mandatory else ["Warn", "Audit"],
        namespaces={"key": "kubernetes.io/metadata.name", **chosen},
    )
    metadata = _metadata(site.name, f"{rule.name}{OWN_SUFFIX}", rule.what, rule.why)
    return in_force(f"own/{rule.name}", metadata, spec, bound)


def _match_rule(kind: str) -> Json:
    """Writes of a kind as ``<group>/<version>/<plural>``; the core group has no name."""
    *group, version, resource = kind.split("/")
    return {
        "apiGroups": ["".join(group)],
        "apiVersions": [version],
        "operations": ["CREATE", "UPDATE"],
        "resources": [resource],
    }


def _metadata(site: str, name: str, what: str, why: str) -> Json:
    return {
        "name": name, "labels": labels(site, COMPONENT), "annotations": {WHAT: what, WHY: why},
    }  # fmt: skip
