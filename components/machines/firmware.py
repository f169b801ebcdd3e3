"""Firmware of hosts: what the Bare Metal Operator sets and flashes through their BMCs."""

from collections.abc import Iterator

from components.machines.names import metadata
from components.making.manifest import Manifest, filled
from schemas.facts.site import Site


def firmware(site: Site) -> Iterator[Manifest]:
    """The objects of each host whose profile says what firmware it has."""
    made = {pool.name: site.profile(pool).firmware for pool in site.file.pools}
    for host in site.hosts:
        # The operator deletes these with their BareMetalHost, which is made anew.
        if (given := made[host.pool]) and not host.out:
            values = {
                "settings": given.settings,
                "updates": [each.model_dump() for each in given.updates],
                "reboot": "onReboot" if given.apply == "reboot" else None,
            }
            named = metadata(site, host.name)
            bodies = filled(__file__, metadata=named, **values)
            for body, said in zip(bodies, values.values(), strict=True):
                if said:
                    yield Manifest(f"{body['kind']}/{host.name}", body)
