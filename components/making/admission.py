"""An admission policy and its binding: two objects of one name that are of no use apart.

Source: Kubernetes 1.34, api admissionregistration/v1 and v1beta1.
"""

from collections.abc import Sequence

from components.making.manifest import Json, Manifest, Target

VALIDATING = ("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy")
"""API and kind of a policy that refuses. That of one that changes depends on the cluster's version
(schemas/facts/feature_gates.py)."""
MUTATING = "MutatingAdmissionPolicy"


def in_force(
    logical: str,
    metadata: Json,
    policy: Json,
    binding: Json,
    of: tuple[str, str] = VALIDATING,
    target: Target = Target.SITE,
) -> list[Manifest]:
    """The policy and the binding that puts it in force, with these specs; both are called as
    ``metadata`` says, and ``logical`` follows the kind in their logical names. ``of`` is the
    policy's API and kind."""
    api, kind = of
    name = metadata["name"]
    specs = {kind: policy, f"{kind}Binding": {"policyName": name, **binding}}
    return [
        Manifest(
            f"{each}/{logical}",
            {"apiVersion": api, "kind": each, "metadata": metadata, "spec": spec},
            target=target,
        )
        for each, spec in specs.items()
    ]


def annotations_alone(
    logical: str,
    metadata: Json,
    account: tuple[str, str],
    resources: Json,
    annotations: Sequence[str],
    target: Target = Target.SITE,
) -> list[Manifest]:
    """Of ``resources``, by their API groups, the ServiceAccount ``account`` (namespace and name)
    may change these annotations and nothing else: rights to patch know no fields."""
    namespace, name = account
    user = f"system:serviceaccount:{namespace}:{name}"
    rules = [
        {"apiGroups": [group], "apiVersions": ["*"], "operations": ["UPDATE"], "resources": each}
        for group, each in resources.items()
    ]
    policy = {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": rules},
        "matchConditions": [
            {"name": f"by-the-{name}", "expression": f"request.userInfo.username == '{user}'"}
        ],
        "variables": [
            {"name": name, "expression": f"{each}.metadata.?annotations.orValue({{}})"}
            for name, each in (("before", "oldObject"), ("after", "object"))
        ],
        "validations": [
            {"expression": each, "message": f"{name} may change its own annotations alone"}
            for each in _unchanged_fields(annotations)
        ],
    }
    return in_force(logical, metadata, policy, {"validationActions": ["Deny"]}, target=target)


def _unchanged_fields(annotations: Sequence[str]) -> list[str]:
    """What must hold of a changed object; one look-up for each annotation costs little."""
    kept = ("spec", "metadata.?labels", "metadata.?finalizers", "metadata.?ownerReferences")
    ours = " || ".join(f"key == '{each}'" for each in annotations)
    same = "key in variables.before && variables.before[key] == variables.after[key]"
    return [
        " && ".join(f"object.{each} == oldObject.{each}" for each in kept),
        f"variables.after.all(key, {same} || {ours})",
        f"variables.before.all(key, key in variables.after || {ours})",
    ]
