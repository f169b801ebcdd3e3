"""The data for hosts at their first boot: settings, files, labels, taints."""

from components.effects.vocabulary import Action
from tests.kit.preview_repository import Repository
from tests.verdicts.edits import DIRECT, OWN_NETWORK, Edit, copied, manifest, site
from tests.verdicts.row import (
    CONTROL,
    CPU,
    KCP_ROLLS,
    LAB,
    MD_IN_PLACE,
    MD_ROLLS,
    MNCORE2,
    TOKYO,
    TSUKUBA,
    Expected,
    Row,
    Verdict,
    restarted,
)

_KEY = "AAAAC3NzaC1lZDI1NTE5AAAAIFymhLku4SdfYrPbCwX88H668olnzzQcg7SSyMhAs2aA"
_BOTH = f"{KCP_ROLLS}; {MD_ROLLS}"
_KUBELET = {
    "max_pods": "200",
    "max_pids": "65536",
    "eviction_hard": "{memory: 600Mi}",
    "eviction_hard of two disks": "{nodefs_percent: 12, imagefs_percent: 17}",
    "image_gc_high_percent": "83",
    "image_gc_low_percent": "60",
    "container_log_max_size": "60Mi",
    "reserved_memory": "4Gi",
    "reserved_cpu": '"2"',
}
_FIRST_BOOT = {
    "time servers": ("ntp: [10.17.0.2]", "ntp: [10.17.0.3]"),
    "name servers": ("dns: [10.17.0.2]", "dns: [10.17.0.3]"),
    "another key that may log in": ("ops@example]", f"ops@example, ssh-ed25519 {_KEY} b@example]"),
    "the user that may log in": ("{user: ops,", "{user: admin,"),
    "a proxy": ("first_boot:\n", 'first_boot:\n  proxy: {http: "http://10.17.0.4:3128"}\n'),
    "a certificate": (
        "first_boot:\n",
        "first_boot:\n  ca_certificates: [certificates/example-ca.pem]\n",
    ),
    "data disks": (
        "first_boot:\n",
        "first_boot:\n  data_disks: {mount: /srv/nvme, filesystem: ext4, folders: {a: 1}}\n",
    ),
    "a registry mirror": ("sources:\n", "sources:\n  registry_mirror: https://r.example\n"),
    "the region": ("region: jp-east", "region: jp-west"),
}
_ON_RUNNING = (
    "containerd 2.4.2, docs/hosts.md: hosts.toml is read without a restart; OnDelete replaces no "
    "machine (machinedeployment_rollout_ondelete.go)"
)
_WAYS = {
    "time servers": ("strategy: OnDelete", "chrony"),
    "another key that may log in": ("strategy: OnDelete", "authorized_keys"),
    "the user that may log in": ("authorized_keys",),
    "a proxy": ("systemctl daemon-reload",),
    "a certificate": ("update-ca-trust extract", "strategy: OnDelete"),
    "a registry mirror": ("at the next pull",),
}
_OTHERS = {
    "the proxy's address": ("proxy.tokyo-1.example:3128", "proxy.tokyo-1.example:3129"),
    "what the proxy is not asked for": ('3128"}', '3128", exclude: [git.example]}'),
    "the registry mirror": ("https://registry.tokyo-1.example", "https://r2.tokyo-1.example"),
}
_LABELLED = "os: rocky-9, labels: {node-role.kubernetes.io/batch: a, example.com/team: a},"
_HOST = "      hostNetwork: true\n"
_PLACED = manifest(_HOST, f"{_HOST}      nodeSelector: {{node-role.kubernetes.io/batch: a}}\n")
_SYNCED = "Cluster API 1.13.6, util/labels/helpers.go, GetManagedLabels: copied to nodes in place"


def _cpu(text: str) -> Edit:
    return site("tsukuba-1", "os: rocky-9,", f"os: rocky-9, {text},")


def _control(text: str) -> Edit:
    return site("tsukuba-1", "role: control-plane,", f"role: control-plane, {text},")


def _twice(repository: Repository) -> None:
    file = "sites/certificates/example-ca.pem"
    repository.write(file, repository.text(file) * 2)


def _row(
    name: str, edit: Edit, pools: dict[str, Verdict], source: str, base: tuple[Edit, ...] = ()
) -> Row:
    return Row(name, (edit,), {"tsukuba-1": Expected(pools)}, source, base)


