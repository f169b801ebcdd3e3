"""Rules on the files that a site names: certificates are certificates, manifests fit their way in."""

import re
from collections.abc import Iterator

from schemas.codes import Code
from schemas.rules.finding import Finding
from schemas.site import Site

MAX_MANIFEST_BYTES = 900_000
"""What one ConfigMap holds with room to spare (etcd refuses requests over 1.5 MiB, the API server
ConfigMaps over 1 MiB)."""
_PEM = re.compile(
    r"\s*(-----BEGIN CERTIFICATE-----\n([A-Za-z0-9+/]{1,76}={0,2}\n)+-----END CERTIFICATE-----\s*)+"
)


def files(site: Site) -> Iterator[Finding]:
    """Each file that a site names has the content that its place asks for."""
    place: tuple[str | int, ...] = ("cluster", "pod_network", "manifests")
    path = site.file.cluster.pod_network.manifests
    text = site.texts.get(path)
    if text is not None:
        yield from _manifests(path, text, place)
    boots = [(("first_boot",), site.file.first_boot)]
    boots += [  # type: ignore[assignment]
        (("pools", i, "first_boot"), pool.first_boot)
        for i, pool in enumerate(site.file.pools)
        if pool.first_boot
    ]
    for prefix, boot in boots:
        for number, path in enumerate(boot.ca_certificates):
            text = site.texts.get(path)
            if text is not None:
                yield from _certificate(path, text, (*prefix, "ca_certificates", number))


def _certificate(path: str, text: str, place: tuple[str | int, ...]) -> Iterator[Finding]:
    if "PRIVATE KEY" in text:
        yield Finding(
            Code.SECRET_IN_FILE,
            place,
            f"sites/{path} holds a private key",
            "keep only the certificate there, and replace the key: what was once in Git is known",
        )
    elif _PEM.fullmatch(text.replace("\r\n", "\n")) is None:
        yield Finding(
            Code.FILE_CONTENT,
            place,
            f"sites/{path} is not one or more PEM certificates",
            "write blocks from -----BEGIN CERTIFICATE----- to -----END CERTIFICATE----- only",
        )


def _manifests(path: str, text: str, place: tuple[str | int, ...]) -> Iterator[Finding]:
    if len(text.encode()) > MAX_MANIFEST_BYTES:
        yield Finding(
            Code.FILE_CONTENT,
            place,
            f"sites/{path} has {len(text.encode())} bytes, a ConfigMap takes {MAX_MANIFEST_BYTES}",
            "leave out what the site does not need, such as descriptions in CRDs",
        )
    if re.search(r"^kind:\s*Secret\s*$", text, re.MULTILINE):
        yield Finding(
            Code.SECRET_IN_FILE,
            place,
            f"sites/{path} holds a Secret",
            "let someone else make the Secret, and refer to it by name",
        )
    if re.search(r"^kind:\s*\S+\s*$", text, re.MULTILINE) is None:
        yield Finding(
            Code.FILE_CONTENT,
            place,
            f"sites/{path} holds no Kubernetes object",
            "write the pod network's manifests there, one YAML document each",
        )
