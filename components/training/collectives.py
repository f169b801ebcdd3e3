"""Settings of NCCL (and RCCL, which reads the same names) that follow from a pool's rails.

Only what is known is set, and only where the site names the RDMA devices (``hcas``): levels of
GPUDirect and the GID index are found by NCCL itself, from the PCI tree and the link.

Sources: NCCL 2.31, user guide, Environment Variables (NCCL_IB_HCA: "=" matches whole names;
NCCL_CROSS_NIC: 0 suits networks whose rails have switches of their own; NCCL_SOCKET_IFNAME); RCCL
7.1, Environment variables; containerd 2.1, internal/cri/server (a pod's own interface is eth0).
"""

from collections.abc import Iterator

from components.training.request import Refusal, refusal
from components.training.setting import Setting
from schemas.facts.host_networks import layout_of
from schemas.model.site_file import Pool

_READS_NCCL = ("nvidia", "amd")
_POD_INTERFACE = "eth0"


def collective_settings(setting: Setting) -> dict[str, str]:
    """The variables of a job's workers, as far as all its pools agree; none without RDMA."""
    record = setting.site.accelerators.get(setting.request.model)
    if not setting.request.rdma or record is None or record.vendor not in _READS_NCCL:
        return {}
    found = [dict(_of_pool(setting, pool)) for pool in setting.pools]
    alike = found and all(each == found[0] for each in found)
    return found[0] if alike else {}


def _of_pool(setting: Setting, pool: Pool) -> Iterator[tuple[str, str]]:
    shared = pool.network_devices.rdma
    if not shared or not all(each.hcas for each in shared):
        return
    layout = layout_of(setting.site, pool)
    # Empty where only its operating system names the interface with a host's own address.
    own = layout.primary if layout else ""
    socket = own if setting.needs.host_network else _POD_INTERFACE
    if all(each.by_rail for each in shared):
        yield "NCCL_CROSS_NIC", "0"
    yield "NCCL_IB_HCA", f"={','.join(name for each in shared for name in each.hcas)}"
    if socket:
        yield "NCCL_SOCKET_IFNAME", f"={socket}"


def contradictions(job: Setting) -> Iterator[Refusal]:
    """No word of the command says otherwise: NCCL would use other NICs than the pods were given."""
    known = collective_settings(job)
    for word in job.request.command:
        name, _, given = word.partition("=")
        if name in known and word != f"{name}={known[name]}":
            yield refusal("other_nics", name=name, given=given, known=known[name])
