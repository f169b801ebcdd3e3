"""The kinds of Cluster API, its kubeadm and Metal3 providers, by which rules are found."""

from components.effects import kinds

DEPLOYMENT = "MachineDeployment.cluster.x-k8s.io"
HEALTH_CHECK = "MachineHealthCheck.cluster.x-k8s.io"
CONTROL_PLANE = "KubeadmControlPlane.controlplane.cluster.x-k8s.io"
CONFIG_TEMPLATE = "KubeadmConfigTemplate.bootstrap.cluster.x-k8s.io"
DATA_TEMPLATE = "Metal3DataTemplate.infrastructure.cluster.x-k8s.io"
MACHINE_TEMPLATE = "Metal3MachineTemplate.infrastructure.cluster.x-k8s.io"
REMEDIATION_TEMPLATE = "Metal3RemediationTemplate.infrastructure.cluster.x-k8s.io"
HOST = "BareMetalHost.metal3.io"

TEMPLATES = (CONFIG_TEMPLATE, DATA_TEMPLATE, MACHINE_TEMPLATE)
"""Kinds of the templates that machines are made from."""
OF_GROUPS = frozenset((CONTROL_PLANE, DEPLOYMENT, HEALTH_CHECK, REMEDIATION_TEMPLATE, *TEMPLATES))
"""Kinds whose objects are about some groups of machines; others are about all."""
GUARDS = (kinds.POLICY, kinds.POLICY_BINDING)
"""They refuse an upgrade of workers before their control plane (components/machines/upgrade.py)."""
