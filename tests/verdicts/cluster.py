"""The cluster as a whole: its endpoint, its networks, the cluster that manages it."""

from components.effects.vocabulary import Action, Impact
from tests.verdicts.cachesites import TSUKUBA_ALL
from tests.verdicts.edits import DIRECT, OWN_NETWORK, applied, manifest, site
from tests.verdicts.healing import BEGINS, REPAIRED
from tests.verdicts.row import ANY, CONTROL, KCP_ROLLS, Expected, Row, Verdict, reimaged

_LOSES_API = (
    "Cluster API 1.13.6, cluster_controller_phases.go: Cluster.spec.controlPlaneEndpoint stays "
    "once it is valid, while kube-vip's manifest rolls the control plane and moves away from it: "
    "every node loses its API server, and nothing upstream says what follows"
)
_INIT_ONLY = (
    "Cluster API 1.13.6, bootstrap/kubeadm/internal/controllers/kubeadmconfig_controller.go, "
    "computeClusterConfigurationAndAdditionalData: read by `kubeadm init` alone"
)
_NEW_PROVIDER = (
    "pulumi-kubernetes, provider.go, DiffConfig: another cluster_identifier replaces the provider "
    "and every object, which protect refuses; whoever applies by other means installs every host "
    "anew from another cluster"
)
_ALL_UNKNOWN = {
    "control": Verdict(Impact.UNKNOWN, 3, also=(Impact.REIMAGE,)),
    "cpu": Verdict(Impact.UNKNOWN, 21),
    "mncore2": Verdict(Impact.UNKNOWN, 40),
}
_ANYTHING_BAD = Verdict(Impact.UNKNOWN, 3, also=(Impact.REIMAGE, Impact.REMOVE))

_NETWORK_COMES = {
    pool: Verdict(Impact.NONE, None, ANY, (Impact.POD_RESTART, Impact.UNKNOWN))
    for pool in ("control", "cpu", "mncore2")
}

_EXPIRY = (
    "Cluster API v1.13.6, util/collections/machine_filters.go, ShouldRolloutBefore: machines whose "
    "status.certificatesExpiryDate is nearer than that; Git does not say when it is"
)

