"""The kinds that the stored schemas cover; :mod:`tools.crds` makes them."""

CRDS = {
    "cluster-api": (
        "clusterresourcesetbindings clusterresourcesets clusters kubeadmconfigs"
        " kubeadmconfigtemplates kubeadmcontrolplanes machinedeployments machinehealthchecks"
        " machines machinesets"
    ),
    "cluster-api-provider-metal3": "*",
    "baremetal-operator": "*",
    "metal3-ipam": "*",
    "gpu-operator": "*",
    "jobset": "*",
    "kube-throttler": "*",
    "kubeflow-trainer": "*",
    "kueue": (
        "clusterqueues cohorts localqueues resourceflavors topologies workloadpriorityclasses"
    ),
    "node-feature-discovery": "nodefeaturerules",
    "node-operation-controller": (
        "nodedisruptionbudgets nodeoperationtemplates noderemediations noderemediationtemplates"
    ),
    "nvidia-dra-driver-gpu": "computedomains",
    "prometheus-operator": "alertmanagerconfigs podmonitors prometheusrules servicemonitors",
    "sriov-network-operator": (
        "sriovibnetworks sriovnetworknodepolicies sriovnetworkpoolconfigs sriovnetworks"
        " sriovoperatorconfigs"
    ),
    "volcano": "jobs podgroups queues",
}
"""Folder of upstream's crds/ -> the CRDs to take, by their plural; ``*`` is all. What only
controllers write is left out where it can be told."""

FETCHED = {
    "externalsecrets.external-secrets.io": {
        "source": "external-secrets/external-secrets",
        "tag": "v2.9.0",
        "commit": "378bdb622ed9712ef4a58370f6a17af033b7d343",
        "path": "config/crds/bases/external-secrets.io_externalsecrets.yaml",
        "sha256": "5044be5a610ca90a075f34f03ed20b462695c43387ba9410db7f4250e47b1e2f",
    },
    "nodehealthchecks.remediation.medik8s.io": {
        "source": "medik8s/node-healthcheck-operator",
        "tag": "main",
        "commit": "dd44432997c6edb4b577043919c4701c16524a73",
        "path": "config/crd/bases/remediation.medik8s.io_nodehealthchecks.yaml",
        "sha256": "cbdfc3d79d620661ab47da5fc4bb43db1c6b7c6d6a8d0f1625b1dee0eb6f9e6d",
    },
    "selfnoderemediationtemplates.self-node-remediation.medik8s.io": {
        "source": "medik8s/self-node-remediation",
        "tag": "main",
        "commit": "640aac50d7ba64bc08a5c1a45763bb3043ee9ed7",
        "path": (
            "config/crd/bases/self-node-remediation.medik8s.io_selfnoderemediationtemplates.yaml"
        ),
        "sha256": "3d3c2925c54ab55a44361ab084d649f82182785030afc09392f5dddec7e7906e",
    },
}
"""CRDs that upstream's crds/ lacks, by name: :mod:`tools.fetched` takes them from the projects'
repositories, and what it stored is kept."""

KUBERNETES = "1.34"
"""The minor whose definitions are taken: the oldest that a release offers. Later ones know all of
its fields, and a field that they add would be dropped by a server of this one."""
NEWEST_KUBERNETES = "1.37"
"""The newest minor that a release offers: kinds that the oldest one lacks are taken from it."""

ADMISSION = "admissionregistration.k8s.io"
KUBERNETES_KINDS = {
    "v1": "ConfigMap LimitRange Namespace Pod ResourceQuota Secret Service ServiceAccount",
    f"{ADMISSION}/v1": (
        "MutatingAdmissionPolicy MutatingAdmissionPolicyBinding ValidatingAdmissionPolicy"
        " ValidatingAdmissionPolicyBinding"
    ),
    f"{ADMISSION}/v1beta1": "MutatingAdmissionPolicy MutatingAdmissionPolicyBinding",
    "apiextensions.k8s.io/v1": "CustomResourceDefinition",
    "apps/v1": "DaemonSet Deployment StatefulSet",
    "batch/v1": "CronJob Job",
    "networking.k8s.io/v1": "NetworkPolicy",
    "node.k8s.io/v1": "RuntimeClass",
    "policy/v1": "PodDisruptionBudget",
    "rbac.authorization.k8s.io/v1": "ClusterRole ClusterRoleBinding Role RoleBinding",
    "resource.k8s.io/v1": "DeviceClass ResourceClaimTemplate",
    "scheduling.k8s.io/v1": "PriorityClass",
}
CLUSTER_SCOPED = (
    "ClusterRole ClusterRoleBinding CustomResourceDefinition DeviceClass MutatingAdmissionPolicy"
    " MutatingAdmissionPolicyBinding Namespace PriorityClass RuntimeClass ValidatingAdmissionPolicy"
    " ValidatingAdmissionPolicyBinding"
)
"""The definitions do not say a kind's scope, so it stands here."""


def native_kinds() -> list[str]:
    """The wanted kinds of Kubernetes itself as ``apiVersion/Kind``."""
    return [f"{api}/{kind}" for api, kinds in KUBERNETES_KINDS.items() for kind in kinds.split()]


def native_scope(kind: str) -> str:
    """``Cluster`` or ``Namespaced`` for an ``apiVersion/Kind`` of Kubernetes itself."""
    return "Cluster" if kind.rpartition("/")[2] in CLUSTER_SCOPED.split() else "Namespaced"
