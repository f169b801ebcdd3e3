"""Encryption of Secrets in etcd, while control-plane hosts are replaced one by one. The first
provider writes, and all read: new hosts must read what was stored, old ones what new ones write."""

import yaml

from components.effects import ObjectChange
from components.machines.apiserver import ENCRYPTION
from components.making.manifest import Json, Manifest
from components.making.told import Told
from schemas.kubernetes.bodies import items, mapping

SOURCE = "Kubernetes 1.34, apiserver pkg/storage/value/transformer.go (prefixTransformers)"
TOLD = Told(__file__)
UNREADABLE = TOLD.say("unreadable")


def unreadable(change: ObjectChange) -> bool:
    """True if an API server may meet a Secret that it cannot read."""
    old, new = (_providers(each) for each in change.both)
    return old != new and not (set(old) <= set(new) and new[0] in old)


def content(change: ObjectChange) -> str:
    """What Git does not know of new hosts whose providers are in a Secret."""
    known = all("content" in each for each in _files(change.after))
    return "" if known else TOLD.say("content")


def _files(manifest: Manifest | None) -> list[Json]:
    """The file of providers on a KubeadmControlPlane's hosts, if there is one."""
    files = items(mapping(manifest.body, "spec", "kubeadmConfigSpec"), "files") if manifest else []
    return [each for each in files if each.get("path") == ENCRYPTION]


def _providers(manifest: Manifest | None) -> list[tuple[str, ...]]:
    """The providers of a KubeadmControlPlane's hosts, the writing one first: its kind, and what
    tells it from others. Those in a Secret are one that nobody else knows."""
    for file in _files(manifest):
        if "content" not in file:
            return [("secret", str(file["contentFrom"]))]
        (row,) = yaml.safe_load(file["content"])["resources"]
        plugins = (each.get("kms") for each in row["providers"])
        # At another socket another plugin may answer, which has other keys.
        return [("kms", kms["name"], kms["endpoint"]) if kms else ("identity",) for kms in plugins]
    return [("identity",)]
