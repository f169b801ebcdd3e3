"""The control plane: a KubeadmControlPlane, and the virtual IP that its hosts announce."""

from components.machines.adopted import as_kept
from components.machines.apiserver import api_server_files
from components.machines.arguments import SCHEDULER_CONFIG, cluster_configuration, scheduler_file
from components.machines.bootstrap import kubeadm_config, machine_labels, registration
from components.machines.host_settings import host_file
from components.machines.in_place import machine_taints
from components.machines.names import metadata
from components.machines.network_data import node_ip
from components.machines.templates import data_template, machine_template
from components.machines.workers import deletion
from components.making.dump import dump
from components.making.manifest import Json, Manifest, filled, prune
from components.making.told import Told
from schemas.facts.adopted import kept_machines, management_names
from schemas.facts.site import Site
from schemas.model.site_file import Pool
from schemas.model.vocabulary import Remedy, VirtualIp

TOLD = Told(__file__)
KUBE_VIP_MANIFEST = "/etc/kubernetes/manifests/kube-vip.yaml"
_INIT_ONLY = "test ! -f /run/kubeadm/kubeadm.yaml || "
"""That file is on the machine that runs ``kubeadm init`` only."""


def control_plane(site: Site) -> list[Manifest]:
    """The templates of the control plane's machines, and the KubeadmControlPlane."""
    pool = site.control_plane
    if stays := kept_machines(site, pool):
        return [as_kept(site, stays, "KubeadmControlPlane", pool)]
    data = data_template(site, pool)
    template, seconds = machine_template(site, pool, data), 60 * site.profile(pool).install_minutes
    times = {"minHealthyPeriodSeconds": 4 * seconds, "retryPeriodSeconds": 2 * seconds}
    replaces = pool.health_check.remedy is Remedy.REPLACE
    (body,) = filled(
        __file__,
        metadata=metadata(site, management_names(site).control_plane),
        replicas=site.replicas(pool),
        version=site.version(pool),
        renew_days=site.file.cluster.renew_certificates_days,
        surge=1 if site.free(pool) else 0,
        labels=machine_labels(site, pool),
        template=template.body["metadata"]["name"],
        deletion=deletion(pool),
        taints=machine_taints(pool),
        config=_config(site, pool),
        remediation={"remediation": {"maxRetry": 3, **times}} if replaces else {},
    )
    return [data, template, Manifest("KubeadmControlPlane", body, protect=True)]


def _config(site: Site, pool: Pool) -> Json:
    joining, config = registration(site, pool), kubeadm_config(site, pool)
    config["files"] += api_server_files(site)
    if scheduler := scheduler_file(site):
        config["files"].append(host_file(SCHEDULER_CONFIG, scheduler, "0600"))
    if site.file.cluster.virtual_ip is VirtualIp.ARP:
        config["files"].append(host_file(KUBE_VIP_MANIFEST, dump(kube_vip(site)), "0600"))
        # Until kubeadm 1.34.8 and 1.35.5 admin.conf gets its rights through the very address that
        # kube-vip is to announce (kubernetes/kubernetes#138449); the first machine starts with
        # super-admin.conf and goes back once the cluster is there.
        config.setdefault("preKubeadmCommands", []).append(_swap("admin", "super-admin"))
        config.setdefault("postKubeadmCommands", []).insert(0, _swap("super-admin", "admin"))
    # kubeadm join has no such phase, and Cluster API leaves a kube-proxy alone that is not there.
    skipped = None if site.file.cluster.kube_proxy else ["addon/kube-proxy"]
    # Without it the API server and etcd take the default route's address.
    endpoint = {"advertiseAddress": node_ip(site, pool).partition(",")[0] or None}
    first = {"skipPhases": skipped, "localAPIEndpoint": endpoint}
    return prune(
        {
            **config,
            "clusterConfiguration": cluster_configuration(site),
            "initConfiguration": {**joining, **first},
            "joinConfiguration": {**joining, "controlPlane": {"localAPIEndpoint": endpoint}},
        }
    )


def _swap(old: str, new: str) -> str:
    """A command that changes the kubeconfig kube-vip mounts, on the first machine only."""
    edit = f"s#path: /etc/kubernetes/{old}.conf#path: /etc/kubernetes/{new}.conf#"
    return f"{_INIT_ONLY}sed -i '{edit}' {KUBE_VIP_MANIFEST}"


def kube_vip(site: Site) -> Json:
    """The static pod that holds the endpoint, by leader election and ARP."""
    cluster = site.file.cluster
    values = {"endpoint": cluster.endpoint, "port": cluster.port, "image": site.release.kube_vip}
    (pod,) = TOLD.rows("kube_vip", **values)
    return pod
