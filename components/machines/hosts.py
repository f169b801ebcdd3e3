"""BareMetalHosts: one object a host.

A host is owned up to what a person knows of it. What the Metal3 provider writes once a Machine
takes the host (image, user data, power) is its own.
"""

import functools
import json
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from components.machines import names
from components.machines.adopted import kept_host
from components.making.manifest import Json, Manifest, annotate, labels, prune
from schemas.facts.adopted import HOST, kept, management_names
from schemas.facts.secret_references import bmc_secret
from schemas.facts.site import Site
from schemas.kubernetes.bodies import mapping
from schemas.model.hardware import Arch, BmcProtocol, HardwareProfile, RootDisk
from schemas.reading.host_list import OUT, SPARE, Host

PROVIDER_FIELDS = ("spec.online", "spec.automatedCleaningMode")
"""Fields that the Metal3 provider writes on a host that we must or the API server does set at
creation (CAPM3 1.13, metal3machine_manager.go). ``online`` is required by the schema."""
GOING = "machines of hosts that go out"
"""The losses that ``mass_out`` counts."""
RECENT = 16_384
"""Hosts that are kept: bodies are never changed in place."""


class _Hardware(NamedTuple):
    """Facts that all hosts of a pool share."""

    scheme: str
    path: str
    credentials: str | None
    insecure: bool
    boot_mode: str
    disk: RootDisk
    arch: Arch
    raid: str | None

    @classmethod
    def of(cls, profile: HardwareProfile, credentials: str | None) -> "_Hardware":
        """The hosts of a profile."""
        ipmi = profile.bmc.protocol is BmcProtocol.IPMI
        return cls(
            scheme=profile.bmc.protocol.value,
            path="" if ipmi else profile.bmc.system_path,
            credentials=credentials,
            insecure=not profile.bmc.verify_certificate,
            boot_mode=profile.boot_mode.value,
            disk=profile.root_disk,
            arch=profile.arch,
            raid=_raid(profile),
        )


def _raid(profile: HardwareProfile) -> str | None:
    """The ``raid`` of a host as JSON, by which hosts are kept; an empty list deletes volumes."""
    said = profile.model_dump(include={"raid"}, by_alias=True, exclude_none=True)
    return json.dumps({"raid": {"hardwareRAIDVolumes": said["raid"]}}) if said else None


def is_out(body: Json) -> bool:
    """True of a BareMetalHost that is away for repair: it has no machine that could be lost."""
    return mapping(body, "metadata", "labels").get(names.STATE_LABEL) == OUT


def mass_out(pools: Iterable[str], going: Iterable[str]) -> int:
    """How many hosts go out at once where that is no upkeep: in a pool more than one, and more than
    a tenth. Both are the pools of hosts: of all in service, and of those that go out."""
    there = Counter(pools)
    return sum(n for pool, n in Counter(going).items() if n > max(1, there[pool] // 10))


def hosts(site: Site) -> list[Manifest]:
    """A BareMetalHost for each line of the host list; protected, as deleting one wipes it, unless
    the host is out."""
    hardware = {
        pool.name: _Hardware.of(site.profile(pool), site.file.bmc.credentials)
        for pool in site.file.pools
    }
    place, stay = (management_names(site).namespace, site.name), kept(site)
    made = [_host(place, host, hardware[host.pool]) for host in site.hosts]
    if not stay:
        return made
    pairs = ((each, stay.get((HOST, each.key[3]))) for each in made)
    return [kept_host(each, body) if body else each for each, body in pairs]


# Of two states that are compared most hosts are the same; each edit makes them all once more.
@functools.lru_cache(maxsize=RECENT)
def _host(place: tuple[str, str], host: Host, hardware: _Hardware) -> Manifest:
    spec = {
        "online": True,
        "bmc": {
            "address": f"{hardware.scheme}://{host.bmc}{'' if '/' in host.bmc else hardware.path}",
            "credentialsName": bmc_secret(host.name, hardware.credentials),
            "disableCertificateVerification": hardware.insecure,
        },
        "bootMACAddress": host.mac,
        **_boot(hardware.boot_mode, host.root_disk or hardware.disk),
        **({"architecture": "aarch64"} if hardware.arch is Arch.ARM64 else {}),
        **(json.loads(hardware.raid) if hardware.raid else {}),
    }
    body = {**_identity(place, host), "spec": spec}
    # A board may be another one when it comes back, and no webhook lets a boot MAC change.
    anew = () if host.out else (f'metadata.annotations["{names.UNHEALTHY_ANNOTATION}"]',)
    name = f"BareMetalHost/{host.name}"
    return Manifest(name, body, protect=not host.out, ignore=PROVIDER_FIELDS, anew=anew)


@functools.lru_cache(maxsize=RECENT)
def _identity(place: tuple[str, str], host: Host) -> Json:
    """A host without its spec; ``place`` is its namespace, and the site."""
    namespace, site = place
    found = {
        "name": host.name,
        "namespace": namespace,
        "labels": {
            **labels(site, names.COMPONENT),
            names.POOL_LABEL: host.pool,
            names.RACK_LABEL: host.rack,
            names.ZONE_LABEL: host.zone,
            names.FAILURE_DOMAIN_LABEL: host.zone,
            **({names.STATE_LABEL: host.state} if host.state in (SPARE, OUT) else {}),
        },
        "annotations": {
            names.BOOT_MAC_ANNOTATION: host.mac,
            names.SERIAL_ANNOTATION: host.serial,
            **_guards(protect=not host.out),
            **({names.UNHEALTHY_ANNOTATION: names.UNHEALTHY} if host.out else {}),
            **{names.MAC_ANNOTATION + key[4:]: mac for key, mac in host.more if key[:4] == "mac_"},
        },
    }
    return {"apiVersion": names.METAL3_API, "kind": "BareMetalHost", "metadata": found}


@functools.cache
def _guards(*, protect: bool) -> dict[str, str]:
    """Annotations that ``annotated`` adds to each host."""
    (blank,) = annotate([Manifest("", {"metadata": {}}, protect=protect)])
    found: dict[str, str] = blank.body["metadata"]["annotations"]
    return found


@functools.lru_cache(maxsize=RECENT)
def _boot(mode: str, disk: RootDisk | str) -> Json:
    hints = (RootDisk.parse(disk) if isinstance(disk, str) else disk).hints
    return prune({"bootMode": mode, "rootDeviceHints": hints})
