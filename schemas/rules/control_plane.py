"""Rules on the control plane's settings: its programs start with them.

Sources: Kubernetes 1.34, apiserver pkg/apis/apiserver/validation; kubeadm app/phases/controlplane
and app/phases/etcd (arguments of its own).
"""

import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path as FilePath
from typing import Any

import yaml

from schemas.facts.site import Site
from schemas.model.access import RESERVED
from schemas.model.codes import Code
from schemas.model.nearest import nearest
from schemas.model.primitives import minor
from schemas.rules.files import configuration_files
from schemas.rules.finding import Finding, Path

_TABLE_MINOR = 34
_KINDS = {
    "policy": ("Policy", "rules", "level"),
    "admission": ("AdmissionConfiguration", "plugins", "name"),
}
"""By field: the kind of its file, the kind's list, and what each item of that says."""


@cache
def _arguments() -> dict[str, Any]:
    table = FilePath(__file__).parents[1] / "kubernetes" / "arguments.toml"
    return tomllib.loads(table.read_text("utf-8"))


def arguments(site: Site) -> Iterator[Finding]:
    """Arguments are not Foresite's or kubeadm's own, and their programs have them."""
    cluster = site.file.cluster
    for program, table in _arguments().items():
        known = table["known"].split()
        for name, value in getattr(cluster.arguments, program).items():
            place: Path = ("cluster", "arguments", program, name)
            owner = next((who for who, its in table["owned"].items() if name in its.split()), "")
            if owner:
                message, fix = f"--{name} is set by {owner}", "leave it out"
                yield Finding(Code.RESERVED_NAME, place, message, fix, key=True)
            elif name not in known:
                yield _unknown(place, known, minor(cluster.kubernetes) == _TABLE_MINOR)
            kept = table.get("kept", {}).get(name, "").split()
            for plugin in sorted({each.strip() for each in value.split(",")} & set(kept)):
                message = f"{plugin} holds teams and hosts apart, so it stays on"
                yield Finding(Code.INVALID_VALUE, place, message, f"leave {plugin} out")


def _unknown(place: Path, known: list[str], sure: bool) -> Finding:
    """An argument that the table does not have; other minor versions may have it."""
    near = nearest(str(place[-1]), known)
    message = f"the program has no argument --{place[-1]} in Kubernetes 1.{_TABLE_MINOR}"
    if sure:
        fix = f"write {near}" if near else "leave it out"
        return Finding(Code.INVALID_VALUE, place, message, fix, key=True)
    fix = f"look it up in --help of the program; {near or 'no other'} is the nearest that is known"
    return Finding(
        Code.ARGUMENT_UNCHECKED, place, f"{message}, whose list alone is known", fix, key=True
    )


def issuers(site: Site) -> Iterator[Finding]:
    """Issuers and their prefixes are told apart."""
    given = site.file.cluster.authentication
    for index, issuer in enumerate(given):
        place: Path = ("cluster", "authentication", index)
        if not issuer.url.startswith("https://"):
            message = "anybody on the way could hand out keys, so the API server asks https alone"
            yield Finding(Code.INVALID_VALUE, (*place, "url"), message, "write an https URL")
        if issuer.prefix == RESERVED:
            message, fix = f"{RESERVED} is the prefix of Kubernetes' own users", "write oidc:"
            yield Finding(Code.RESERVED_NAME, (*place, "prefix"), message, fix)
        for field in ("url", "prefix"):
            value = getattr(issuer, field)
            if value in [getattr(each, field) for each in given[:index]]:
                message, fix = f"two issuers have the {field} {value}", f"write another {field}"
                yield Finding(Code.DUPLICATE_NAME, (*place, field), message, fix)


def encryption(site: Site) -> Iterator[Finding]:
    """Encryption has one source of keys, and no plugin is called as the provider of plain text."""
    given = site.file.cluster.encryption
    if given and (given.kms is None) == (given.secret is None):
        message, fix = "encryption needs one source of keys", "write either kms or secret"
        yield Finding(Code.INVALID_VALUE, ("cluster", "encryption"), message, fix)
    if given and given.kms == "identity":
        message = "identity is the provider that stores Secrets in plain text"
        fix = "write another name of the plugin"
        yield Finding(Code.RESERVED_NAME, ("cluster", "encryption", "kms"), message, fix)


def configurations(site: Site) -> Iterator[Finding]:
    """A file for the API server is of its kind, and no template of cloud-init's."""
    for path, place in configuration_files(site.file):
        text = site.texts.get(path)
        kind, items, key = _KINDS[str(place[-1])]
        if text is not None and not _fits(text, kind, items, key):
            message = f"sites/{path} is no {kind} with {items} that have a {key}"
            fix = f"write one document of kind {kind}, without {{{{, {{% or {{#"
            yield Finding(Code.FILE_CONTENT, place, message, fix)


def _fits(text: str, kind: str, items: str, key: str) -> bool:
    try:
        found = yaml.safe_load(text)
        whole = found["kind"] == kind and all(each[key] for each in found[items])
    except (yaml.YAMLError, KeyError, TypeError):
        return False
    return whole and not any(mark in text for mark in ("{{", "{%", "{#"))
