"""The closed vocabularies of a site file: an enum for each axis, a sentence for each member."""

from enum import StrEnum


class Role(StrEnum):
    """The role of a pool's machines in their cluster."""

    CONTROL_PLANE = "control-plane"
    """Runs the Kubernetes API and etcd."""
    WORKER = "worker"
    """Runs pods."""


class VirtualIp(StrEnum):
    """The program that answers for the control plane's endpoint."""

    ARP = "arp"
    """kube-vip on the control plane's hosts, by ARP: they share one layer 2 network."""
    EXTERNAL = "external"
    """A load balancer that someone else runs."""


class PodNetworkInstall(StrEnum):
    """How the pod network's manifests get into the cluster."""

    CLUSTER_RESOURCE_SET = "cluster-resource-set"
    """Cluster API applies them as soon as the control plane answers."""
    DIRECT = "direct"
    """Registered with the site's own cluster once ``cluster.context`` is set."""


class RolloutStrategy(StrEnum):
    """The time when machines are replaced: MachineDeployment ``rollout.strategy.type``."""

    ROLLING_UPDATE = "RollingUpdate"
    """As soon as the template changes, a few at a time."""
    ON_DELETE = "OnDelete"
    """Only when someone deletes a Machine."""


class Remedy(StrEnum):
    """The remedy of Cluster API for a machine that fails its health check."""

    REBOOT = "reboot"
    """Metal3 power-cycles the host; the disk stays as it is."""
    REPLACE = "replace"
    """The Machine is deleted: its host is wiped and a free one is installed."""


class TaintEffect(StrEnum):
    """The effect of a taint on pods that do not tolerate it."""

    NO_SCHEDULE = "NoSchedule"
    """No new ones come."""
    PREFER_NO_SCHEDULE = "PreferNoSchedule"
    """New ones come only if no other node has room."""
    NO_EXECUTE = "NoExecute"
    """No new ones come, and those that run are evicted."""


class ModelBy(StrEnum):
    """How a resource that names a model becomes a device of that model."""

    ADMISSION = "admission"
    """An admission policy turns it into the plugin's resource on hosts of the model."""
    DRA = "dra"
    """A DeviceClass of the model's DRA driver bears its name (KEP-5004)."""


class BackendKind(StrEnum):
    """The scheduler that decides when pods start."""

    KUBE_SCHEDULER = "kube-scheduler"
    """A kube-scheduler of the site's own build, with the gang plugin, kube-throttler or both."""
    KUEUE = "kueue"
    """Kueue admits jobs whole, and the default scheduler places their pods."""
    VOLCANO = "volcano"
    """Volcano admits and places them."""


class TopologyLevel(StrEnum):
    """A part of a site within which a job's pods can be kept, the widest first."""

    ZONE = "zone"
    """The zone of the host list."""
    RACK = "rack"
    """The rack of the host list."""
    HOST = "host"
    """One host."""


class DataFormat(StrEnum):
    """Format of the data disks' file system."""

    XFS = "xfs"
    """XFS."""
    EXT4 = "ext4"
    """ext4."""


class LinkType(StrEnum):
    """Kind of a fast network's link."""

    ETHERNET = "ethernet"
    """Ethernet; RDMA over it is RoCE."""
    INFINIBAND = "infiniband"
    """InfiniBand."""


class SriovBy(StrEnum):
    """The program that divides interfaces into virtual functions."""

    OPERATOR = "operator"
    """The SR-IOV network operator; it drains a host to do so."""
    DEVICE_PLUGIN = "device-plugin"
    """The hosts' OS image; a device plugin hands the functions out."""


class VirtualFunctionDriver(StrEnum):
    """The driver of a virtual function, which decides what a pod gets."""

    NETDEVICE = "netdevice"
    """A network interface of the kernel."""
    VFIO_PCI = "vfio-pci"
    """The bare device, for drivers in user space."""


