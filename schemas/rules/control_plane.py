"""Rules on the control plane's settings: its programs start with them, and people can log in.

Sources: Kubernetes 1.34, apiserver pkg/apis/apiserver/validation (issuers); kubeadm
app/phases/controlplane and app/phases/etcd (arguments of its own).
"""

import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path as FilePath
from typing import Any

from schemas.facts.site import Site
from schemas.kubernetes.manifests import ManifestError, read_documents
from schemas.model.access import RESERVED
from schemas.model.codes import Code
from schemas.model.nearest import nearest
from schemas.model.primitives import minor
from schemas.rules.access import identities
from schemas.rules.files import MAX_FILE_CHARACTERS, configuration_files
from schemas.rules.finding import Finding, Path, TextPlace
from schemas.rules.policies import bracket_fault

_TABLE = FilePath(__file__).parents[1] / "kubernetes" / "arguments.toml"
_TABLE_MINOR = 34
_KINDS = {
    "policy": ("audit.k8s.io/v1", "Policy", "rules", "level"),
    "admission": ("apiserver.config.k8s.io/v1", "AdmissionConfiguration", "plugins", "name"),
}
"""By field: API, kind, its list, and what each item of that says."""


@cache
def _arguments() -> dict[str, Any]:
    return tomllib.loads(_TABLE.read_text("utf-8"))


def arguments(site: Site) -> Iterator[Finding]:
    """Arguments are not Foresite's or kubeadm's own, and their programs have them."""
    cluster = site.file.cluster
    for program, table in _arguments().items():
        known = table["known"].split()
        for name in getattr(cluster.arguments, program):
            place = ("cluster", "arguments", program, name)
            owner = next((who for who, its in table["owned"].items() if name in its.split()), "")
            if owner:
                fix = f"write {owner}" if "." in owner else "leave it out"
                message = f"--{name} is set by {owner}"
                yield Finding(Code.RESERVED_NAME, place, message, fix, key=True)
            elif name not in known and minor(cluster.kubernetes) == _TABLE_MINOR:
                near = nearest(name, known)
                message = f"the program has no argument --{name} in Kubernetes 1.{_TABLE_MINOR}"
                fix = f"write {near}" if near else "leave it out"
                yield Finding(Code.INVALID_VALUE, place, message, fix, key=True)


def issuers(site: Site) -> Iterator[Finding]:
    """Issuers and their prefixes are told apart, and the API server can take their conditions."""
    given = site.file.cluster.authentication
    for index, issuer in enumerate(given):
        place: Path = ("cluster", "authentication", index)
        if not issuer.url.startswith("https://"):
            message = f"{issuer.url} is not https: anybody on the way could hand out keys"
            yield Finding(Code.INVALID_VALUE, (*place, "url"), message, "write an https URL")
        if issuer.prefix == RESERVED:
            message, fix = f"{RESERVED} is the prefix of Kubernetes' own users", "write oidc:"
            yield Finding(Code.RESERVED_NAME, (*place, "prefix"), message, fix)
        for field in ("url", "prefix"):
            value = getattr(issuer, field)
            if value in [getattr(each, field) for each in given[:index]]:
                message = f"two issuers have the {field} {value}"
                fix = f"give each issuer a {field} of its own"
                yield Finding(Code.DUPLICATE_NAME, (*place, field), message, fix)
        for field in ("claims_must", "users_must"):
            for message, text in getattr(issuer, field).items():
                if fault := bracket_fault(text):
                    yield Finding(Code.CEL_RULE, (*place, field, message), *fault)


def known_people(site: Site) -> Iterator[Finding]:
    """Where issuers are given, each group and user has the prefix of one."""
    prefixes = [each.prefix for each in site.file.cluster.authentication]
    for place, names in identities(site) if prefixes else ():
        for index, name in enumerate(names):
            if not name.startswith(tuple(prefixes)):
                message = f"no issuer of cluster.authentication gives the name {name}"
                fix = f"write {prefixes[0]}{name}"
                yield Finding(Code.IDENTITY_UNKNOWN, (*place, index), message, fix)


def encryption(site: Site) -> Iterator[Finding]:
    """Encryption has one source of keys, and one that Foresite can put second."""
    given, place = site.file.cluster.encryption, ("cluster", "encryption")
    if given is None:
        return
    if (given.kms is None) == (given.secret is None):
        message, fix = "encryption needs one source of keys", "write either kms or secret"
        yield Finding(Code.INVALID_VALUE, place, message, fix)
    elif given.secret and not given.writes:
        message = "the order of providers is in the Secret, so writes changes nothing"
        fix = "leave it out, and put identity first in the Secret"
        yield Finding(Code.INVALID_VALUE, (*place, "writes"), message, fix)
    if given.socket.count("/") < 2:
        message = "the folder of the socket is mounted, and this is the root of the host"
        fix = "write a socket in a folder of its own, such as /var/run/kms/kms.sock"
        yield Finding(Code.INVALID_VALUE, (*place, "socket"), message, fix)


def configurations(site: Site) -> Iterator[Finding]:
    """A file for the API server is of its kind, and fits into a host's first boot."""
    for path, place in configuration_files(site.file):
        text = site.texts.get(path)
        if text is None:
            continue
        fault, line = _configuration_fault(text, *_KINDS[str(place[-1])])
        if fault:
            at = TextPlace(f"sites/{path}", line, 1, place)
            api, kind, *_ = _KINDS[str(place[-1])]
            yield Finding(Code.FILE_CONTENT, at, fault, f"write one {kind} of {api}")


def _configuration_fault(text: str, api: str, kind: str, field: str, key: str) -> tuple[str, int]:
    """What is wrong with a file, and its line."""
    try:
        ((found, line),) = list(read_documents(text))
    except ManifestError as error:
        return str(error), error.line
    except ValueError:
        return "there is not one document in the file", 1
    if (found.get("apiVersion"), found.get("kind")) != (api, kind):
        return f"this is no {kind} of {api}", line
    rows = found.get(field) or []
    if not isinstance(rows, list) or not all(isinstance(r, dict) and key in r for r in rows):
        return f"{field} is no list of which each item has a {key}", line
    if len(text) > MAX_FILE_CHARACTERS:
        return f"the file has more than {MAX_FILE_CHARACTERS} characters", line
    mark = next((mark for mark in ("{{", "{%", "{#") if mark in text), "")
    return (
        (f"cloud-init takes {mark} for a template", 1 + text[: text.index(mark)].count("\n"))
        if mark
        else ("", 0)
    )
