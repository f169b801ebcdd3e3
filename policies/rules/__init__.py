"""Every rule of ours: the checks are here, one file a domain; rules.toml has the rest of a rule."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from policies.rule import ObjectRule, OfObject, OfSite, Rule, Severity, SiteRule
from policies.rules import (
    accelerators,
    access,
    disruptions,
    images,
    manifests,
    names,
    network,
    ownership,
    pod_host,
    pod_rights,
    resources,
    scheduling,
    secrets,
    sizes,
    workload_security,
)

TEXTS = Path(__file__).parent.parent / "rules.toml"
MODULES = (
    pod_rights, pod_host, workload_security, manifests, images, resources, scheduling, disruptions,
    accelerators, network, ownership, access, secrets, names, sizes,
)  # fmt: skip
"""Where the checks are."""
_MODULE_OF = {name: module for module in MODULES for name in module.RULES}


def _rule(name: str, said: Mapping[str, str]) -> Rule:
    module = _MODULE_OF[name]
    check = module.RULES[name]
    what, fix = (said.get(text, "").format_map(vars(module)) for text in ("what", "fix"))
    texts = (name, Severity(said["severity"]), what, said["why"], said["source"])
    if isinstance(check, OfSite):
        return SiteRule(*texts, check.check, check.alike, fix)
    if isinstance(check, OfObject):
        return ObjectRule(*texts, check.check, check.narrow, fix)
    return ObjectRule(*texts, check, fix=fix)


def _domains() -> dict[str, tuple[Rule, ...]]:
    said: dict[str, Any] = tomllib.loads(TEXTS.read_text("utf-8"))
    return {
        domain: tuple(_rule(name, texts) for name, texts in rules.items())
        for domain, rules in said.items()
    }


DOMAINS = _domains()
"""The rules of each domain, in the order in which they are judged and listed."""

RULES: tuple[Rule, ...] = tuple(rule for rules in DOMAINS.values() for rule in rules)
"""All rules."""
