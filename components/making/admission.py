"""An admission policy and its binding: two objects of one name that are of no use apart.

Source: Kubernetes 1.34, api admissionregistration/v1 and v1beta1.
"""

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
