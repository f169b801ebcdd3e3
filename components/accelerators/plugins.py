"""Device plugins and exporters: a DaemonSet of each for each pool, whoever makes the devices."""

from components.accelerators.names import COMPONENT, NAMESPACE, Served, metadata, served_pools
from components.accelerators.sharing import CONFIG, FILE, FOLDER, plugin_config, pool_config
from components.making.daemons import Daemon, host_path, on_pool
from components.making.faults import RESET_LABEL
from components.making.manifest import (
    Json,
    Manifest,
    content_digest,
    filled,
    prune,
    site_object,
)
from components.making.pod_security import RUNTIME_PROFILE
from schemas.facts.feature_gates import uses_gpu_operator
from schemas.facts.resets import reset_first
from schemas.facts.site import Site
from schemas.model.accelerators import Exporter, Program

PLUGINS = "/var/lib/kubelet/device-plugins"
"""Where a device plugin's socket meets the kubelet's."""
NO_DEVICE = "/dev/null"
"""What a mount that chooses devices is of (NVIDIA Container Toolkit, internal/config/image)."""
POD_RESOURCES = "/var/lib/kubelet/pod-resources"
"""Where the kubelet tells which pod has which device."""
_NOT_RESET = [{"matchExpressions": [{"key": RESET_LABEL, "operator": "DoesNotExist"}]}]
_REQUIRED = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": _NOT_RESET}}
PLUGIN, EXPORTER = "device-plugin", "exporter"
Seen = tuple[Json, Json]
"""A volume, and where it is mounted."""


def daemons(site: Site) -> list[Manifest]:
    """The DaemonSets of all pools that the GPU operator does not serve, and what they run in. Where
    a DRA driver hands devices out, a device plugin would hand them out twice."""
    found = []
    for each in served_pools(site):
        if uses_gpu_operator(site, each.model):
            continue
        if not site.uses_dra(each.model):
            found += [*pool_config(site, each), _plugin(site, each)]
        if each.record.exporter:
            found.append(_exporter(site, each, each.record.exporter))
    return [*runtime_classes(site), *found]


def runtime_classes(site: Site) -> list[Manifest]:
    """The container runtimes that pods of the models need; the GPU operator makes its own."""
    served = (each for each in served_pools(site) if not uses_gpu_operator(site, each.model))
    names = {each.record.runtime_class for each in served}
    return [
        site_object(f"RuntimeClass/{name}", "node.k8s.io/v1", metadata(site, name), handler=name)
        for name in sorted(filter(None, names))
    ]


def _plugin(site: Site, each: Served) -> Manifest:
    """The device plugin of a pool."""
    program = each.record.plugin
    seen: list[Seen] = [(host_path("plugins", PLUGINS, "Directory"), {"mountPath": PLUGINS})]
    container, read = _container(site, each, program, PLUGIN), {}
    if chosen := plugin_config(each):
        file = {"name": "CONFIG_FILE", "value": f"{FOLDER}/{FILE}"}
        container["env"] = [*(container["env"] or []), file]
        config = {"name": "config", "configMap": {"name": f"{CONFIG}-{each.pool.name}"}}
        seen.append((config, {"mountPath": FOLDER, "readOnly": True}))
        read = content_digest(chosen, CONFIG)
    return _on_pool(site, each, program, container, seen, read)


def _exporter(site: Site, each: Served, program: Exporter) -> Manifest:
    """The exporter of a pool; it may ask the kubelet which pod has which device."""
    container = {
        **_container(site, each, program, EXPORTER),
        "ports": [{"name": "metrics", "containerPort": program.port}],
        # Whoever's it is, it answers there; the next tenth of the pool waits for that.
        "readinessProbe": {"tcpSocket": {"port": "metrics"}},
    }
    node = {"name": "NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}
    container["env"] = [*(container["env"] or []), node]
    folder = host_path("pod-resources", POD_RESOURCES, "Directory")
    seen: list[Seen] = [(folder, {"mountPath": POD_RESOURCES, "readOnly": True})]
    scraped = {"prometheus.io/scrape": "true", "prometheus.io/port": str(program.port)}
    return _on_pool(site, each, program, container, seen, scraped)


def _container(site: Site, each: Served, program: Program, part: str) -> Json:
    """The container of a record, with no more rights than the record gives."""
    limited = {
        "allowPrivilegeEscalation": False,
        "capabilities": prune({"add": list(program.capabilities) or None, "drop": ["ALL"]}),
        "seccompProfile": RUNTIME_PROFILE,
    }
    (found,) = filled(
        __file__,
        part=part,
        # The record's own, or the release's of this vendor and part.
        image=program.image or site.images[f"{each.record.vendor}-{part}"],
        args=list(program.args) or None,
        env=[{"name": name, "value": value} for name, value in program.env.items()] or None,
        security={"privileged": True} if program.privileged else limited,
    )
    return found


def _on_pool(
    site: Site,
    each: Served,
    program: Program,
    container: Json,
    seen: list[Seen],
    annotations: dict[str, str],
) -> Manifest:
    """A DaemonSet of one container, which sees what ``seen`` mounts and the record's own paths."""
    for index, path in enumerate(program.host_paths):
        seen.append((host_path(f"host-{index}", path), {"mountPath": path}))
    if each.record.device_mounts:
        # An unprivileged container gets its devices in no other way: its variable is ignored.
        where = {"mountPath": f"{each.record.device_mounts}/all"}
        seen.append((host_path("devices", NO_DEVICE, "CharDevice"), where))
    mounts = [{"name": volume["name"], **mount} for volume, mount in seen]
    daemon = Daemon(
        name=str(container["name"]),
        namespace=NAMESPACE,
        component=COMPONENT,
        containers=[prune({**container, "volumeMounts": mounts})],
        volumes=[volume for volume, _ in seen],
        pod={
            "runtimeClassName": each.record.runtime_class,
            "securityContext": {},
            # It has the devices open: DaemonSets take their pods from nodes that do not fit.
            "affinity": {"nodeAffinity": _REQUIRED} if reset_first(site, each.pool) else None,
        },
        annotations=annotations,
        vital=True,
    )
    return on_pool(site, each.pool, daemon)
