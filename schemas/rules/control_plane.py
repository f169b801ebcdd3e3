"""Rules on the control plane's settings: its programs start with them (Kubernetes 1.34, apiserver
pkg/apis/apiserver/validation; kubeadm app/phases/controlplane and app/phases/etcd)."""

from collections.abc import Iterator

import yaml

from schemas.facts.site import Site
from schemas.kubernetes import tables
from schemas.kubernetes.tables import read_table
from schemas.model.primitives import minor
from schemas.model.texts import nearest
from schemas.reading.paths import each_at
from schemas.rules.finding import Finding, Path, advise, say

_TABLE_MINOR = 34
_KINDS = {
    "cluster.audit.policy": ("Policy", "rules", "level"),
    "cluster.admission": ("AdmissionConfiguration", "plugins", "name"),
}
"""By field: the kind of its file, the kind's list, and what each item of that says."""


def arguments(site: Site) -> Iterator[Finding]:
    """Arguments are not Foresite's or kubeadm's own, and their programs have them."""
    cluster = site.file.cluster
    for program, table in read_table(tables.__file__, "arguments.toml").items():
        known = table["known"].split()
        for name, value in getattr(cluster.arguments, program).items():
            place: Path = ("cluster", "arguments", program, name)
            owner = next((who for who, its in table["owned"].items() if name in its.split()), "")
            if owner:
                yield say("argument-taken", place, name, owner)
            elif name not in known:
                yield _unknown(place, known, minor(cluster.kubernetes) == _TABLE_MINOR)
            kept = table.get("kept", {}).get(name, "").split()
            for plugin in sorted({each.strip() for each in value.split(",")} & set(kept)):
                yield say("plugin-needed", place, plugin)


def _unknown(place: Path, known: list[str], sure: bool) -> Finding:
    """An argument that the table does not have; other minor versions may have it."""
    name = str(place[-1])
    if sure:
        advice = advise(name, known, "leave it out")
        return say("argument-unknown", place, name, _TABLE_MINOR, advice)
    near = nearest(name, known) or "no other"
    return say("argument-unchecked", place, name, _TABLE_MINOR, near)


def configurations(site: Site) -> Iterator[Finding]:
    """A file for the API server is of its kind, and no template of cloud-init's."""
    for place, path in each_at(site.file, *_KINDS):
        text = site.texts.get(path)
        kind, items, key = _KINDS[".".join(map(str, place))]
        if text is not None and not _fits(text, kind, items, key):
            yield say("api-server-file-unfit", place, path, kind, items, key)


def _fits(text: str, kind: str, items: str, key: str) -> bool:
    try:
        found = yaml.safe_load(text)
        whole = found["kind"] == kind and all(each[key] for each in found[items])
    except (yaml.YAMLError, KeyError, TypeError):
        return False
    return whole and not any(mark in text for mark in ("{{", "{%", "{#"))