ROWS = (
    *(
        _row(f"kubelet: {name}", _cpu(f"kubelet: {{{name.split()[0]}: {value}}}"), CPU, MD_ROLLS)
        for name, value in _KUBELET.items()
    ),
    _row("a control plane's kubelet", _control("kubelet: {max_pods: 50}"), CONTROL, KCP_ROLLS),
    *(
        Row(
            f"first boot: {name}",
            (site("tsukuba-1", *change),),
            {"tsukuba-1": Expected(TSUKUBA, ways=_WAYS.get(name, ()))},
            f"{_BOTH}; {_ON_RUNNING}",
        )
        for name, change in _FIRST_BOOT.items()
    ),
    *(
        Row(name, (site("tokyo-1", *change),), {"tokyo-1": Expected(TOKYO)}, _BOTH)
        for name, change in _OTHERS.items()
    ),
    Row(
        "the content of a certificate",
        (_twice,),
        {"tokyo-1": Expected(TOKYO)},
        f"{_BOTH}: the content is a file of the first boot",
    ),
    Row(
        "the name of a certificate's file",
        (site("tokyo-1", "example-ca.pem", "other-ca.pem"),),
        {},
        "hosts get the content under a number, not a name",
        (copied("sites/certificates/example-ca.pem", "sites/certificates/other-ca.pem"),),
    ),
    _row(
        "a first boot of a pool's own",
        site(
            "tsukuba-1",
            "    hardware: mncore2-x8\n",
            "    hardware: mncore2-x8\n    first_boot:\n      ntp: [10.17.0.2]\n"
            "      dns: [10.17.0.9]\n"
            f"      ssh: {{user: ops, keys: [ssh-ed25519 {_KEY} ops@example]}}\n"
            '      proxy: {http: "http://10.17.0.4:3128", exclude: [git.example]}\n'
            "      ca_certificates: [certificates/example-ca.pem]\n"
            "      data_disks: {mount: /srv/nvme, filesystem: ext4, folders: {a: 1}}\n",
        ),
        MNCORE2,
        MD_ROLLS,
    ),
    _row("a label", _cpu("labels: {example.com/team: a}"), CPU, f"{MD_ROLLS}; a kubelet argument"),
    _row(
        "a label's value",
        site("tsukuba-1", "example.com/team: a", "example.com/team: b"),
        CPU,
        MD_ROLLS,
        (_cpu("labels: {example.com/team: a}"),),
    ),
    _row(
        "a label goes",
        site("tsukuba-1", ", example.com/team: a", ""),
        CPU,
        MD_ROLLS,
        (site("tsukuba-1", "os: rocky-9,", _LABELLED),),
    ),
    _row("a control plane's label", _control("labels: {example.com/a: x}"), CONTROL, KCP_ROLLS),
    *(
        _row(f"a label that Cluster API copies: {key}", _cpu(f"labels: {{{key}: a}}"), {}, _SYNCED)
        for key in (
            "node-role.kubernetes.io/batch",
            "node-restriction.kubernetes.io/owner",
            "x.node.cluster.x-k8s.io/team",
        )
    ),
    _row(
        "a copied label's value",
        site("tsukuba-1", "batch: a", "batch: b"),
        {},
        f"{_SYNCED}; {MD_IN_PLACE}",
        (site("tsukuba-1", "os: rocky-9,", _LABELLED),),
    ),
    _row(
        "a copied label goes",
        site("tsukuba-1", "node-role.kubernetes.io/batch: a, ", ""),
        {},
        f"{_SYNCED}; {MD_IN_PLACE}",
        (site("tsukuba-1", "os: rocky-9,", _LABELLED),),
    ),
    *(
        _row(
            f"a copied label by which a DaemonSet finds its nodes, {way}",
            site("tsukuba-1", "batch: a, ", "batch: b, "),
            {"cpu": restarted()},
            f"{_SYNCED}; Kubernetes 1.34.3, pkg/controller/daemon/daemon_controller.go, "
            "podsShouldBeOnNode: its pods leave at once",
            (*base, _PLACED, site("tsukuba-1", "os: rocky-9,", _LABELLED)),
        )
        for way, base in (("directly", DIRECT), ("through a ClusterResourceSet", OWN_NETWORK))
    ),
    _row(
        "a copied label of the control plane",
        _control("labels: {node-role.kubernetes.io/etcd: a}"),
        {},
        f"{_SYNCED}; machineTemplate.metadata is not compared (filters.go)",
    ),
    _row(
        "a taint",
        _cpu("taints: [{key: example.com/a, value: x, effect: NoSchedule}]"),
        CPU,
        f"{MD_ROLLS}; taints are in joinConfiguration.nodeRegistration",
    ),
    Row(
        "a taint's effect",
        (site("tokyo-1", "value: large-jobs, effect: NoSchedule", "effect: NoExecute"),),
        {"tokyo-1": Expected({"h100": Verdict(CPU["cpu"].impact, 50)})},
        MD_ROLLS,
    ),
    Row(
        "a control plane gets its taints back",
        (site("lab-1", ", taints: []", ""),),
        {"lab-1": Expected(LAB, {"KubeadmControlPlane": Action.CHANGED})},
        KCP_ROLLS,
    ),
)
