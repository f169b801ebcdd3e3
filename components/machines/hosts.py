"""BareMetalHosts and their addresses: one object a host, one IPPool a site.

A host is owned up to what a person knows of it. What the Metal3 provider writes once a Machine
takes the host (image, user data, power) is its own.
"""

from ipaddress import IPv4Network
from typing import Any

from components.machines.names import (
    BOOT_MAC_ANNOTATION,
    CLUSTER_LABEL,
    FAILURE_DOMAIN_LABEL,
    IPAM_API,
    METAL3_API,
    POOL_LABEL,
    RACK_LABEL,
    SERIAL_ANNOTATION,
    ZONE_LABEL,
    metadata,
)
from components.making.manifest import Manifest, pruned
from schemas.facts.secret_references import bmc_secret
from schemas.facts.site import Site
from schemas.model.hardware import BmcProtocol, HardwareProfile
from schemas.reading.host_list import Host

PROVIDER_FIELDS = ("spec.online", "spec.automatedCleaningMode")
"""Fields that the Metal3 provider writes on a host that we must or the API server does set at
creation (CAPM3 1.13, metal3machine_manager.go). ``online`` is required by the schema."""


def hosts(site: Site) -> list[Manifest]:
    """A BareMetalHost for each line of the host list; protected, as deleting one wipes it."""
    profiles = {
        pool.name: _hardware(site.profile(pool), site.file.bmc.credentials)
        for pool in site.file.pools
    }
    base = metadata(site, "")["labels"]
    return [
        Manifest(
            f"BareMetalHost/{host.name}",
            _host(site.name, host, base, profiles[host.pool]),
            protect=True,
            ignore=PROVIDER_FIELDS,
        )
        for host in site.hosts
    ]


def _host(
    namespace: str, host: Host, base: dict[str, str], hardware: dict[str, Any]
) -> dict[str, Any]:
    bmc, rest = hardware["bmc"], hardware["rest"]
    return {
        "apiVersion": METAL3_API,
        "kind": "BareMetalHost",
        "metadata": {
            "name": host.name,
            "namespace": namespace,
            "labels": {
                **base,
                POOL_LABEL: host.pool,
                RACK_LABEL: host.rack,
                ZONE_LABEL: host.zone,
                FAILURE_DOMAIN_LABEL: host.zone,
            },
            "annotations": {BOOT_MAC_ANNOTATION: host.mac, SERIAL_ANNOTATION: host.serial},
        },
        "spec": {
            "online": True,
            "bmc": {
                "address": f"{bmc['scheme']}://{host.bmc}{bmc['path']}",
                "credentialsName": bmc_secret(host.name, bmc["credentials"]),
                "disableCertificateVerification": bmc["insecure"],
            },
            "bootMACAddress": host.mac,
            **rest,
        },
    }


def _hardware(profile: HardwareProfile, credentials: str | None) -> dict[str, Any]:
    """The common data of all hosts of a profile."""
    disk = profile.root_disk
    ipmi = profile.bmc.protocol is BmcProtocol.IPMI
    return {
        "bmc": {
            "scheme": profile.bmc.protocol.value,
            "path": "" if ipmi else profile.bmc.system_path,
            "credentials": credentials,
            "insecure": not profile.bmc.verify_certificate,
        },
        "rest": pruned(
            {
                "bootMode": profile.boot_mode.value,
                "rootDeviceHints": {
                    "deviceName": disk.device_name,
                    "minSizeGigabytes": disk.min_size_gigabytes,
                    "rotational": disk.rotational,
                },
            }
        ),
    }


def addresses(site: Site) -> Manifest:
    """The IPPool that gives each host the address of its line.

    A claim is named <host>-<pool> where the Metal3 provider runs with
    --enable-bmh-name-based-preallocation (docs/machines.md); prefix and gateway are those of the
    range that holds the address (Metal3 IPAM 1.13, ippool_manager.go).
    """
    ranges = []
    for zone in site.file.zones:
        network = IPv4Network(zone.network)
        ranges.append(
            {
                "start": str(network[1]),
                "end": str(network[-2]),
                "subnet": zone.network,
                "prefix": network.prefixlen,
                "gateway": zone.gateway,
            }
        )
    body = {
        "apiVersion": IPAM_API,
        "kind": "IPPool",
        "metadata": metadata(site, site.name, **{CLUSTER_LABEL: site.name}),
        "spec": {
            "clusterName": site.name,
            "namePrefix": site.name,
            "pools": ranges,
            "preAllocations": {f"{host.name}-{site.name}": host.ip for host in site.hosts},
        },
    }
    return Manifest("IPPool", body, protect=True)
