"""What packages with components of one's own import (docs/own-components.md). ``python -m
foresite.own FOLDER`` writes the JSON Schemas of site files and regions that know them."""

from schemas.model.component_contract import (
    CONTRACT,
    Component,
    HostView,
    PoolView,
    Settings,
    SiteView,
)
from schemas.model.extra import OwnersRule
from schemas.model.primitives import DnsLabel, Ipv4, Model, Network

__all__ = [
    "CONTRACT", "Component", "DnsLabel", "HostView", "Ipv4", "Model", "Network", "OwnersRule",
    "PoolView", "Settings", "SiteView",
]  # fmt: skip

if __name__ == "__main__":
    import argparse
    from pathlib import Path

    from schemas.editor import schema_texts

    parser = argparse.ArgumentParser(prog="python -m foresite.own", description="Write schemas.")
    parser.add_argument("folder", type=Path, help="made where it is not there")
    folder = parser.parse_args().folder
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in schema_texts().items():
            (folder / name).write_text(text, "utf-8")
    except OSError as error:
        parser.error(f"cannot write there: {error}")
