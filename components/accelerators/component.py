"""The accelerators of a site as one Pulumi component."""

from dataclasses import dataclass

import pulumi

from components.accelerators.objects import objects
from components.shell import SiteArgs, SiteComponent
from schemas.facts.site import Site
from schemas.model.accelerators import AcceleratorSettings
from schemas.model.network_devices import NetworkDevices


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceleratorsArgs(SiteArgs):
    """Arguments of ``Accelerators``."""

    accelerators: AcceleratorSettings | None = None
    """The accelerators that researchers ask for."""
    network_devices: NetworkDevices | None = None
    """Network devices of the site."""


class Accelerators(SiteComponent[AcceleratorsArgs]):
    """The device plugins of a site's accelerators, and the resources that researchers ask for."""

    resources: pulumi.Output[dict[str, str]]
    """Resource that a pod asks for, by the model: ``accelerators.example.com/gpu-t4``."""

    make = staticmethod(objects)

    @staticmethod
    def values(site: Site) -> dict[str, object]:
        """The values of the outputs."""
        return {"resources": {model: site.resource(model) for model in site.models()}}
