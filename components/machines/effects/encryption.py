"""Encryption of Secrets in etcd, while hosts of the control plane are replaced one at a time.

The first provider of a host writes, and all of them read. So the new hosts must read what was
stored, and the old ones what the new ones write.
"""

import yaml

from components.effects.bodies import items, mapping
from components.effects.vocabulary import ObjectChange
from components.machines.apiserver import ENCRYPTION
from components.making.manifest import Manifest

SOURCE = "Kubernetes 1.34, apiserver pkg/storage/value/transformer.go (prefixTransformers)"
UNREADABLE = (
    "some API servers could not read Secrets that are stored or that others write, and what fails "
    "then is not known. Go two ways: writes: false on every host before true, and after it; write "
    "all Secrets anew (kubectl get secrets -A -o json | kubectl replace -f -) before it goes"
)


def unreadable(change: ObjectChange) -> bool:
    """True if an API server may meet a Secret that it cannot read."""
    old, new = (_providers(each) for each in (change.before, change.after))
    return old != new and not (set(old) <= set(new) and new[0] in old)


def _providers(manifest: Manifest | None) -> list[str]:
    """The providers of a KubeadmControlPlane's hosts, the writing one first. Those in a Secret are
    one that nobody else knows."""
    files = items(mapping(manifest.body, "spec", "kubeadmConfigSpec"), "files") if manifest else []
    file = next((each for each in files if each.get("path") == ENCRYPTION), None)
    if file is None:
        return ["identity"]
    if "content" not in file:
        return [str(file["contentFrom"])]
    (row,) = yaml.safe_load(file["content"])["resources"]
    return [each.get("kms", {}).get("name", "identity") for each in row["providers"]]
