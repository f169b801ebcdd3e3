"""What a repair reads: the node, the host behind it, and where that host is."""

import re
from collections.abc import Mapping
from typing import NamedTuple, Self
from urllib.parse import quote

from node_repair.cluster import Json
from node_repair.names import REBOOT, TURN
from node_repair.notes import ADDRESS
from node_repair.state import listed, part, text

ASKED, HARD = "reboot.metal3.io", '{"mode":"hard"}'
"""By this annotation of a host its reboot is requested: off and on, without asking its system."""


class Booted(NamedTuple):
    """A node as a kubelet tells it, without characters that end a part of a note."""

    version: str
    provider: str
    boot: str
    ready: bool
    cordoned: bool
    notes: Json
    noted: str
    """Its annotation ``reboot``."""
    slot: str
    """The fault that is repaired."""
    conditions: Mapping[str, tuple[str, str]]
    """Status and message by type."""

    def device(self, condition: str) -> str:
        """The first PCI address that a condition names while it is True, without its function."""
        status, message = self.conditions.get(condition, ("", ""))
        found = ADDRESS.search(message.lower()) if status == "True" else None
        return found[0].partition(".")[0] if found else ""

    @classmethod
    def of(cls, body: Json) -> Self:
        """The node of an object."""
        metadata, status = part(body, "metadata"), part(body, "status")
        notes = part(metadata, "annotations")
        conditions = {
            text(each, "type"): (text(each, "status"), text(each, "message"))
            for each in listed(status, "conditions")
        }
        return cls(
            version=text(metadata, "resourceVersion"),
            provider=text(part(body, "spec"), "providerID"),
            boot=re.sub("[^0-9A-Za-z-]", "", text(part(status, "nodeInfo"), "bootID")),
            ready=conditions.get("Ready", ("",))[0] == "True",
            cordoned=part(body, "spec").get("unschedulable") is True,
            notes=notes,
            noted=re.sub("[^0-9A-Za-z,-]", "", text(notes, REBOOT)),
            slot=text(part(metadata, "labels"), TURN),
            conditions=conditions,
        )


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
