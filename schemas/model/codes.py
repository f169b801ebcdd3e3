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
    FILE_UNREADABLE = "file-unreadable", "nothing can be checked in a file that cannot be read"
    YAML_SYNTAX = "yaml-syntax", "the file has no single meaning, and Foresite does not guess"
    FILE_TOO_LARGE = "file-too-large", "a file too large to review hides what it changes"
    FILE_EMPTY = "file-empty", "an empty file would mean a site without machines"
    FILE_ENCODING = "file-encoding", "tools that guess another encoding read different text"
    FILE_CHARACTER = "file-character", "what a reviewer sees is not what the machines get"
    YAML_TOO_DEEP = "yaml-too-deep", "deep nesting exhausts the memory of tools that read the file"
    YAML_TAG = "yaml-tag", "a tag changes the type of a value, and parsers disagree how"
    YAML_ANCHOR = (
        "yaml-anchor",
        "a value elsewhere in the file would change this one, invisible in review",
    )
    YAML_MERGE_KEY = "yaml-merge-key", "merged fields are invisible here and not part of YAML 1.2"
    YAML_DIRECTIVE = "yaml-directive", "a directive changes the meaning of the whole file"
    YAML_DOCUMENTS = "yaml-documents", "a tool that reads one document silently drops the others"
    YAML_DUPLICATE_KEY = "yaml-duplicate-key", "tools silently keep the first or the last value"
    YAML_KEY_TYPE = "yaml-key-type", "a key that is no text is renamed or refused by other tools"
    YAML_NUMBER = "yaml-number", "other tools would read another number, or refuse it"

    # --- the host list ------------------------------------------------------------------------
    HOSTS_TEXT = (
        "hosts-text",
        "a host list that can be read in two ways could provision the wrong host",
    )
    HOSTS_COLUMNS = "hosts-columns", "a shifted cell would send one host's address to another"
    HOSTS_CELL = "hosts-cell", "the Bare Metal Operator could not reach or boot the host"

    MORE_PROBLEMS = "more-problems", "what is not shown may matter more than what is"

    # --- one value ----------------------------------------------------------------------------
    UNKNOWN_FIELD = "unknown-field", "a misspelt field is a setting that silently does nothing"
    MISSING_FIELD = "missing-field", "the field has no safe default"
    WRONG_TYPE = "wrong-type", "the next tool could read a value of another type differently"
    INVALID_VALUE = "invalid-value", "the API server or a host would refuse it later"
    OUT_OF_BOUNDS = "out-of-bounds", "outside these bounds the setting harms the site"
    TODO_LEFT = "todo-left", "only a person knows the value"
    PLACEHOLDER = (
        "placeholder",
        "nothing answers at a host of .example, so nothing is fetched",
        True,
    )
    ARGUMENT_UNCHECKED = (
        "argument-unchecked",
        "a program of the control plane does not start with an argument that it does not have",
        True,
    )
    SECRET_IN_FILE = "secret-in-file", "everyone who ever clones the repository knows what is in it"

    # --- names that lead nowhere --------------------------------------------------------------
    SITE_NAME_MISMATCH = (
        "site-name-mismatch",
        "the stack, the namespace and the file would name different sites",
    )
    SITE_UNKNOWN = "site-unknown", "there is no such site"
    FILE_MISSING = "file-missing", "a fresh clone does not have what the site needs"
    FILE_CONTENT = "file-content", "hosts or the cluster would refuse the file's content"
    UNKNOWN_RELEASE = "unknown-release", "the release defines every version and digest"
    UNKNOWN_HARDWARE = (
        "unknown-hardware",
        "the profile defines the host's disks, accelerators and install time",
    )
    UNSTABLE_DISK = "unstable-disk", "an install could wipe the disk that holds the data"
    UNKNOWN_OS = "unknown-os", "there is no image that the hosts could boot"
    OS_IMAGE_MISSING = (
        "os-image-missing",
        "the host would be wiped, and would then have nothing to boot",
    )
    UNKNOWN_POOL = "unknown-pool", "a setting that names it would apply to no machine"
    UNKNOWN_FAULT = "unknown-fault", "no check sets its condition, so no host would be repaired"
    UNKNOWN_ZONE = "unknown-zone", "the host would get no address"
    DUPLICATE_NAME = (
        "duplicate-name",
        "two objects with one name overwrite each other again and again",
    )
    RESERVED_NAME = "reserved-name", "the name is reserved for something else"
    IDENTITY_UNKNOWN = "identity-unknown", "nobody could log in under the name and use its rights"
    CONTEXT_CLASH = "context-clash", "objects meant for one cluster would be applied to another"
    TEMPLATE_MARK = (
        "template-mark",
        "cloud-init and Prometheus would fill it in, or refuse the whole file",
    )

    PORT_TAKEN = "port-taken", "only one program of a host can listen on a port"

    # --- networks -----------------------------------------------------------------------------
    NETWORK_NOT_CANONICAL = (
        "network-not-canonical",
        "two spellings of one network hide that they overlap",
    )
    ADDRESS_RESERVED = (
        "address-reserved",
        "no other machine and no pod could reach anything there",
    )
    NETWORK_OVERLAP = "network-overlap", "packets for one network would go to the other"
    NETWORK_TOO_SMALL = "network-too-small", "hosts beyond its size would never get ready"
    NETWORK_TOO_LARGE = "network-too-large", "kubeadm refuses to start a control plane with it"
    ENDPOINT_OUTSIDE = "endpoint-outside", "no host could serve this address of the Kubernetes API"
    ENDPOINT_TAKEN = "endpoint-taken", "two machines would serve this address of the Kubernetes API"
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
    CONTROL_PLANE_RACK = (
        "control-plane-rack",
        "the cluster ends with the rack's power or its switch",
        True,
    )
    ROLLOUT_STUCK = "rollout-stuck", "the rollout would wait forever, and replace no machine"
    ROLLOUT_ALL_AT_ONCE = (
        "rollout-all-at-once",
        "one bad image would take the whole pool out of service",
    )
    ROLLOUT_MEANINGLESS = "rollout-meaningless", "no rollout would act on the setting"
    SURGE_UNUSED = (
        "surge-unused",
        "a new Machine without a free host waits until an old Machine is deleted",
        True,
    )
    SPARES_TOO_MANY = "spares-too-many", "no machine of the pool would be left"
    HEALTH_CHECK_LOOP = (
        "health-check-loop",
        "machines would be deleted while they install, again and again",
    )
    HEALTH_CHECK_MEANINGLESS = (
        "health-check-meaningless",
        "no health check would act on the setting",
    )
    KUBELET_EVICTION = "kubelet-eviction", "pods would be evicted before unused images are deleted"
    LABEL_RESERVED = "label-reserved", "the kubelet refuses the label, or another value wins"
    LABELS_TOO_LONG = "labels-too-long", "Cluster API refuses so long an argument of the kubelet"

    # --- accelerators and network devices -----------------------------------------------------
    ACCELERATOR_UNKNOWN = (
        "accelerator-unknown",
        "no device plugin or driver would offer the devices as a resource",
    )
    ACCELERATOR_UNSERVED = "accelerator-unserved", "the chosen way cannot give the devices to pods"
    RESOURCE_CLASH = "resource-clash", "pods would get another device than they asked for"
    IMAGE_UNKNOWN = "image-unknown", "no image is configured for a program that runs on the hosts"
    NETWORK_DEVICE_CLASH = (
        "network-device-clash",
        "one interface would be handed to pods in two ways at once",
    )
    NETWORK_DEVICE_UNSUPPORTED = (
        "network-device-unsupported",
        "the SR-IOV operator or the NIC would refuse it, or nothing would apply it",
    )

    # --- scheduling ---------------------------------------------------------------------------
    SCHEDULER_CLASH = "scheduler-clash", "two schedulers would give one device to two pods"
    SCHEDULER_INCOMPLETE = "scheduler-incomplete", "pods that name the scheduler would never start"
    SCHEDULER_MEANINGLESS = (
        "scheduler-meaningless",
        "no scheduler would act on the setting",
    )
    GANG_TIMEOUT = "gang-timeout", "gangs would wait for a different time than the file says"
    UNKNOWN_PRIORITY = (
        "unknown-priority",
        "the API server refuses pods whose PriorityClass does not exist",
    )
    PRIORITY_CLASH = "priority-clash", "the order in which pods start would be left to chance"
    TEAM_CLASH = "team-clash", "two teams would share what each is guaranteed for itself"
    OVERCOMMITTED = "overcommitted", "a team would wait for what it is guaranteed"
    LIMIT_UNSUPPORTED = (
        "limit-unsupported",
        "the limit would be written, and nothing would enforce it",
    )
    OFF_PEAK_MEANINGLESS = "off-peak-meaningless", "the off-peak limits would never apply"
    STORAGE_LIMITS = (
        "storage-limits",
        "the API server would refuse every pod that sets no value of its own",
    )

    # --- the object cache ---------------------------------------------------------------------
    CACHE_QUOTA = "cache-quota", "buckets would evict each other's objects"
    CACHE_CAPACITY = "cache-capacity", "the disk would be full before the cache evicts anything"
    CACHE_TABLE = (
        "cache-table",
        "Envoy refuses the table, or the loss of one host would move many keys",
    )
    CACHE_NAMESPACE = "cache-namespace", "the wrong pods could use the bucket, or none"
    CACHE_UNREACHABLE = (
        "cache-unreachable",
        "requests would fail, or would not find the cache or the server of an object",
    )

    # --- fault remediation and monitoring -----------------------------------------------------
    HEALER_CLASH = "healer-clash", "two remediators would drain and reboot the same host"
    HEALER_EMPTY = "healer-empty", "a repair without a condition would run on every healthy host"
    HEALER_MEANINGLESS = "healer-meaningless", "no remediator would act on the setting"
    REPAIR_ALL_AT_ONCE = (
        "repair-all-at-once",
        "one wrong check would take the whole pool out of service, or cost etcd its majority",
    )
    REPAIR_LOOP = "repair-loop", "hosts would be drained and rebooted again and again"
    REPAIR_STUCK = (
        "repair-stuck",
        "the repair would never end, or would count as failed although it helped",
    )
    UNKNOWN_RECEIVER = (
        "unknown-receiver",
        "Alertmanager refuses the whole configuration, and nobody would be notified",
    )
    ALERT_MEANINGLESS = (
        "alert-meaningless",
        "an alert that always fires is ignored; one that never fires helps nobody",
    )

    # --- Secrets ------------------------------------------------------------------------------
    SECRET_STORE = (
        "secret-store",
        "the Secret would never be created, and pods that read it would wait",
    )
    SECRET_CLASH = "secret-clash", "readers of one Secret would get the other's content"
    SECRETS_MEANINGLESS = (
        "secrets-meaningless",
        "the file looks as if Secrets were fetched, and none is",
    )

    # --- objects ------------------------------------------------------------------------------
    OBJECT_INVALID = "object-invalid", "the API server would refuse the object"

    # --- policies -----------------------------------------------------------------------------
    POLICY_VIOLATED = "policy-violated", "the objects would break a rule that applies to every site"
    POLICY_FILE = "policy-file", "a rule that cannot be evaluated refuses nothing"
    CEL_RULE = (
        "cel-rule",
        "the API server would refuse the rule, or evaluate something else than the rule says",
    )
    CEL_UNSAFE = "cel-unsafe", "nodes that cannot report any more count as failed"
    EXCEPTION_EXPIRED = (
        "exception-expired",
        "a temporary exception would become permanent, and nobody would ask why",
    )
    EXCEPTION_UNUSED = (
        "exception-unused",
        "it would silently allow a violation that somebody adds later",
    )
