"""A chart that exists in tests alone, and what helm 4.3 makes of it. No text in it is of a real
chart; its objects have the shapes of Cilium's."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from schemas.facts.site import Site
from schemas.model.extra import Extra

ROOT = Path(__file__).parent
CHART = ROOT / "network"
FOLDER = ROOT / "sites" / "charts" / "network"
NETWORK = (FOLDER / "rendered.yaml").read_text("utf-8")


def with_extra(site: Site, text: str = NETWORK, **fields: Any) -> Site:
    """A site to which a team brings the objects of a text."""
    said = {"name": "network", "why": "a reason that is one", "owner": "net-team", **fields}
    entry = Extra.model_validate({"manifests": ["extra/network/*.yaml"], **said})
    file = site.file.model_copy(update={"extra": [entry]})
    return replace(site, file=file, texts={**site.texts, "extra/network/a.yaml": text})
