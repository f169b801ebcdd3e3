"""ComputeDomains: NVIDIA's DRA driver for memory that GPUs of a rack share (IMEX), and nothing
else; GPUs stay with their device plugin."""

from pathlib import PurePosixPath

from components.accelerators.names import COMPONENT, metadata
from components.making import replicas
from components.making.daemons import Daemon, host_path, namespace, on_pool
from components.making.manifest import Json, Manifest, by_kind, filled, labels
from components.making.pod_security import SECURITY
from components.making.rights import account, role_and_binding, subject
from schemas.facts.feature_gates import uses_gpu_operator
from schemas.facts.racks import domain_settings, nvlink_pools
from schemas.facts.site import Site
from schemas.model.accelerators import CHANNEL_CLASS, DRIVER_IMAGE, ComputeDomains
from schemas.model.site_file import Pool

NAME = "compute-domain"
CONTROLLER, PLUGIN = f"{NAME}-controller", f"{NAME}-kubelet-plugin"
DAEMON_ACCOUNT = f"{NAME}-daemon-service-account"
"""The account that the controller names (templates/compute-domain-daemon.tmpl.yaml)."""
REPLICAS = 2


def compute_domains(site: Site) -> list[Manifest]:
    """The driver on the pools with NVLink domains; none where the site has no ComputeDomains."""
    chosen, pools = domain_settings(site), nvlink_pools(site)
    if chosen is None or not pools:
        return []
    where = chosen.namespace
    *classes, rules, program, _, _, _ = _documents(site, chosen, "/")
    return [
        namespace(site, where, COMPONENT, level="privileged"),
        *(each for body in classes for each in by_kind([body], body["metadata"]["name"])),
        *_rights(site, where, rules),
        _controller(site, where, program),
        *(_plugin(site, chosen, pool) for pool in pools),
    ]


def _documents(site: Site, chosen: ComputeDomains, driver: str) -> list[Json]:
    """The documents of the file beside this one, for a driver of the GPUs at a path of the host."""
    return filled(
        __file__,
        daemon_class=metadata(site, f"{NAME}-daemon.nvidia.com"),
        channel_class=metadata(site, CHANNEL_CLASS),
        policy=metadata(site, NAME, chosen.namespace),
        image=chosen.image or site.images[DRIVER_IMAGE],
        namespace=chosen.namespace,
        security=SECURITY,
        driver=driver,
        above=str(PurePosixPath(driver).parent),
    )


def _rights(site: Site, where: str, rules: Json) -> list[Manifest]:
    """The accounts, and what each may do: in the cluster, and in the driver's namespace."""
    names = {"controller": CONTROLLER, "kubelet-plugin": PLUGIN, "daemon": DAEMON_ACCOUNT}
    found = []
    for part, name in names.items():
        here, who = metadata(site, name, where), subject(name, where)
        wide = role_and_binding("ClusterRole", metadata(site, name), rules[part], who)
        bodies = [account(here), *wide]
        own = rules.get(f"{part}-here")
        bodies += role_and_binding("Role", here, own, who) if own else []
        found += by_kind(bodies, name)
    return found


def _controller(site: Site, where: str, program: Json) -> Manifest:
    selector = {"app.kubernetes.io/name": CONTROLLER}
    pod = replicas.pod(site, CONTROLLER, selector, enableServiceLinks=False)
    every = {**labels(site.name, COMPONENT), **selector}
    template = {"metadata": {"labels": every}, "spec": {**pod, "containers": [program]}}
    count = min(REPLICAS, site.replicas(site.control_plane))
    body = replicas.deployment(metadata(site, CONTROLLER, where), selector, count, template)
    return by_kind([body], CONTROLLER)[0]


def _plugin(site: Site, chosen: ComputeDomains, pool: Pool) -> Manifest:
    """The kubelet plugin of a pool. The driver is the OS image's, or the GPU operator's."""
    settings, model = site.file.accelerators, site.model(pool)
    operator = settings.gpu_operator if settings else None
    operated = operator and operator.drivers and model and uses_gpu_operator(site, model)
    root = "/run/nvidia/driver" if operated else "/"
    *_, wait, program, paths = _documents(site, chosen, root)
    daemon = Daemon(
        PLUGIN,
        chosen.namespace,
        COMPONENT,
        [program],
        volumes=[host_path(name, path, "DirectoryOrCreate") for name, path in paths.items()],
        init_containers=[wait],
        pod={"serviceAccountName": PLUGIN, "securityContext": {}},
        vital=True,
    )
    return on_pool(site, pool, daemon)
