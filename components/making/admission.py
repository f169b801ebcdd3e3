"""An admission policy and its binding: two objects of one name that are of no use apart (Kubernetes
1.34, api admissionregistration/v1 and v1beta1)."""

from collections.abc import Sequence

from components.making.manifest import Json, Manifest, Target, by_kind, filled

VALIDATING = ("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy")
"""API and kind of a policy that refuses. That of one that changes depends on the cluster's version
(schemas/facts/feature_gates.py)."""
MUTATING = "MutatingAdmissionPolicy"
_SAME = "key in variables.before && variables.before[key] == variables.after[key]"


def in_force(
    logical: str,
    metadata: Json,
    policy: Json,
    binding: Json,
    of: tuple[str, str] = VALIDATING,
    target: Target = Target.SITE,
) -> list[Manifest]:
    """The policy and the binding that puts it in force, with these specs and this metadata;
    ``logical`` follows the kind in their logical names. ``of`` is the policy's API and kind."""
    api, kind = of
    head = {"apiVersion": api, "kind": kind, "metadata": metadata}
    bound = {"policyName": metadata["name"], **binding}
    bodies = {**head, "spec": policy}, {**head, "kind": f"{kind}Binding", "spec": bound}
    return by_kind(bodies, logical, target)


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
    ours = " || ".join(f"key == '{each}'" for each in annotations)
    update = {"apiVersions": ["*"], "operations": ["UPDATE"]}
    policy, binding = filled(
        __file__,
        rules=[{"apiGroups": [group], **update, "resources": r} for group, r in resources.items()],
        condition=f"by-the-{name}",
        user=f"request.userInfo.username == '{user}'",
        after=f"variables.after.all(key, {_SAME} || {ours})",
        before=f"variables.before.all(key, key in variables.after || {ours})",
        message=f"{name} may change its own annotations alone",
    )
    return in_force(logical, metadata, policy, binding, target=target)
