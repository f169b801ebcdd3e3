"""The buckets: what the configuration file says of them, and who may do what in them."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cache_server.quantity import parse_bytes

_FIELDS = {"Name", "Public", "BucketQuota", "AllowNamespaces"}
_NAME = re.compile(r"[a-z0-9][-a-z0-9.]{1,61}[a-z0-9]")
_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


class ConfigError(ValueError):
    """The reason why a configuration file is not taken, in one line."""


@dataclass(frozen=True, slots=True)
class Bucket:
    """Objects that are counted, limited and shared together; ``quota`` is in bytes."""

    name: str
    quota: int
    public: bool
    namespaces: frozenset[str]
    since: int = 0
    """The configuration that it came with, counted by :class:`Configuration`: a bucket that was
    removed and comes again is another one, though it has the same name."""

    def open_to_all(self, reads: bool) -> bool:
        """True if a request needs no token."""
        return self.public and reads

    def admits(self, namespace: str, reads: bool) -> bool:
        """True if pods of a namespace may read the bucket, or write it."""
        if self.open_to_all(reads) or (self.public and not self.namespaces):
            return True
        return namespace in self.namespaces


Buckets = Mapping[str, Bucket]


def parse_buckets(text: bytes) -> Buckets:
    """The buckets of a configuration file; ConfigError if anything in it is not as it must be."""
    try:
        content = json.loads(text)
    except ValueError as error:
        raise ConfigError(f"it is no JSON: {error}") from error
    if not isinstance(content, dict) or set(content) != {"Bucket"}:
        raise ConfigError('it must be an object with one key, "Bucket"')
    rows = content["Bucket"]
    if not isinstance(rows, list):
        raise ConfigError('"Bucket" must be a list')
    buckets: dict[str, Bucket] = {}
    for number, row in enumerate(rows):
        bucket = _bucket(f"Bucket[{number}]", row)
        if bucket.name in buckets:
            raise ConfigError(f"Bucket[{number}]: there are two buckets named {bucket.name!r}")
        buckets[bucket.name] = bucket
    return buckets


def _bucket(where: str, row: Any) -> Bucket:
    if not isinstance(row, dict):
        raise ConfigError(f"{where} must be an object")
    if unknown := sorted(set(row) - _FIELDS):
        raise ConfigError(f"{where} has a field that is not known: {unknown[0]!r}")
    name, public, quota = row.get("Name"), row.get("Public", False), row.get("BucketQuota")
    namespaces = [] if row.get("AllowNamespaces") is None else row["AllowNamespaces"]
    if not isinstance(name, str) or _NAME.fullmatch(name) is None:
        raise ConfigError(f"{where}.Name must be 3 to 63 lower-case letters, digits, dots, dashes")
    if not isinstance(public, bool):
        raise ConfigError(f"{where}.Public must be true or false")
    if not isinstance(quota, str):
        raise ConfigError(f"{where}.BucketQuota must be a quantity such as 100Gi")
    if not isinstance(namespaces, list):
        raise ConfigError(f"{where}.AllowNamespaces must be a list")
    for each in namespaces:
        if not isinstance(each, str) or _NAMESPACE.fullmatch(each) is None:
            raise ConfigError(f"{where}.AllowNamespaces: {each!r} is no name of a namespace")
    try:
        return Bucket(name, parse_bytes(quota), public, frozenset(namespaces))
    except ValueError as error:
        raise ConfigError(f"{where}.BucketQuota: {error}") from error
