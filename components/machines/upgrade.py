"""The order of a Kubernetes upgrade, held by the management cluster whoever applies.

A worker version ahead of the control plane makes Cluster API delete machines first and then create
none (its preflight checks block the new ones). So a MachineDeployment is refused a minor version
that the control plane does not run yet, by pull request, Pulumi, Argo CD or kubectl alike.
"""

from components.machines.names import CLUSTER_API, COMPONENT, CONTROL_PLANE_API, group
from components.making.admission import in_force
from components.making.manifest import Json, Manifest, Target, labels
from schemas.facts.site import Site

_MINOR = "int({}.split('.')[1])"


def worker_version_guard(site: Site) -> list[Manifest]:
    """A ValidatingAdmissionPolicy for the site's MachineDeployments, and its binding.

    Its parameter is the site's KubeadmControlPlane: ``status.version`` is the lowest version that
    its machines run. Before the first machine there is none, and nothing to hold back.
    """
    name = f"foresite-{site.name}-worker-version"
    metadata: Json = {"name": name, "labels": labels(site.name, COMPONENT)}
    wanted = "object.spec.template.spec.version"
    unchanged = f"oldObject != null && oldObject.spec.template.spec.version == {wanted}"
    running = "params.status.version"
    policy: Json = {
        "failurePolicy": "Fail",
        "paramKind": {"apiVersion": CONTROL_PLANE_API, "kind": "KubeadmControlPlane"},
        "matchConstraints": {
            "resourceRules": [
                {
                    "apiGroups": [group(CLUSTER_API)],
                    "apiVersions": ["v1beta2"],
                    "operations": ["CREATE", "UPDATE"],
                    "resources": ["machinedeployments"],
                }
            ]
        },
        "validations": [
            {
                "expression": f"!has(object.spec.template.spec.version) || ({unchanged}) || "
                f"!has(params.status) || !has({running}) || "
                f"{_MINOR.format(wanted)} <= {_MINOR.format(running)}",
                "messageExpression": f"'workers must wait: the control plane runs ' + {running} + "
                f"', not yet ' + {wanted} + '; set cluster.workers to the version they run until "
                "it does'",
                "reason": "Invalid",
            }
        ],
    }
    binding: Json = {
        "paramRef": {
            "name": site.name,
            "namespace": site.name,
            "parameterNotFoundAction": "Allow",
        },
        "validationActions": ["Deny"],
        "matchResources": {
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": site.name}}
        },
    }
    return in_force("worker-version", metadata, policy, binding, target=Target.MANAGEMENT)
