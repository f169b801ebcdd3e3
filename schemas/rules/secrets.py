"""Rules on Secrets: each has a store and a place of its own there, and none is in a file.

Sources: External Secrets 2.9, pkg/controllers/externalsecret (a Secret is taken over by name);
Cluster API 1.13, util/secret (names of the Secrets that it makes for a cluster).
"""

from collections.abc import Iterator
from functools import lru_cache

from schemas.facts.adopted import management_names
from schemas.facts.secret_references import SecretReference, secret_references
from schemas.facts.site import Site
from schemas.model.codes import Code
from schemas.model.secrets import PLACEHOLDER, Secrets
from schemas.reading.literal_secrets import Placed, in_manifests, in_text
from schemas.rules.files import MANIFESTS, site_file_references
from schemas.rules.finding import Finding, Path, TextPlace, say

_PLACE: Path = ("secrets",)
_KNOWN = ("site", "namespace", "secret")
_OBJECTS: tuple[Path, ...] = (MANIFESTS, ("adopted", "objects"))
"""Files of objects, in which names tell secrets."""
_OF_CLUSTER_API = ("kubeconfig", "ca", "etcd", "proxy", "sa")
"""Ends of the names of a cluster's own Secrets, after <cluster>- (util/secret/consts.go)."""


def stores(site: Site, secrets: Secrets) -> Iterator[Finding]:
    """Each cluster that Secrets are read on has a store, and no other has one."""
    references = secret_references(site)
    stores = (("management", secrets.management, True), ("site", secrets.site, False))
    for field, store, management in stores:
        needed = [each for each in references if each.management is management]
        cluster = "the management cluster" if management else "the site's own cluster"
        if needed and store is None:
            more = f" and {len(needed) - 1} more" if len(needed) > 1 else ""
            yield say("secret-store-missing", _PLACE, f"{needed[0].name}{more}", cluster, field)
        elif store is not None and not needed and site.hosts:  # BMCs come with the hosts
            yield say("secret-store-unused", (*_PLACE, field), cluster)


def paths(site: Site, secrets: Secrets) -> Iterator[Finding]:
    """The fields in a path are known, and each Secret has a place of its own in its store."""
    place = (*_PLACE, "path")
    rest = PLACEHOLDER.sub("", secrets.path)
    wrong = [name for name in PLACEHOLDER.findall(secrets.path) if name not in _KNOWN]
    if wrong or "{" in rest or "}" in rest:
        shown = f"{{{wrong[0]}}}" if wrong else "a brace alone"
        known = ", ".join(f"{{{name}}}" for name in _KNOWN)
        yield say("secret-path-unknown", place, shown, known)
        return
    owners: dict[tuple[object, ...], SecretReference] = {}
    for each in secret_references(site):
        other = owners.setdefault(_in_store(site, secrets, each), each)
        if other is not each:
            both = " and ".join(f"{one.namespace}/{one.name}" for one in (other, each))
            place_of = secrets.place(site.name, each.namespace, each.name)
            message = f"{both} have one place in the store: {place_of}"
            at = place if "path" in secrets.model_fields_set else _PLACE
            yield say("secret-path-taken", at, message[:160])
            return


def _in_store(site: Site, secrets: Secrets, each: SecretReference) -> tuple[object, ...]:
    """The key of a Secret's place: its store and its place there; namesakes there are one."""
    store = secrets.management if each.management else secrets.site
    name = (store.name, store.kind) if store else (each.management,)
    return (*name, secrets.place(site.name, each.namespace, each.name))


def bmc_credentials(site: Site) -> Iterator[Finding]:
    """The Secret of the BMCs is none that Cluster API makes, which would overwrite it."""
    name = site.file.bmc.credentials
    if name in {f"{management_names(site).cluster}-{end}" for end in _OF_CLUSTER_API}:
        yield say("bmc-secret-of-cluster-api", ("bmc", "credentials"), name, site)


def literals(site: Site) -> Iterator[Finding]:
    """No file that the site names holds a key or a password."""
    for path, place in site_file_references(site.file):
        for line, column, said in _literals(site.texts.get(path, ""), place in _OBJECTS):
            at = TextPlace(f"sites/{path}", line, column, place)
            yield Finding(Code.SECRET_IN_FILE, at, said.message, said.fix)


@lru_cache(maxsize=16)  # many sites name the same files
def _literals(text: str, manifests: bool) -> tuple[Placed, ...]:
    return (*in_text(text), *(in_manifests(text) if manifests else ()))
