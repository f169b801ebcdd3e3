"""The files that a pod's volumes hold, written into folders of this machine."""

import base64
from collections.abc import Mapping
from pathlib import Path

from controlplane import ApiError, Client, Manifest

_NOT_FOUND = 404


def filled(client: Client, pod: Manifest, container: Manifest, home: Path) -> dict[str, Path]:
    """The folder or file here of each mount path of ``container``.

    Raises ApiError where a ConfigMap or Secret is missing that is not optional: a kubelet would
    start no container.
    """
    volumes = {each["name"]: each for each in pod["spec"].get("volumes", ())}
    namespace = pod["metadata"]["namespace"]
    found = {}
    for mount in container.get("volumeMounts", ()):
        volume = volumes[mount["name"]]
        folder = home / "volumes" / mount["name"]
        if not folder.exists():
            folder.mkdir(parents=True)
            _write(folder, volume, _contents(client, namespace, volume))
        part = mount.get("subPath")
        found[mount["mountPath"].rstrip("/")] = folder / part if part else folder
    return found


def _contents(client: Client, namespace: str, volume: Manifest) -> Mapping[str, bytes]:
    if source := volume.get("configMap"):
        body = _read(client, "ConfigMap", source["name"], namespace, source)
        return {key: text.encode() for key, text in body.get("data", {}).items()}
    if source := volume.get("secret"):
        body = _read(client, "Secret", source["secretName"], namespace, source)
        return {key: base64.b64decode(text) for key, text in body.get("data", {}).items()}
    return {}


def _read(client: Client, kind: str, name: str, namespace: str, source: Manifest) -> Manifest:
    body = client.get("v1", kind, name, namespace)
    if body is None and not source.get("optional"):
        raise ApiError(_NOT_FOUND, "NotFound", f"{kind} {namespace}/{name} of a volume", ())
    return body or {}


def _write(folder: Path, volume: Manifest, contents: Mapping[str, bytes]) -> None:
    source = volume.get("configMap") or volume.get("secret") or {}
    items = source.get("items")
    names = (
        {each["key"]: each["path"] for each in items} if items else {key: key for key in contents}
    )
    for key, name in names.items():
        path = folder / name
        path.write_bytes(contents[key])
        path.chmod(source.get("defaultMode", 0o644))
