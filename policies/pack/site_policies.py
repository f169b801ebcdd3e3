"""The policies of a site's file and of its region's; the pack shares no code with the model. Of a
file that the model would not take, the program that the engine runs says so."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from policies.exceptions import Exemption, ExemptionError, exemptions
from policies.own import OwnRules, own_rules
from policies.third_party import Party, parties
from schemas.kubernetes.bodies import mapping

MAX_BYTES = 4 * 1024 * 1024
"""Size of a file that is read, at most; as in schemas/reading/site_files.py."""


class SiteFileError(Exception):
    """A site's policies cannot be had; the message says which file, and what is wrong with it."""


class SitePolicies(NamedTuple):
    """The rules that a site adds, its exceptions from rules, and what third parties it has."""

    own: OwnRules
    exceptions: tuple[Exemption, ...]
    parties: Mapping[str, Party]


def site_policies(sites: Path, name: str, taken: Collection[str]) -> SitePolicies:
    """The policies of the site ``name`` in the folder ``sites``; none of a stack without a site.
    ``taken`` are rules' names already. Raises SiteFileError."""
    file = f"{name}.yaml"
    if not (sites / file).exists():
        return SitePolicies(OwnRules(), (), {})
    whole = _with_region(sites, _data(f"sites/{file}", _text(sites, file)))
    said = mapping(whole, "policies")
    paths = said.get("python") or []
    if not isinstance(paths, list) or not all(isinstance(path, str) for path in paths):
        raise SiteFileError(f"sites/{file}: policies.python is no list of paths")
    own = own_rules({path: _text(sites, path) for path in paths}, taken)
    if own.faults:
        raise SiteFileError("\n".join(map(str, own.faults)))
    rows = said.get("exceptions") or []
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise SiteFileError(f"sites/{file}: policies.exceptions is no list of exceptions")
    try:
        return SitePolicies(own, exemptions(rows, own=True), parties(whole))
    except ExemptionError as error:
        raise SiteFileError(f"sites/{file}: {error}") from None


def _with_region(sites: Path, said: dict[str, Any]) -> dict[str, Any]:
    """What a site says of third parties, by its own key or by its region's (docs/regions.md)."""
    name = said.get("region")
    folder, file = sites.parent / "regions", f"{name}.yaml"
    if not isinstance(name, str) or not (folder / file).exists():
        return said
    region = _data(f"regions/{file}", _text(folder, file))
    own, alike = mapping(said, "cluster"), mapping(region, "cluster")
    network = {key: alike[key] for key in {"pod_network"} & alike.keys()}
    extra = {key: region[key] for key in {"extra", "components"} & region.keys()}
    return {**extra, **said, "cluster": {**network, **own}}


def _data(file: str, text: str) -> dict[str, Any]:
    try:
        data = yaml.load(text, Loader=yaml.CSafeLoader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise SiteFileError(f"{file} cannot be read: {error}") from None
    return data if isinstance(data, dict) else {}


def _text(folder: Path, path: str) -> str:
    """A file below ``folder``; neither a path nor a link leads out of it."""
    target, shown = folder / path, f"{folder.name}/{path}"
    try:
        real = target.resolve(strict=True)
        if not real.is_relative_to(folder.resolve()):
            raise SiteFileError(f"{shown} leads out of {folder.name}/; put the file itself there")
        if not real.is_file() or real.stat().st_size > MAX_BYTES:
            raise SiteFileError(f"{shown} is no file of at most {MAX_BYTES} bytes")
        return real.read_text(encoding="utf-8")
    except (OSError, RuntimeError, UnicodeDecodeError) as error:
        raise SiteFileError(f"{shown} cannot be read: {error}") from None
