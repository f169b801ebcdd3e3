"""The steps of a host's first boot to become a node: the KubeadmConfigSpec of a pool.

cloud-init renders the whole of it as a jinja template on the host, so no text that a site brings
may hold jinja's marks: the types of the site file leave no room for them, and the
rule template-mark sees to URLs.
"""

from components.machines import host_settings
from components.machines.applied import LIST, applied_files, applied_list, applies
from components.machines.certificates import certificate_files, trust_command
from components.machines.data_disks import PROGRAM, data_disks_script
from components.machines.kubelet import DROP_INS, IN_PLACE, configuration
from components.machines.network_data import node_ip
from components.machines.proxy import proxy_files
from components.machines.registries import registry_files
from components.making.dump import dump
from components.making.manifest import Json, filled
from schemas.facts.site import Site
from schemas.kubernetes.node_labels import copied_to_nodes, kubelet_argument
from schemas.model.host_agent import InPlace
from schemas.model.site_file import Pool

PATCHES = "/etc/kubernetes/patches"


def kubeadm_config(site: Site, pool: Pool) -> Json:
    """The parts of a KubeadmConfigSpec that every machine of a pool has, but for its join."""
    boot, settings = site.first_boot(pool), site.host_settings(pool)
    lists = {
        "preKubeadmCommands": [*commands(site, pool), *host_settings.before_join(settings)],
        "bootCommands": host_settings.boot_commands(settings),
        "postKubeadmCommands": host_settings.after_join(settings),
    }
    (found,) = filled(
        __file__,
        files=[*files(site, pool), *host_settings.setting_files(settings, site.texts)],
        ntp=list(boot.ntp),
        user=boot.ssh.user,
        keys=list(boot.ssh.keys),
        commands={key: each for key, each in lists.items() if each},
    )
    return found


def registration(site: Site, pool: Pool) -> Json:
    """How a machine of a pool joins: named after its host, labelled with its place. By
    metal3.io/uuid the Metal3 provider finds the node to set its providerID."""
    arguments = {
        "node-labels": kubelet_argument(site.file.region, pool.labels),
        "node-ip": node_ip(site, pool),
        "config-dir": DROP_INS if applies(site, pool, InPlace.KUBELET) else "",
    }
    extra = [{"name": name, "value": value} for name, value in arguments.items() if value]
    found: Json = {"name": "{{ ds.meta_data.local_hostname }}", "kubeletExtraArgs": extra}
    if pool.taints is not None:
        found["taints"] = [t.model_dump(mode="json", exclude_defaults=True) for t in pool.taints]
    return {"nodeRegistration": found, "patches": {"directory": PATCHES}}


def machine_labels(site: Site, pool: Pool) -> dict[str, str]:
    """The labels of a pool's Machines that reach their nodes, in place."""
    return {
        **site.placing_labels(pool),
        **{key: value for key, value in sorted(pool.labels.items()) if copied_to_nodes(key)},
        **dict(sorted(pool.labels_in_place.items())),
    }


def files(site: Site, pool: Pool) -> list[Json]:
    """The files that a pool's hosts have before they join."""
    kubelet = configuration(site, pool)
    if applies(site, pool, InPlace.KUBELET):
        kubelet = {key: each for key, each in kubelet.items() if key not in IN_PLACE}
    script, listed = data_disks_script(site, pool), applied_list(site, pool)
    # The files of the other parts are there already, whoever applies them.
    further = [each for each in applied_files(site, pool) if each.part is InPlace.KUBELET]
    texts = {
        f"{PATCHES}/kubeletconfiguration+strategic.yaml": dump(kubelet),
        **registry_files(site),
        **proxy_files(site, pool),
        **({PROGRAM: script} if script else {}),
        **certificate_files(site, pool),
        **{each.path: each.content for each in further},
        **({LIST: listed} if listed else {}),
    }
    return [
        host_settings.host_file(path, text, "0755" if path == PROGRAM else "0644")
        for path, text in texts.items()
    ]


def commands(site: Site, pool: Pool) -> list[str]:
    """The commands that a pool's hosts run before they join: the files above take effect."""
    boot = site.first_boot(pool)
    found = [PROGRAM] if data_disks_script(site, pool) else []
    # Also without any where an agent may bring them.
    trusted = boot.ca_certificates or applies(site, pool, InPlace.CERTIFICATES)
    proxied = boot.proxy or applies(site, pool, InPlace.PROXY)
    found += [trust_command(site, pool)] if trusted else []
    found += ["systemctl daemon-reload"] if proxied else []
    found += ["systemctl restart containerd"] if trusted or proxied else []
    return found
