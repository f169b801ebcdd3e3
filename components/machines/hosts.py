"""BareMetalHosts: one object a host, owned up to what a person knows of it. What the Metal3
provider writes once a Machine takes the host (image, user data, power) is its own."""

import functools
import json
from collections import Counter
from collections.abc import Callable, Mapping
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

Bodies = Mapping[tuple[str, str], Json]
"""Objects by component and logical name."""
PROVIDER_FIELDS = ("spec.online", "spec.automatedCleaningMode")
"""Fields that the Metal3 provider writes on a host that we must or the API server does set at
creation (CAPM3 1.13, metal3machine_manager.go). ``online`` is required by the schema."""
GOING = "machines of hosts that go out"
"""The losses that ``lost_machines`` counts of hosts that go out."""
_OWNERS = ("MachineDeployment", "KubeadmControlPlane")


def is_out(body: Json) -> bool:
    """True of a BareMetalHost that is away for repair: it has no machine that could be lost."""
    return mapping(body, "metadata", "labels").get(names.STATE_LABEL) == OUT


def lost_machines(before: Bodies, after: Bodies) -> tuple[int, int]:
    """How many machines hosts that go out take from their pools at once where that is no upkeep: in
    a pool more than one, and more than a tenth of its hosts in service. Where a spare steps in for
    a host no machine is lost. And how many fewer machines workers' pools have besides."""
    there, going, lost = Counter[str](), Counter[str](), Counter[str]()
    fewer = Counter({
        name.partition("/")[2]: _replicas(body) - _replicas(after.get((component, name), {}))
        for (component, name), body in before.items() if body["kind"] in _OWNERS
    })  # fmt: skip
    for key, body in before.items():
        if body["kind"] == "BareMetalHost" and not is_out(body):
            labels = mapping(body, "metadata", "labels")
            pool = labels.get(names.POOL_LABEL, "")
            owners = (f"{pool}/{labels.get(names.ZONE_LABEL)}", pool)
            owner = next((each for each in owners if each in fewer), "")  # else the control plane
            there[owner.partition("/")[0]] += 1
            going[owner] += is_out(after.get(key, {}))
    for owner, count in (fewer & going).items():
        lost[owner.partition("/")[0]] += count
    many = sum(count for pool, count in lost.items() if count > max(1, there[pool] // 10))
    return many, sum(count for owner, count in (fewer - going).items() if owner)


def _replicas(body: Json) -> int:
    replicas = mapping(body, "spec").get("replicas")
    return replicas if isinstance(replicas, int) else 0


def hosts(site: Site) -> list[Manifest]:
    """A BareMetalHost for each line of the host list; protected, as deleting one wipes it, unless
    the host is out."""
    secret = site.file.bmc.credentials
    place, stay = (management_names(site).namespace, site.name), kept(site)
    make = {p.name: _maker(place, _shape(site.profile(p), secret)) for p in site.file.pools}
    made = [make[host.pool](host) for host in site.hosts]
    if not stay:
        return made
    pairs = ((each, stay.get((HOST, each.key[3]))) for each in made)
    return [kept_host(each, body) if body else each for each, body in pairs]


class _Shape(NamedTuple):
    """What the hosts of a profile have alike: ``scheme`` and ``path`` of a BMC's address, its path
    where the host list names none, and further fields of the spec as JSON."""

    scheme: str
    path: str
    unverified: bool
    secret: str | None
    mode: str
    disk: RootDisk
    more: str


def _shape(profile: HardwareProfile, secret: str | None) -> _Shape:
    """The shape of a profile's hosts; an empty list of RAID volumes deletes them."""
    bmc, said = profile.bmc, profile.model_dump(include={"raid"}, by_alias=True, exclude_none=True)
    path = "" if bmc.protocol is BmcProtocol.IPMI else bmc.system_path
    more: Json = {"architecture": "aarch64"} if profile.arch is Arch.ARM64 else {}
    more |= {"raid": {"hardwareRAIDVolumes": said["raid"]}} if said else {}
    boot = profile.boot_mode.value, profile.root_disk
    unverified = not bmc.verify_certificate
    return _Shape(f"{bmc.protocol.value}://", path, unverified, secret, *boot, json.dumps(more))


# The other side of a change has the same hosts, most of them of the same shape: an object that does
# not differ is the same one, which nobody has to compare.
@functools.lru_cache(maxsize=16)
def _maker(place: tuple[str, str], shape: _Shape) -> Callable[[Host], Manifest]:
    """Makes a host of a shape; ``place`` is its namespace, and the site."""
    return functools.lru_cache(maxsize=4096)(functools.partial(_host, place, shape))


def _host(place: tuple[str, str], shape: _Shape, host: Host) -> Manifest:
    spec = {
        "online": True,
        "bmc": {
            "address": f"{shape.scheme}{host.bmc}{'' if '/' in host.bmc else shape.path}",
            "credentialsName": bmc_secret(host.name, shape.secret),
            "disableCertificateVerification": shape.unverified,
        },
        "bootMACAddress": host.mac,
        **_boot(shape.mode, host.root_disk or shape.disk),
        **(json.loads(shape.more) if shape.more != "{}" else {}),
    }
    body = {**_identity(place, host), "spec": spec}
    # A board may be another one when it comes back, and no webhook lets a boot MAC change.
    anew = () if host.out else (f'metadata.annotations["{names.UNHEALTHY_ANNOTATION}"]',)
    name = f"BareMetalHost/{host.name}"
    return Manifest(name, body, protect=not host.out, ignore=PROVIDER_FIELDS, anew=anew)


def _identity(place: tuple[str, str], host: Host) -> Json:
    """A host without its spec; ``place`` is its namespace, and the site."""
    namespace, site = place
    found = {
        "name": host.name,
        "namespace": namespace,
        "labels": {
            **_labels(site),
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


_labels = functools.lru_cache(maxsize=4)(functools.partial(labels, component=names.COMPONENT))


@functools.cache
def _guards(*, protect: bool) -> dict[str, str]:
    """Annotations that ``annotated`` adds to each host."""
    (blank,) = annotate([Manifest("", {"metadata": {}}, protect=protect)])
    found: dict[str, str] = blank.body["metadata"]["annotations"]
    return found


# Disks of hosts are mostly those of their pool, which takes longer to say than all else.
@functools.lru_cache
def _boot(mode: str, disk: RootDisk | str) -> Json:
    hints = (RootDisk.parse(disk) if isinstance(disk, str) else disk).hints
    return prune({"bootMode": mode, "rootDeviceHints": hints})
