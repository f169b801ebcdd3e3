"""Panels of accelerators, on the dashboard of nodes."""

from components.accelerators.watch.exporters import DCGM
from components.making.promql import by
from components.making.watch import Panel, panel
from schemas.facts.site import Site


def cards(site: Site) -> list[Panel]:
    """Use, temperature and health of devices, from NVIDIA's exporter."""
    asked = by(site, DCGM)
    return [
        panel(
            "GPU utilization",
            "Mean by model.",
            (f"avg by (modelName) (DCGM_FI_DEV_GPU_UTIL{asked})", "{{modelName}}"),
            unit="percent",
        ),
        panel(
            "Hottest GPUs",
            "The 20 hottest.",
            (f"topk(20, DCGM_FI_DEV_GPU_TEMP{asked})", "{{node}} {{gpu}}"),
            unit="celsius",
        ),
        panel(
            "Last error of the driver",
            "The last XID of each GPU, of any day: the exporter keeps it until it restarts.",
            (f"DCGM_FI_DEV_XID_ERRORS{asked} > 0", "{{node}} {{gpu}}"),
            table=True,
        ),
    ]
