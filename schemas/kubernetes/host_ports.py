"""TCP ports that programs of a cluster's own hosts have, and so nothing else there."""

from schemas.kubernetes.tables import read_table

NODE_PORT_RANGE = range(30_000, 32_768)
"""Ports of Services on all hosts (Kubernetes 1.34, options.go, DefaultServiceNodePortRange)."""
_OWNERS = read_table(__file__)


def port_owner(port: int, *, control_plane: bool) -> str:
    """The owner of a port of hosts, or of control planes; empty if it has none."""
    owner: str = _OWNERS["every_host"].get(str(port), "")
    if port in NODE_PORT_RANGE:
        owner = f"Services (NodePort, {NODE_PORT_RANGE[0]} to {NODE_PORT_RANGE[-1]})"
    return owner or (_OWNERS["control_plane"].get(str(port), "") if control_plane else "")
