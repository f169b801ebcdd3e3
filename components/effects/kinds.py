"""Kinds of Kubernetes that several tables of rules name, each with its API group."""

DAEMON_SET = "DaemonSet.apps"
DEPLOYMENT = "Deployment.apps"

_ADMISSION = "admissionregistration.k8s.io"
POLICY = f"ValidatingAdmissionPolicy.{_ADMISSION}"
POLICY_BINDING = f"ValidatingAdmissionPolicyBinding.{_ADMISSION}"

_RBAC = "rbac.authorization.k8s.io"
ROLE = f"Role.{_RBAC}"
ROLE_BINDING = f"RoleBinding.{_RBAC}"
CLUSTER_ROLE = f"ClusterRole.{_RBAC}"
CLUSTER_ROLE_BINDING = f"ClusterRoleBinding.{_RBAC}"
RIGHTS = ("ServiceAccount", CLUSTER_ROLE, CLUSTER_ROLE_BINDING, ROLE, ROLE_BINDING)
"""Kinds that say what a program may do."""