class CacheDiscovery(StrEnum):
    """How Envoy knows the servers of the object cache."""

    HOSTS = "hosts"
    """A file with the site's hosts, which Foresite writes: every Envoy has the same table."""
    DNS = "dns"
    """The cluster's DNS: Envoys disagree for seconds when a server comes or goes."""


class Fault(StrEnum):
    """A fault of a host, as a condition of its node."""

    ACCELERATOR_MISSING = "accelerator-missing"
    """Fewer accelerators work than the hardware profile has."""
    ACCELERATOR_ERROR = "accelerator-error"
    """The driver has reported an error that only a reboot clears (NVIDIA's XIDs, and messages that
    the model's ``kernel_log`` names)."""
    PCIE_LINK_DEGRADED = "pcie-link-degraded"
    """An accelerator has fewer PCIe lanes than its model."""
    DISK_FULL = "disk-full"
    """A file system has no space left."""
    READ_ONLY_FILESYSTEM = "read-only-filesystem"
    """A file system cannot be written any more, as after an error of its disk."""
    KERNEL_DEADLOCK = "kernel-deadlock"
    """A process hangs in the kernel."""
    FABRIC_DOWN = "fabric-down"
    """The switches between a host's accelerators do not work, or some of their links."""
    NETWORK_LINK_DOWN = "network-link-down"
    """An interface of the pool's network devices has no link, or a slower one than it should."""
    NETWORK_LINK_ERRORS = "network-link-errors"
    """Error counters of such an interface rise."""


class RemediatorKind(StrEnum):
    """The kind of remediator that repairs the faults of hosts."""

    NODE_OPERATION_CONTROLLER = "node-operation-controller"
    """Taint, drain, reboot by the BareMetalHost, and back."""
    MEDIK8S = "medik8s"
    """Node Health Check and Self Node Remediation: the host reboots itself."""


class Eviction(StrEnum):
    """How pods leave a host that is to be rebooted: NodeOperation ``evictionStrategy``."""

    EVICT = "evict"
    """By the eviction API, as their disruption budgets let them."""
    DELETE = "delete"
    """They are deleted, whatever their budgets say: for jobs that write checkpoints."""
    WAIT = "wait"
    """They end by themselves; only new ones are kept away."""


class ReceiverKind(StrEnum):
    """The kind of place where alerts go."""

    WEBHOOK = "webhook"
    """An HTTP endpoint of the site's own."""
    SLACK = "slack"
    """A channel of Slack."""
    PAGERDUTY = "pagerduty"
    """A service of PagerDuty."""


class Severity(StrEnum):
    """What happens to an object that breaks a rule; these are Pulumi's enforcement levels."""

    MANDATORY = "mandatory"
    """It is refused."""
    ADVISORY = "advisory"
    """Whoever deploys it gets a warning."""


class SecretStoreKind(StrEnum):
    """Whose a store of the External Secrets Operator is."""

    CLUSTER = "ClusterSecretStore"
    """One of the whole cluster."""
    NAMESPACE = "SecretStore"
    """One of that name in each namespace."""


class ClusterRule(StrEnum):
    """Rules that the API server of a site's own cluster holds, whoever deploys."""

    NAMESPACE_MARKS = "namespace-marks"
    """Labels and annotations by which rules know a namespace are Foresite's."""
    NAMESPACE_DELETION = "namespace-deletion"
    """Only who may change the rule deletes namespaces that Foresite made."""
    PRIVILEGED_PODS = "privileged-pods"
    """Pods in Foresite's privileged namespaces come from it and from controllers."""
    IMAGE_DIGEST = "image-digest"
    """Images in Foresite's own namespaces are named by digest."""
    NODE_MARKS = "node-marks"
    """Taints of faulty nodes, and labels by which nodes are found, stay."""
    EXPOSED_SERVICES = "exposed-services"
    """Services of teams answer inside the cluster alone."""
