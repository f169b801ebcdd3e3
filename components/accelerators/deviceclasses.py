"""Device classes: a model's devices as its DRA driver shows them, under the model's own resource
(KEP-5004; Kubernetes 1.34, api resource/v1, DeviceClassSpec)."""

from components.accelerators.names import metadata, served_pools
from components.making.manifest import Manifest, site_object
from schemas.facts.site import Site


def class_name(resource: str) -> str:
    """The name of the class behind a resource: one that no driver's chart brings."""
    domain, _, name = resource.partition("/")
    return f"{name}.{domain}"


def device_classes(site: Site) -> list[Manifest]:
    """A DeviceClass for each model, where DRA drivers hand the devices out."""
    records = {each.model: each.record for each in served_pools(site)}
    found = []
    for model, record in records.items():
        if record.dra is None or not site.uses_dra(model):
            continue
        chosen = [f"device.driver == '{record.dra.driver}'", *record.dra.expressions]
        resource = site.resource(model)
        selectors = [{"cel": {"expression": each}} for each in chosen]
        spec = {"extendedResourceName": resource, "selectors": selectors}
        named = metadata(site, class_name(resource))
        found.append(site_object(f"DeviceClass/{model}", "resource.k8s.io/v1", named, spec=spec))
    return found
