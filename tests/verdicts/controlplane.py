"""Settings of the control plane's programs: each is in the KubeadmControlPlane alone."""

from components.effects.vocabulary import Action, Impact
from tests.kit.preview_repository import Repository
from tests.verdicts.edits import Edit, bare
from tests.verdicts.row import CONTROL, KCP_ROLLS, Expected, Row, Verdict

_ALONE = (
    f"{KCP_ROLLS}; workers join by a KubeadmConfigTemplate, which has no ClusterConfiguration "
    "(bootstrap/kubeadm/api/v1beta2)"
)
_STORED = (
    "Kubernetes 1.34.3, apiserver pkg/storage/value/transformer.go: a Secret says which provider "
    "wrote it, and a server without this one cannot read it"
)
_UNREAD = {"control": Verdict(Impact.UNKNOWN, 3)}
_ISSUER = "authentication: [{url: https://login.example, audiences: [kubernetes]}]"
_KMS = "encryption: {kms: vault}"
_SOCKET = "encryption: {kms: vault, socket: /run/k/s}"
_READS = "encryption: {kms: vault, writes: false}"
_KEYS = "encryption: {secret: etcd-keys}"


def _set(*texts: str) -> Edit:
    """Settings of tsukuba-1's cluster, in place of those of ``_set`` before."""

    def edit(repository: Repository) -> None:
        file = "sites/tsukuba-1.yaml"
        lines = repository.text(file).split("\n")
        kept = [line for line in lines if not line.endswith("# set")]
        at = kept.index("cluster:") + 1
        kept[at:at] = [f"  {text}  # set" for text in texts]
        repository.write(file, "\n".join(kept))

    return edit


def _row(
    name: str, after: Edit, before: Edit | None = None, pools: dict[str, Verdict] = CONTROL
) -> Row:
    expected = {"tsukuba-1": Expected(pools)}
    source = _ALONE if pools is CONTROL else _STORED
    return Row(f"control plane: {name}", (after,), expected, source, (before,) if before else ())


def _admission(repository: Repository) -> None:
    api = "apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\n"
    repository.write("sites/api-server/admission.yaml", f"{api}plugins:\n- name: EventRateLimit\n")
    _set("admission: api-server/admission.yaml")(repository)


def _policy(repository: Repository) -> None:
    text = "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules:\n- level: Metadata\n"
    repository.write("sites/api-server/audit.yaml", text)
    _set("audit: {policy: api-server/audit.yaml}")(repository)


_SETTINGS = (
    "certificate_names: [api.tsukuba-1.example]",
    _ISSUER,
    "audit: {}",
    "arguments: {api_server: {event-ttl: 4h}}",
    "arguments: {api_server: {feature-gates: SomeGate=true}}",
    "arguments: {controller_manager: {terminated-pod-gc-threshold: '500'}}",
    "arguments: {scheduler: {v: '4'}}",
    "arguments: {etcd: {quota-backend-bytes: '8589934592'}}",
)
_CHANGES = {
    "audience": "audiences: [kubernetes, cli]}]",
    "prefix": "audiences: [kubernetes], prefix: 'staff:'}]",
    "username_claim": "audiences: [kubernetes], username_claim: email}]",
    "groups_claim": "audiences: [kubernetes], groups_claim: roles}]",
    "ca_certificate": "audiences: [kubernetes], ca_certificate: certificates/example-ca.pem}]",
    "claims_must": "audiences: [kubernetes], claims_must: {of staff: claims.staff}}]",
    "users_must": "audiences: [kubernetes], users_must: {a: user.username != 'b'}}]",
}

ROWS = (
    *(_row(text, _set(text)) for text in _SETTINGS),
    *(_row(f"{text} goes", _set(), _set(text)) for text in _SETTINGS[1:3]),
    Row(
        "control plane: the last setting, where no accelerators need one",
        (_set(),),
        {"tsukuba-1": Expected({}, {"KubeadmControlPlane": Action.REFUSED})},
        "Cluster API 1.13.6, controlplane/kubeadm/internal/webhooks/kubeadmcontrolplane.go: "
        "clusterConfiguration as a whole is no path that may change",
        (bare("tsukuba-1"), _set("audit: {}")),
    ),
    _row("admission", _admission),
    _row("a policy of the site's own", _policy),
    *(
        _row(f"an issuer's {name}", _set(_ISSUER.replace("audiences: [kubernetes]}]", text)),
             _set(_ISSUER))
        for name, text in _CHANGES.items()
    ),
    *(
        _row(f"audit: {text}", _set(f"audit: {{{text}}}"), _set("audit: {}"))
        for text in ("days: 90", "files: 9", "megabytes: 50")
    ),
    _row("encryption that reads", _set(_READS)),
    _row("encryption writes, once all read", _set(_KMS), _set(_READS)),
    _row("encryption writes no more", _set(_READS), _set(_KMS)),
    _row("the plugin's socket", _set(_SOCKET), _set(_KMS), _UNREAD),
    _row("encryption writes at once", _set(_KMS), pools=_UNREAD),
    _row("encryption goes", _set(), _set(_KMS), _UNREAD),
    _row("encryption goes that only read", _set(), _set(_READS), _UNREAD),
    _row("another plugin", _set("encryption: {kms: other}"), _set(_KMS), _UNREAD),
    _row("keys of somebody else", _set(_KEYS), pools=_UNREAD),
    _row("keys of somebody else go", _set(), _set(_KEYS), _UNREAD),
)  # fmt: skip
