"""Objects of an adopted cluster that stay as they were: whatever Cluster API compares is kept
(facts/adopted.py), so no machine is replaced; labels, annotations and the number are added."""

from components.machines.names import ADOPTED_ANNOTATION, metadata
from components.making.manifest import Json, Manifest
from schemas.facts.site import Site
from schemas.kubernetes.bodies import mapping
from schemas.model.site_file import Pool


def as_kept(site: Site, body: Json, logical: str, pool: Pool | None = None) -> Manifest:
    """An object as it stays; with a pool it has as many machines as that."""
    own = {"metadata": metadata(site, body["metadata"]["name"])}
    spec = {**body["spec"], "replicas": site.replicas(pool)} if pool else body["spec"]
    return Manifest(logical, {**_besides(body, own), "spec": spec}, protect=True)


def is_kept(made: Manifest) -> bool:
    """True if an object stays as it was adopted."""
    return ADOPTED_ANNOTATION in made.body["metadata"].get("annotations", {})


def kept_host(made: Manifest, body: Json) -> Manifest:
    """A BareMetalHost as it stays. Its webhook compares the BMC's address as text, and the API
    server the boot MAC: another spelling of what the host list says is kept."""
    new, spec = made.body["spec"], {**body["spec"]}
    bmc = mapping(spec, "bmc")
    if not same_bmc(str(bmc.get("address", "")), new["bmc"]["address"]):
        spec["bmc"] = {**bmc, "address": new["bmc"]["address"]}
    if str(spec.get("bootMACAddress", "")).lower() != new["bootMACAddress"]:
        spec["bootMACAddress"] = new["bootMACAddress"]
    return made._replace(body={**_besides(body, made.body), "spec": spec})


def same_bmc(one: str, other: str) -> bool:
    """True if one address of a BMC says what the other says; it may leave out protocol and path."""
    protocol, _, place = one.rstrip("/").rpartition("://")
    its_protocol, _, its_place = other.rpartition("://")
    its_place = its_place if "/" in place else its_place.partition("/")[0]
    return protocol in ("", its_protocol) and place == its_place


def _besides(body: Json, own: Json) -> Json:
    """A kept object with our labels and annotations beside its own. Of labels its own win, as
    another owner of one would be a conflict; annotations of ours protect it."""
    theirs, ours = body["metadata"], own["metadata"]
    labels = {**ours["labels"], **mapping(theirs, "labels")}
    annotations = {**mapping(theirs, "annotations"), **mapping(ours, "annotations")}
    found = {**ours, "labels": labels, "annotations": {**annotations, ADOPTED_ANNOTATION: "kept"}}
    return {"apiVersion": body["apiVersion"], "kind": body["kind"], "metadata": found}
