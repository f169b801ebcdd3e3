"""Objects that a site brings, as they are registered: with Foresite's labels, and a name."""

from components.making.manifest import Json, Manifest, Target, labels


def logical_name(body: Json) -> str:
    """``<kind>/<namespace>/<name>``, or without a namespace."""
    metadata = body["metadata"]
    return "/".join(filter(None, (body["kind"], metadata.get("namespace"), metadata["name"])))


def registered(body: Json, site: str, component: str, prefix: str = "") -> Manifest:
    """An object for the site's own cluster; labels of Foresite's replace those of others."""
    metadata = body["metadata"]
    ours = {**metadata.get("labels", {}), **labels(site, component)}
    whole = {**body, "metadata": {**metadata, "labels": ours}}
    return Manifest(prefix + logical_name(body), whole, target=Target.SITE)
