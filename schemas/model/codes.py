"""The vocabulary of problems: one code per kind of fault, with the sentence that says why it hurts.

A code is stable: users search for it, suppress nothing by it, and tests name it.
"""

from enum import StrEnum


class Code(StrEnum):
    """The kind of fault of a problem; ``code.why`` gives its effect on a site. A ``hint`` does no
    harm: it is shown, and nothing fails by it."""

    why: str
    hint: bool

    def __new__(cls, value: str, why: str, hint: bool = False) -> "Code":
        """Make a member of its value, with the rest beside it."""
        member = str.__new__(cls, value)
        member._value_ = value
        member.why = why
        member.hint = hint
        return member

    # --- the text of a file -------------------------------------------------------------------
    FILE_UNREADABLE = "file-unreadable", "nothing can be said about what cannot be read"
    YAML_SYNTAX = "yaml-syntax", "the file has no single meaning, so no tool may guess one"
    FILE_TOO_LARGE = "file-too-large", "a file too large to review hides what it changes"
    FILE_EMPTY = "file-empty", "an empty file would stand for a site without machines"
    FILE_ENCODING = "file-encoding", "tools that guess another encoding read another file"
    FILE_CHARACTER = "file-character", "what a reviewer sees is not what the machines get"
    YAML_TOO_DEEP = "yaml-too-deep", "nesting without end exhausts the tools that read it"
    YAML_TAG = "yaml-tag", "a tag changes what a value is, and readers disagree on how"
    YAML_ANCHOR = "yaml-anchor", "a value far away would change this one unseen"
    YAML_MERGE_KEY = "yaml-merge-key", "merged fields are invisible here and not part of YAML 1.2"
    YAML_DIRECTIVE = "yaml-directive", "a directive changes the meaning of the whole file"
    YAML_DOCUMENTS = "yaml-documents", "a tool that reads one document drops the others unseen"
    YAML_DUPLICATE_KEY = "yaml-duplicate-key", "tools keep the first or the last value, unseen"
    YAML_KEY_TYPE = "yaml-key-type", "a key that is no text is renamed or refused by other tools"
    YAML_NUMBER = "yaml-number", "a number beyond 64 bits is rounded or refused by other tools"

    # --- the host list ------------------------------------------------------------------------
    HOSTS_TEXT = "hosts-text", "a host list that reads in two ways would provision the wrong host"
    HOSTS_COLUMNS = "hosts-columns", "a shifted cell would send one host's address to another"
    HOSTS_CELL = "hosts-cell", "the Bare Metal Operator could not reach or boot the host"

    # --- one value ----------------------------------------------------------------------------
    UNKNOWN_FIELD = "unknown-field", "a misspelt field is a setting that silently does nothing"
    MISSING_FIELD = "missing-field", "there is no safe value that Foresite could assume"
    WRONG_TYPE = "wrong-type", "a value of another type means another thing to the next reader"
    INVALID_VALUE = "invalid-value", "the API server or a host would refuse it later"
    OUT_OF_BOUNDS = "out-of-bounds", "beyond its bounds the setting harms the site"
    TODO_LEFT = "todo-left", "the value is one that only a person knows"
    SECRET_IN_FILE = "secret-in-file", "what is in Git is known to everyone who ever clones it"

    # --- names that lead nowhere --------------------------------------------------------------
    SITE_NAME_MISMATCH = "site-name-mismatch", "stack, namespace and file would name two sites"
    SITE_UNKNOWN = "site-unknown", "there is no such site"
    FILE_MISSING = "file-missing", "a fresh clone does not have what the site needs"
    FILE_CONTENT = "file-content", "hosts or the cluster would refuse the file's content"
    UNKNOWN_RELEASE = "unknown-release", "without a release no version or digest is known"
    UNKNOWN_HARDWARE = "unknown-hardware", "disks, accelerators and times of the host are not known"
    UNKNOWN_OS = "unknown-os", "there is no image that the hosts could boot"
    OS_IMAGE_MISSING = "os-image-missing", "a host would be wiped and then have nothing to boot"
    UNKNOWN_POOL = "unknown-pool", "what names it would be meant for no machine"
    UNKNOWN_ZONE = "unknown-zone", "the host would get no address"
    DUPLICATE_NAME = "duplicate-name", "two objects with one name overwrite each other in turn"
    RESERVED_NAME = "reserved-name", "the name would clash with one that is needed elsewhere"
    CONTEXT_CLASH = "context-clash", "what is meant for one cluster would be put on another"
    TEMPLATE_MARK = "template-mark", "cloud-init would put something else in its place on each host"

    # --- networks -----------------------------------------------------------------------------
    NETWORK_NOT_CANONICAL = (
        "network-not-canonical",
        "two spellings of one network hide that they overlap",
    )
    NETWORK_OVERLAP = "network-overlap", "packets for one network would be sent to the other"
    NETWORK_TOO_SMALL = "network-too-small", "hosts beyond its size would never get ready"
    NETWORK_TOO_LARGE = "network-too-large", "kubeadm refuses to start a control plane with it"
    ENDPOINT_OUTSIDE = "endpoint-outside", "no host could answer for the Kubernetes API"
    ENDPOINT_TAKEN = "endpoint-taken", "two machines would answer for the Kubernetes API"
    GATEWAY_OUTSIDE = "gateway-outside", "hosts would have no route out of their zone"
    HOST_OUTSIDE = "host-outside", "the host would be unreachable at this address"
    CONTROL_PLANE_SPREAD = (
        "control-plane-spread",
        "a virtual IP announced by ARP reaches one layer 2 network only",
    )

    # --- hosts --------------------------------------------------------------------------------
    HOST_DUPLICATE = "host-duplicate", "one of the two hosts would be provisioned over the other"
    SITES_CLASH = "sites-clash", "two sites would provision or route over each other"
    POOL_EMPTY = "pool-empty", "a pool without machines hides a missing host list entry"

    # --- versions -----------------------------------------------------------------------------
    VERSION_UNSUPPORTED = (
        "version-unsupported",
        "Cluster API refuses or mishandles versions that it was not made for",
    )
    VERSION_SKEW = "version-skew", "Cluster API deletes machines first and then makes no new ones"

    # --- rollouts and health checks -----------------------------------------------------------
    CONTROL_PLANE_MISSING = "control-plane-missing", "a cluster needs one pool of control planes"
    CONTROL_PLANE_EVEN = "control-plane-even", "an even number of etcd members loses quorum sooner"
    ROLLOUT_STUCK = "rollout-stuck", "the rollout would wait for ever, and replace no machine"
    ROLLOUT_ALL_AT_ONCE = "rollout-all-at-once", "one bad image would take the whole pool out"
    ROLLOUT_MEANINGLESS = "rollout-meaningless", "the setting promises what no rollout will do"
    SURGE_UNUSED = "surge-unused", "a new machine without a host waits for an old one to go", True
    SPARES_TOO_MANY = "spares-too-many", "no machine of the pool would be left"
    HEALTH_CHECK_LOOP = (
        "health-check-loop",
        "machines would be deleted while they install, again and again",
    )
    HEALTH_CHECK_MEANINGLESS = (
        "health-check-meaningless",
        "the setting promises what no health check will do",
    )
    KUBELET_EVICTION = "kubelet-eviction", "pods would be evicted before unused images are deleted"
    LABEL_RESERVED = "label-reserved", "the kubelet refuses the label, or another value wins"
    LABELS_TOO_LONG = "labels-too-long", "Cluster API refuses so long an argument of the kubelet"

    # --- accelerators and network devices -----------------------------------------------------
    ACCELERATOR_UNKNOWN = "accelerator-unknown", "nothing would make the cards a resource"
    ACCELERATOR_UNSERVED = "accelerator-unserved", "the chosen way cannot hand the cards to pods"
    RESOURCE_CLASH = "resource-clash", "pods would get another device than they asked for"
    IMAGE_UNKNOWN = "image-unknown", "nothing says which program to run on the hosts"
    NETWORK_DEVICE_CLASH = (
        "network-device-clash",
        "one interface would be handed to pods in two ways at once",
    )
    NETWORK_DEVICE_UNSUPPORTED = (
        "network-device-unsupported",
        "the SR-IOV operator or the card would refuse it, or nothing would do it",
    )

    # --- scheduling ---------------------------------------------------------------------------
    SCHEDULER_CLASH = "scheduler-clash", "two schedulers would give one device to two pods"
    SCHEDULER_INCOMPLETE = "scheduler-incomplete", "pods that name the scheduler would never start"
    SCHEDULER_MEANINGLESS = (
        "scheduler-meaningless",
        "the setting promises what no scheduler will do",
    )
    GANG_TIMEOUT = "gang-timeout", "gangs would wait for another time than the file says"
    UNKNOWN_PRIORITY = "unknown-priority", "the API server refuses pods of a tier that is not there"
    PRIORITY_CLASH = "priority-clash", "which pods go first would be left to chance"
    TEAM_CLASH = "team-clash", "two teams would share what each was promised alone"
    OVERCOMMITTED = "overcommitted", "a team would wait for what it was promised"
    LIMIT_UNSUPPORTED = "limit-unsupported", "the limit would be written, and nothing would hold it"
    OFF_PEAK_MEANINGLESS = "off-peak-meaningless", "the other limits would never hold"
    STORAGE_LIMITS = "storage-limits", "the API server would refuse every pod that says nothing"

    # --- the object cache ---------------------------------------------------------------------
    CACHE_QUOTA = "cache-quota", "buckets would push each other's objects out"
    CACHE_CAPACITY = "cache-capacity", "the disk would be full before the cache evicts anything"
    CACHE_TABLE = "cache-table", "Envoy refuses the table, or one lost host would cost many keys"
    CACHE_NAMESPACE = "cache-namespace", "the wrong pods could use the bucket, or none"
    CACHE_UNREACHABLE = (
        "cache-unreachable",
        "requests would break, or not find the cache or the server of an object",
    )

    # --- fault remediation and monitoring -----------------------------------------------------
    HEALER_CLASH = "healer-clash", "two healers would drain and reboot one host against each other"
    HEALER_EMPTY = "healer-empty", "a repair without a condition is due on every healthy host"
    HEALER_MEANINGLESS = "healer-meaningless", "the setting promises what no healer will do"
    REPAIR_ALL_AT_ONCE = (
        "repair-all-at-once",
        "one wrong check would take the whole pool out, or etcd's majority",
    )
    REPAIR_LOOP = "repair-loop", "hosts would be drained and rebooted again and again"
    REPAIR_STUCK = "repair-stuck", "the repair would never end, or count as failed though it helped"
    UNKNOWN_RECEIVER = "unknown-receiver", "Alertmanager refuses it all, and nobody would be called"
    ALERT_MEANINGLESS = (
        "alert-meaningless",
        "nobody looks at what is told always, and nobody hears what is told never",
    )

    # --- Secrets ------------------------------------------------------------------------------
    SECRET_STORE = "secret-store", "the Secret would never be made, and what reads it would wait"
    SECRET_CLASH = "secret-clash", "what reads one Secret would be given the other's content"
    SECRETS_MEANINGLESS = (
        "secrets-meaningless",
        "it looks as if Secrets were fetched, and none is",
    )

    # --- objects ------------------------------------------------------------------------------
    OBJECT_INVALID = "object-invalid", "the API server would refuse the object"

    # --- policies -----------------------------------------------------------------------------
    POLICY_VIOLATED = "policy-violated", "a rule that holds for every site would be broken"
    POLICY_FILE = "policy-file", "a rule that cannot be judged holds nothing back"
    CEL_RULE = "cel-rule", "the API server would refuse the rule, or judge not what it says"
    CEL_UNSAFE = "cel-unsafe", "nodes that cannot report any more are taken for dead"
    EXCEPTION_EXPIRED = (
        "exception-expired",
        "what was meant for a while would stay for ever, and nobody asks why",
    )
    EXCEPTION_UNUSED = (
        "exception-unused",
        "it would let pass, unseen, what somebody adds later",
    )
