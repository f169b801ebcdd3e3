"""TCP ports that programs of a cluster's own hosts have, and so nothing else there."""

NODE_PORT_RANGE = range(30_000, 32_768)
"""Ports that Kubernetes hands out to Services on all hosts (1.34, pkg/kubeapiserver/options/
options.go, DefaultServiceNodePortRange)."""
_NODE_PORTS = {
    22: "sshd",
    10248: "the kubelet",
    10249: "kube-proxy",
    10250: "the kubelet",
    10256: "kube-proxy",
}
"""Kubernetes 1.34, pkg/cluster/ports/ports.go; an address of the loopback interface alone (10248,
10249) is taken as well for who listens on all addresses."""
_CONTROL_PLANE_PORTS = {
    2112: "kube-vip",
    2379: "etcd",
    2380: "etcd",
    2381: "etcd",
    10257: "kube-controller-manager",
    10259: "kube-scheduler",
}
"""Kubernetes 1.34, cmd/kubeadm/app/constants/constants.go; kube-vip's metrics as Foresite sets
them."""


def port_owner(port: int, *, control_plane: bool) -> str:
    """The owner of a port of hosts, or of control planes; empty if it has none."""
    owner = _NODE_PORTS.get(port, "")
    if port in NODE_PORT_RANGE:
        owner = f"Services (NodePort, {NODE_PORT_RANGE[0]} to {NODE_PORT_RANGE[-1]})"
    return owner or (_CONTROL_PLANE_PORTS.get(port, "") if control_plane else "")
