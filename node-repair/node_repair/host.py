"""What a repair reads of the host behind a node, and where that host is."""

import re
from typing import NamedTuple, Self
from urllib.parse import quote

from node_repair.cluster import Json
from node_repair.state import part, text

ASKED, HARD = "reboot.metal3.io", '{"mode":"hard"}'
"""By this annotation of a host its reboot is requested: off and on, without asking its system."""


class Host(NamedTuple):
    """A BareMetalHost, the Metal3Machine that has it, and its serial number where it is known."""

    version: str
    consumer: str
    notes: Json
    serial: str

    @classmethod
    def of(cls, body: Json) -> Self:
        """The host of an object."""
        metadata = part(body, "metadata")
        consumer = text(part(body, "spec", "consumerRef"), "name")
        serial = text(part(body, "status", "hardware", "systemVendor"), "serialNumber")
        notes = part(metadata, "annotations")
        return cls(text(metadata, "resourceVersion"), consumer, notes, serial)


def named(provider: str, site: str) -> tuple[str, str] | None:
    """The host and Metal3Machine of a provider ID, metal3://NAMESPACE/HOST/METAL3MACHINE (Cluster
    API provider Metal3, baremetal/metal3machine_manager.go), if of this site."""
    form = rf"metal3://{re.escape(site)}/([0-9A-Za-z][0-9A-Za-z:._-]*)/([0-9A-Za-z:/._-]+)"
    found = re.fullmatch(form, provider)
    return (found[1], found[2]) if found else None


def host_path(site: str, name: str) -> str:
    """Where a site's host is on the management cluster."""
    return f"/apis/metal3.io/v1alpha1/namespaces/{site}/baremetalhosts/{quote(name, safe='')}"
