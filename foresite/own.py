"""What packages with components of one's own import (docs/own-components.md).

``python -m foresite.own`` prints the JSON Schema of site files with the components installed here.
"""

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
    "CONTRACT",
    "Component",
    "DnsLabel",
    "HostView",
    "Ipv4",
    "Model",
    "Network",
    "OwnersRule",
    "PoolView",
    "Settings",
    "SiteView",
]

if __name__ == "__main__":
    import sys

    from schemas.editor import schema_text

    sys.stdout.write(schema_text())
