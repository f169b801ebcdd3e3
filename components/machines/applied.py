"""What an agent applies to the running hosts of a pool, as files with the content that they have at
their first boot: so a host that is installed again is equal to the others.

Cluster API never compares the content of a KubeadmConfigTemplate, only its name (v1.13.6,
internal/controllers/machinedeployment/mdutil/util.go, MachineTemplateUpToDate). So the name does
not follow these files, and they change under the same name. A control plane's configuration is
compared with every machine (controlplane/kubeadm/internal/filters.go): no agent serves it.
"""

from collections.abc import Callable
from typing import NamedTuple

from components.machines.certificates import certificate_files
from components.machines.kubelet import DROP_INS, IN_PLACE, configuration
from components.machines.proxy import proxy_files
from components.machines.registries import registry_files
from components.making.dump import dump
from schemas.facts.site import Site
from schemas.model.host_agent import InPlace
from schemas.model.site_file import Pool
from schemas.model.vocabulary import Role

STATE = "/var/lib/foresite/host-agent"
LIST = f"{STATE}/files"
"""The list of the files on a host that the agent looks after: what leaves it is deleted."""
DROP_IN = f"{DROP_INS}/50-foresite.conf"


class Applied(NamedTuple):
    """A file of a host that an agent looks after."""

    part: InPlace
    path: str
    content: str


def applies(site: Site, pool: Pool, part: InPlace) -> bool:
    """True if an agent applies a part of the settings of a pool's hosts."""
    agent = site.file.host_agent
    return pool.role is Role.WORKER and agent is not None and part in agent.applies


def applied_files(site: Site, pool: Pool) -> list[Applied]:
    """The files of a pool's hosts that an agent looks after, in the order of their parts."""
    return [
        Applied(part, path, text)
        for part, files in _FILES.items()
        if applies(site, pool, part)
        for path, text in files(site, pool).items()
    ]


def applied_list(site: Site, pool: Pool) -> str:
    """The list of these files as a host has it; empty where there are none."""
    return "".join(f"{each.path}\n" for each in applied_files(site, pool))


def not_in_name(site: Site, pool: Pool) -> tuple[str, ...]:
    """What the name of a pool's KubeadmConfigTemplate does not follow (``name_content``)."""
    found = {each.path for each in applied_files(site, pool)}
    if applies(site, pool, InPlace.TIME_SERVERS):
        found.add("ntp")
    return tuple(sorted({*found, LIST})) if found else ()


def _kubelet_files(site: Site, pool: Pool) -> dict[str, str]:
    """The kubelet's drop-in. Its own file has its defaults when they are merged, and with that of
    serializeImagePulls a kubelet with parallel pulls does not start (Kubernetes 1.34, cmd/kubelet/
    app/server.go, mergeKubeletConfigurations; apis/config/validation/validation.go)."""
    own = {key: each for key, each in configuration(site, pool).items() if key in IN_PLACE}
    if own.get("maxParallelImagePulls", 1) > 1:
        own["serializeImagePulls"] = False
    head = {"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration"}
    return {DROP_IN: dump({**head, **own})}


_FILES: dict[InPlace, Callable[[Site, Pool], dict[str, str]]] = {
    InPlace.REGISTRIES: lambda site, _: registry_files(site),
    InPlace.PROXY: proxy_files,
    InPlace.CERTIFICATES: certificate_files,
    InPlace.KUBELET: _kubelet_files,
}
