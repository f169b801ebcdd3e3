"""Templates of Metal3 machines: what a host boots, which hosts qualify, how it is addressed.

Metal3DataTemplates are immutable, and Cluster API sees a change of a template only by its name: so
each is named by a hash of its content, the data template first, as the machine template names it.
Old ones are kept, because old MachineSets refer to them until a rollout is over.
"""

from components.machines.names import (
    BOOT_MAC_ANNOTATION,
    CLUSTER_LABEL,
    INFRASTRUCTURE_API,
    POOL_LABEL,
    RACK_LABEL,
    ZONE_LABEL,
    metadata,
)
from components.making.manifest import Json, Manifest, hash_name
from schemas.facts.site import Site
from schemas.model.site_file import Pool


def machine_template(site: Site, pool: Pool, data: Manifest, zone: str | None = None) -> Manifest:
    """The Metal3MachineTemplate of a pool (in one zone) with the pool's Metal3DataTemplate."""
    where = f"{pool.name}-{zone}" if zone else pool.name
    image = site.os_image(pool)
    selector = {POOL_LABEL: pool.name, **({ZONE_LABEL: zone} if zone else {})}
    spec: Json = {
        "template": {
            "spec": {
                "automatedCleaningMode": "metadata",
                "dataTemplate": {"name": data.body["metadata"]["name"]},
                "hostSelector": {"matchLabels": selector},
                "image": {
                    "url": f"{site.file.sources.os_images.rstrip('/')}/{image.file}",
                    "checksum": image.sha256,
                    "checksumType": "sha256",
                    "diskFormat": image.format.value,
                },
            }
        }
    }
    body = {
        "apiVersion": INFRASTRUCTURE_API,
        "kind": "Metal3MachineTemplate",
        "metadata": metadata(site, hash_name(where, spec)),
        "spec": spec,
    }
    logical = f"{pool.name}/{zone}" if zone else pool.name
    return Manifest(f"Metal3MachineTemplate/{logical}", body, keep=True)


def data_template(site: Site, pool: Pool) -> Manifest:
    """How a pool's hosts learn their name, zone, rack and address.

    The interface is found by the boot MAC, so no interface name has to be known. The provider
    takes labels of the rendered secrets from the template's cluster label.
    """
    spec: Json = {
        "clusterName": site.name,
        "metaData": {
            "objectNames": [
                {"key": key, "object": "baremetalhost"}
                for key in ("name", "local-hostname", "local_hostname")
            ],
            "fromLabels": [
                {"key": "zone", "object": "baremetalhost", "label": ZONE_LABEL},
                {"key": "rack", "object": "baremetalhost", "label": RACK_LABEL},
            ],
        },
        "networkData": {
            "links": {
                "ethernets": [
                    {
                        "id": "boot",
                        "type": "phy",
                        "macAddress": {
                            "fromAnnotation": {
                                "object": "baremetalhost",
                                "annotation": BOOT_MAC_ANNOTATION,
                            }
                        },
                    }
                ]
            },
            "networks": {
                "ipv4": [
                    {
                        "id": "primary",
                        "link": "boot",
                        "ipAddressFromIPPool": site.name,
                        "routes": [
                            {
                                "network": "0.0.0.0",
                                "prefix": 0,
                                "gateway": {"fromIPPool": site.name},
                            }
                        ],
                    }
                ]
            },
            "services": {"dns": list(site.first_boot(pool).dns)},
        },
    }
    body = {
        "apiVersion": INFRASTRUCTURE_API,
        "kind": "Metal3DataTemplate",
        "metadata": metadata(site, hash_name(pool.name, spec), **{CLUSTER_LABEL: site.name}),
        "spec": spec,
    }
    return Manifest(f"Metal3DataTemplate/{pool.name}", body, keep=True)
