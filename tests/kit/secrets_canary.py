"""Canaries: random texts that stand for secrets, and the search for them in what a run leaves."""

import base64
import gzip
import secrets
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from urllib.parse import quote

GZIP = b"\x1f\x8b"


def canary(before: str = "canary", after: str = "") -> str:
    """A text that nothing else holds; ``before`` may give it the form of a kind of key."""
    return f"{before}{secrets.token_hex(18)}{after}"


def forms(value: str) -> dict[str, bytes]:
    """How a text may be written: as it is, in a URL, in JSON, and in base64 wherever it starts."""
    raw = value.encode()
    found = {"plain": raw, "URL": quote(value, safe="").encode()}
    for shift in range(3):
        whole = base64.b64encode(b"\0" * shift + raw).rstrip(b"=")
        # The first and last digits also hold bits of what stands around it.
        found[f"base64 {shift}"] = whole[(0, 2, 3)[shift] : -1]
        found[f"base64url {shift}"] = found[f"base64 {shift}"].translate(
            bytes.maketrans(b"+/", b"-_")
        )
    return found


def found_in(data: bytes, canaries: Mapping[str, str]) -> list[str]:
    """The canaries in some bytes, and how each is written."""
    return [
        f"{name} ({how})"
        for name, value in canaries.items()
        for how, written in forms(value).items()
        if written in data
    ]


def unpacked(path: Path) -> bytes:
    """The content of a file, decompressed; of a damaged archive the readable part."""
    data = path.read_bytes()
    if not data.startswith(GZIP):
        return data
    try:
        return gzip.decompress(data)
    except (EOFError, OSError):
        with gzip.open(path) as stream:
            return b"".join(_chunks(stream))


def _chunks(stream: gzip.GzipFile) -> Iterator[bytes]:
    """A log of a process that was killed has no end."""
    try:
        while chunk := stream.read(65536):
            yield chunk
    except EOFError:
        return


def leaks(folders: Iterable[Path], canaries: Mapping[str, str]) -> tuple[int, list[str]]:
    """How many files were searched, and each place where a canary stands."""
    files = [p for each in folders for p in each.rglob("*") if p.is_file() and not p.is_symlink()]
    found = [f"{path}: {leak}" for path in files for leak in found_in(unpacked(path), canaries)] + [
        f"{path}: {leak}" for path in files for leak in found_in(path.name.encode(), canaries)
    ]
    return len(files), found
