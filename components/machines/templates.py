"""Templates of Metal3 machines: what a host boots, which hosts qualify, how it is addressed.

Metal3DataTemplates are immutable, and Cluster API sees a change of a template only by its name: so
each is named by a hash of its content, the data template first, as the machine template names it.
Old ones are kept, because old MachineSets refer to them until a rollout is over.
"""

from pathlib import Path

from components.machines.names import CLUSTER_LABEL, POOL_LABEL, ZONE_LABEL, metadata
from components.machines.network_data import addresses_to_metadata, network_data
from components.making.manifest import Manifest, filled, hash_name
from schemas.facts.adopted import management_names
from schemas.facts.site import Site
from schemas.model.site_file import Pool

_FOLDER = Path(__file__).parent


def machine_template(site: Site, pool: Pool, data: Manifest, zone: str | None = None) -> Manifest:
    """The Metal3MachineTemplate of a pool (in one zone) with the pool's Metal3DataTemplate."""
    where = f"{pool.name}-{zone}" if zone else pool.name
    image = site.os_image(pool)
    (body,) = filled(
        _FOLDER / "machine_template.yaml",
        data=data.body["metadata"]["name"],
        selector={POOL_LABEL: pool.name, **({ZONE_LABEL: zone} if zone else {})},
        url=f"{site.file.sources.os_images.rstrip('/')}/{image.file}",
        checksum=image.sha256,
        format=image.format.value,
    )
    body["metadata"] = metadata(site, hash_name(where, body["spec"]))
    logical = f"{pool.name}/{zone}" if zone else pool.name
    return Manifest(f"Metal3MachineTemplate/{logical}", body, keep=True)


def data_template(site: Site, pool: Pool) -> Manifest:
    """How a pool's hosts learn their name, zone, rack and address."""
    (body,) = filled(
        _FOLDER / "data_template.yaml",
        site=management_names(site).cluster,
        addresses=addresses_to_metadata(site, pool),
        network=network_data(site, pool),
    )
    name = hash_name(pool.name, body["spec"])
    body["metadata"] = metadata(site, name, **{CLUSTER_LABEL: management_names(site).cluster})
    return Manifest(f"Metal3DataTemplate/{pool.name}", body, keep=True)
