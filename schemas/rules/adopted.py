"""Rules on adopted clusters: an object that is kept (schemas/facts/adopted.py) is the site's, and
the site file has no field in whose place it stands, as that would do nothing."""

from collections.abc import Iterator

from schemas.facts.adopted import CONTROL_PLANE, DEPLOYMENT, HOST, KINDS, kept, kept_machines
from schemas.facts.site import Site
from schemas.kubernetes.bodies import Json, mapping, texts
from schemas.kubernetes.manifests import ManifestError, read_objects
from schemas.kubernetes.objects import check_object
from schemas.model.adopted import Adopted
from schemas.model.cluster import Cluster
from schemas.model.site_file import Pool
from schemas.model.vocabulary import Role
from schemas.reading.literal_secrets import place_of
from schemas.rules.finding import Finding, InPool, Path, TextPlace, say

_AT: Path = ("adopted", "objects")
_OF_POOL = """os rollout health_check labels taints labels_in_place taints_in_place kubelet
    host_settings first_boot host_network"""
_OF_CLUSTER = """certificate_names authentication audit encryption admission arguments
    renew_certificates_days"""
"""Fields that only templates and the KubeadmControlPlane carry to machines."""


def adopted_objects(site: Site, adopted: Adopted) -> Iterator[Finding]:
    """Each kept object is of a kind that may be kept, of this cluster, and in use."""
    text, file = site.texts.get(adopted.objects), f"sites/{adopted.objects}"
    if text is None:
        return
    try:
        objects = read_objects(text)
    except ManifestError as error:
        at = TextPlace(file, error.line, error.column, _AT)
        yield say("adopted-unreadable", at, adopted.objects, error)
        return
    users = {
        DEPLOYMENT: ("pool", {p.adopted.deployment for p in site.file.pools if p.adopted}),
        CONTROL_PLANE: ("adopted.control_plane", {adopted.control_plane}),
        HOST: ("host", set(site.cells("name"))),
        "Cluster": ("adopted.cluster", {adopted.cluster}),
    }
    seen = set()
    for body, line in objects:
        kind, name = body["kind"], str(body["metadata"]["name"])
        at = TextPlace(file, line, 1, _AT)
        if why := _foreign(body, adopted) or ("it is there twice" if (kind, name) in seen else ""):
            yield say("adopted-foreign", at, kind, name, why)
        elif kind in users and name not in users[kind][1]:
            yield say("adopted-unused", at, kind, name, users[kind][0])
        else:  # what is made of it has another number of machines: no fault would show there
            yield from _misfits(body, text, at)
        seen.add((kind, name))
    for kind, name in (("Cluster", adopted.cluster), ("Metal3Cluster", "")):
        if not any(each == (kind, name or each[1]) for each in seen):
            yield say("adopted-missing", _AT, adopted.objects, kind, f" {name}".rstrip())


def _misfits(body: Json, text: str, at: TextPlace) -> Iterator[Finding]:
    """What its schema does not take of a kept object's spec."""
    bare = {key: body["metadata"][key] for key in ("name", "namespace")}
    for fault in check_object({**body, "metadata": bare}):
        line, column = place_of(str((fault.path or ("spec",))[-1]), text.split("\n"), at.line)
        spot = TextPlace(at.file, line, column, _AT)
        where = ".".join(map(str, fault.path))
        yield say(
            "adopted-misfit", spot, body["kind"], body["metadata"]["name"], where, fault.message
        )


def _foreign(body: Json, adopted: Adopted) -> str:
    """The reason why an object may not be kept; empty where it may."""
    kind = body["kind"]
    if KINDS.get(kind) != body["apiVersion"]:
        return f"of the kinds only {', '.join(KINDS)} are"
    if body["metadata"].get("namespace") != adopted.namespace:
        return f"it is not in namespace {adopted.namespace}"
    return "" if isinstance(body.get("spec"), dict) else "it has no spec"


def adopted_pool(at: InPool) -> Iterator[Finding]:
    """A pool whose machines stay as they were says nothing that would not reach them."""
    site, pool, adopted = at.site, at.pool, at.site.file.adopted
    body = kept_machines(site, pool)
    if body is None or adopted is None:
        return
    named = (body["kind"], body["metadata"]["name"], adopted.objects)
    for field in _OF_POOL.split():
        if getattr(pool, field) != Pool.model_fields[field].default:
            yield say("adopted-idle", at.path(field), field, *named)
    control_plane = pool.role is Role.CONTROL_PLANE
    for field in _OF_CLUSTER.split() if control_plane else ():
        if getattr(site.file.cluster, field) != Cluster.model_fields[field].default:
            yield say("adopted-idle", ("cluster", field), field, *named)
    spec = mapping(body, "spec")
    version = (spec if control_plane else mapping(mapping(spec, "template"), "spec")).get("version")
    if version != site.version(pool):
        own = control_plane or site.file.cluster.workers is None
        how = f"add workers: {version}" if own and not control_plane else f"write {version}"
        place = ("cluster", "kubernetes" if own else "workers")
        yield say("adopted-differs", place, site.version(pool), version, how, *named)


def adopted_network(site: Site, adopted: Adopted) -> Iterator[Finding]:
    """The site's networks and endpoint are those that its Cluster has."""
    cluster = site.file.cluster
    for (kind, name), body in kept(site).items():
        spec = mapping(body, "spec")
        network, endpoint = mapping(spec, "clusterNetwork"), mapping(spec, "controlPlaneEndpoint")
        said: dict[str, object] = {}
        if kind == "Metal3Cluster":
            said = {"endpoint": endpoint.get("host"), "port": endpoint.get("port")}
        elif kind == "Cluster" and name == adopted.cluster:
            said = {key: next(iter(texts(mapping(network, key), "cidrBlocks")), None)
                    for key in ("pods", "services")}  # fmt: skip
        for field, value in said.items():
            if value is not None and value != getattr(cluster, field):
                own = getattr(cluster, field)
                yield say("adopted-network-differs", ("cluster", field), own, value, kind, name)
