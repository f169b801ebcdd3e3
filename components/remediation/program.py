"""The Deployments of our own programs: repair slots (turns.py), and single faulty devices."""

import json

from components.making import replicas
from components.making.faults import CONDITIONS, FAULTY_TAINT
from components.making.manifest import COMPONENT_LABEL, Json, Manifest, by_kind, filled
from components.making.pod_security import SECURITY
from components.remediation.names import COMPONENT, own, repair_image, selector_labels, settings_of
from components.remediation.rights import account
from schemas.facts.feature_gates import device_taint_api
from schemas.facts.site import Site
from schemas.model.vocabulary import Fault

INTERVAL_SECONDS = 20
"""Between two rounds: the checks of a node take longer to be sure."""
METRICS_PORT = 8080
REPLICAS = 2


def deployment(site: Site, name: str, container: Json, **more: Json | list[Json]) -> Json:
    """Two pods on different hosts; of two versions in a rollout one leads."""
    selector = selector_labels(name)
    pod = replicas.pod(site, name, selector, enableServiceLinks=False)
    metadata = own(site, name)
    spec = {**pod, "containers": [container], **more}
    template = {"metadata": {"labels": metadata["labels"]}, "spec": spec}
    count = min(REPLICAS, site.replicas(site.control_plane))
    return replicas.deployment(metadata, selector, count, template)


def program(
    site: Site, name: str, command: str, environment: dict[str, str], config: str = ""
) -> Manifest:
    """A program: its ``name``, the image's ``command``, and the ConfigMap read in each round."""
    given = {
        "NAMESPACE": settings_of(site).namespace,
        "NAME": name,
        "INTERVAL": str(INTERVAL_SECONDS),
        "PORT": str(METRICS_PORT),
        **environment,
    }
    mount = {"name": "config", "mountPath": "/config", "readOnly": True}
    volume = {"name": "config", "configMap": {"name": config}}
    (container,) = filled(
        __file__,
        name=name,
        image=repair_image(site),
        command=command,
        env=[{"name": key, "value": value} for key, value in given.items()],
        port=METRICS_PORT,
        security=SECURITY,
        mounts=[mount] if config else [],
    )
    more = [volume] if config else []
    return by_kind([deployment(site, name, container, volumes=more)], name)[0]


NAME = "device-taints"
FAULTS = (Fault.PCIE_LINK_DEGRADED,)


def device_taints(site: Site) -> list[Manifest]:
    """The objects of the program but its namespace; none where no device is taken out by itself."""
    if not any(site.taints_devices(pool) for pool in site.file.pools):
        return []
    return [*account(site, NAME), program(site, NAME, "devices", environment(site))]


def environment(site: Site) -> dict[str, str]:
    """The environment of the program (node_repair/devices.py)."""
    counted = settings_of(site).bad_devices
    pools = [pool.name for pool in site.file.pools if site.taints_devices(pool)]
    return {
        "DEVICETAINTS_API": device_taint_api(site),
        "DEVICETAINTS_FAULTS": json.dumps({CONDITIONS[each]: each for each in FAULTS}),
        "DEVICETAINTS_TAINT": FAULTY_TAINT,
        "DEVICETAINTS_POOLS": ",".join(pools),
        "DEVICETAINTS_OWNER": f"{COMPONENT_LABEL}={COMPONENT}",
        "DEVICETAINTS_PERCENT": str(settings_of(site).max_faulty_percent),
        **({"DEVICETAINTS_UP_TO": str(counted.taint_up_to)} if counted else {}),
    }
