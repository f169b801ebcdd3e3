"""The Secrets that a site refers to, by reference alone: an ExternalSecret for each."""

from components.making.manifest import Json, Manifest, Target, annotate, filled, labels
from schemas.facts.secret_references import SecretReference, secret_references
from schemas.facts.site import Site
from schemas.model.secrets import Secrets, SecretStore

COMPONENT = "secrets"
KIND = "ExternalSecret"
BMC_LABELS = {"environment.metal3.io": "baremetal"}
"""With it the Bare Metal Operator sees at once that a Secret changed; it adds it to those that lack
it (Bare Metal Operator 0.13, pkg/secretutils)."""


def objects(site: Site) -> list[Manifest]:
    """The objects of the component; none where others make the Secrets. They stay when no longer
    made: an ExternalSecret takes its Secret along, and a host that is wiped needs its BMC's."""
    secrets = site.file.secrets
    if secrets is None:
        return []
    return annotate([_external(site, secrets, each) for each in secret_references(site)])


def _external(site: Site, secrets: Secrets, reference: SecretReference) -> Manifest:
    target = Target.MANAGEMENT if reference.management else Target.SITE
    ours = labels(site.name, COMPONENT)
    place = secrets.place(site.name, reference.namespace, reference.name)
    (body,) = filled(
        __file__,
        name=reference.name,
        namespace=reference.namespace,
        labels=ours,
        secret_labels={**ours, **(BMC_LABELS if reference.management else {})},
        refresh=duration(secrets.refresh_minutes),
        store=_store(secrets, reference),
        data=[{"secretKey": e, "remoteRef": {"key": place, "property": e}} for e in reference.keys],
    )
    # On the management cluster all are in the site's namespace.
    where = "" if reference.management else f"{reference.namespace}/"
    name = f"{KIND}/{where}{reference.name}"
    return Manifest(name, body, target=target, keep=True)


def _store(secrets: Secrets, reference: SecretReference) -> Json:
    store: SecretStore | None = secrets.management if reference.management else secrets.site
    if store is None:
        raise LookupError("a rule asks for the store of each cluster that needs one")
    return {"name": store.name, "kind": store.kind.value}


def duration(minutes: int) -> str:
    """Minutes as Go writes a duration, so that an operator that writes it back changes nothing."""
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h{minutes}m0s" if hours else f"{minutes}m0s"
