"""Every rule of ours, one file a domain."""

from policies.rule import Rule
from policies.rules import (
    accelerators,
    images,
    manifests,
    names,
    network,
    ownership,
    resources,
    scheduling,
    secrets,
    sizes,
    workload_security,
)

DOMAINS = {
    "workload security": workload_security.RULES,
    "manifests": manifests.RULES,
    "images": images.RULES,
    "resources and priorities": resources.RULES,
    "scheduling": scheduling.RULES,
    "accelerators": accelerators.RULES,
    "network exposure": network.RULES,
    "ownership and labels": ownership.RULES,
    "secrets": secrets.RULES,
    "names": names.RULES,
    "sizes": sizes.RULES,
}
"""The rules of each domain, in the order in which they are judged and listed."""

RULES: tuple[Rule, ...] = tuple(rule for rules in DOMAINS.values() for rule in rules)
"""All rules."""