ROWS = (
    Row(
        "the context of a cluster: what belongs into it is applied for the first time",
        (applied("tsukuba-1"),),
        {
            "tsukuba-1": Expected(
                {**TSUKUBA_ALL, "mncore2": REPAIRED}, {"DaemonSet/*": Action.ADDED}
            )
        },
        "Kubernetes 1.34.3, pkg/controller/daemon/daemon_controller.go: the device plugin starts "
        "on each host of its pool, and the detector of faults on all; limits, queues and policies "
        f"touch no pod that runs; {BEGINS}",
    ),
    Row(
        "the context of a cluster goes: what was applied there is deleted",
        (site("tsukuba-1", "  context: tsukuba-1\n", ""),),
        {
            "tsukuba-1": Expected(
                TSUKUBA_ALL, {"Namespace/*": Action.REFUSED, "*": Action.DELETED}, {"Namespace": 4}
            )
        },
        "components/shell.py: without a context nothing is registered, so Pulumi deletes what it "
        "made; Pulumi, protect; the pods of device plugin and detector go with their DaemonSets",
        (applied("tsukuba-1"),),
    ),
    Row(
        "another context for a cluster whose objects were applied",
        (site("tsukuba-1", "context: tsukuba-1", "context: tsukuba-2"),),
        {"tsukuba-1": Expected({**_ALL_UNKNOWN, "control": Verdict(Impact.UNKNOWN, 3)})},
        _NEW_PROVIDER,
        (applied("tsukuba-1"),),
    ),
    Row(
        "machines are replaced earlier before their certificates end",
        (site("tsukuba-1", "  services:", "  renew_certificates_days: 90\n  services:"),),
        {
            "tsukuba-1": Expected(
                {"control": reimaged(3, 3)},
                {"KubeadmControlPlane": Action.CHANGED},
                says=("installed more than 275 days ago",),
            )
        },
        _EXPIRY,
    ),
    Row(
        "machines are replaced later before their certificates end",
        (site("tsukuba-1", "  services:", "  renew_certificates_days: 14\n  services:"),),
        {"tsukuba-1": Expected({}, {"KubeadmControlPlane": Action.CHANGED})},
        _EXPIRY,
    ),
    Row(
        "the endpoint of the API",
        (site("tsukuba-1", "endpoint: 10.17.0.10", "endpoint: 10.17.0.9"),),
        {"tsukuba-1": Expected(_ALL_UNKNOWN)},
        _LOSES_API,
    ),
    Row(
        "the port of the API",
        (site("tsukuba-1", "endpoint: 10.17.0.10", "endpoint: 10.17.0.10\n  port: 8443"),),
        {"tsukuba-1": Expected(_ALL_UNKNOWN)},
        _LOSES_API,
    ),
    Row(
        "who answers for the endpoint",
        (site("tsukuba-1", "  pods:", "  virtual_ip: external\n  pods:"),),
        {"tsukuba-1": Expected(CONTROL, {"KubeadmControlPlane": Action.CHANGED})},
        f"{KCP_ROLLS}: kube-vip's files and commands go",
    ),
    Row(
        "the network of services",
        (site("tsukuba-1", "10.96.0.0/16", "10.97.0.0/16"),),
        {
            "tsukuba-1": Expected(
                {
                    "control": Verdict(Impact.NONE, 3, also=(Impact.UNKNOWN,)),
                    "cpu": Verdict(Impact.NONE, 21, also=(Impact.UNKNOWN,)),
                    "mncore2": Verdict(Impact.NONE, 40, also=(Impact.UNKNOWN,)),
                },
                {"Cluster": Action.CHANGED},
            )
        },
        _INIT_ONLY,
    ),
    Row(
        "the network of services, where hosts have a proxy",
        (site("lab-1", "10.96.0.0/16", "10.97.0.0/16"),),
        {"lab-1": Expected({"lab": Verdict(Impact.REIMAGE, 3, also=(Impact.UNKNOWN,))})},
        f"{KCP_ROLLS}: it is left out of the proxy in a file of the first boot; {_INIT_ONLY}",
        (
            site(
                "lab-1", "first_boot:\n", 'first_boot:\n  proxy: {http: "http://10.18.0.4:3128"}\n'
            ),
        ),
    ),
    Row(
        "the network of pods, with the manifests that go with it",
        (
            site("tsukuba-1", "10.64.0.0/12", "10.80.0.0/12"),
            manifest("10.64.0.0/12", "10.80.0.0/12"),
        ),
        {"tsukuba-1": Expected(_ALL_UNKNOWN)},
        f"{_INIT_ONLY}, so nodes keep their PodCIDR, while flannel 0.28.4, "
        "pkg/subnet/kube/kube.go, AcquireLease, fails on a node whose PodCIDR is outside: "
        "pods lose the network as soon as flannel restarts, and no component of upstream moves a "
        "cluster that runs",
        OWN_NETWORK,
    ),
    Row(
        "the context of the site's own cluster, for the first time",
        (site("tsukuba-1", "  services:", "  context: tsukuba-1\n  services:"),),
        {
            "tsukuba-1": Expected(
                {**_NETWORK_COMES, "mncore2": REPAIRED}, {"DaemonSet/*": Action.ADDED}
            )
        },
        "components/shell.py: objects of a cluster without a context are not registered, so this "
        f"makes them; {BEGINS}",
        (site("tsukuba-1", "flannel.yaml}", "flannel.yaml, install: direct}"),),
    ),
    Row(
        "another context for the site's own cluster",
        (site("tsukuba-1", "context: tsukuba-1", "context: tsukuba-2"),),
        {"tsukuba-1": Expected(_NETWORK_COMES)},
        _NEW_PROVIDER,
        DIRECT,
    ),
    Row(
        "the management cluster",
        (site("lab-1", "management: mgmt-lab", "management: mgmt-jp-east"),),
        {"lab-1": Expected({"lab": _ANYTHING_BAD})},
        _NEW_PROVIDER,
    ),
)
