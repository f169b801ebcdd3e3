"""Sites with policies of their own."""

from dataclasses import replace
from typing import Any

from schemas.facts.site import Site
from schemas.model.policies import SitePolicies
from tests.kit.repository import all_sites

OWN = {
    "name": "owned",
    "what": "Jobs say whom they belong to",
    "why": "nobody knows whom to ask about them",
    "source": "the handbook of the site, chapter 3",
    "kinds": ["batch/v1/jobs"],
    "expression": "'owner' in object.metadata.?labels.orValue({})",
}
"""A rule as a site file has it."""


def own(**changes: Any) -> dict[str, Any]:
    """The rule, in part another one."""
    return {**OWN, **changes}


def with_policies(*rules: dict[str, Any], **others: Any) -> Site:
    """tokyo-1, whose cluster answers, with these rules as CEL and other fields of ``policies``."""
    plain = all_sites()["tokyo-1"]
    changed = {
        "cluster": plain.file.cluster.model_copy(update={"context": plain.name}),
        "policies": SitePolicies.model_validate({"cel": list(rules), **others}),
    }
    return replace(plain, file=plain.file.model_copy(update=changed))
