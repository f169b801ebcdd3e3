"""The common parts of both programs' containers: limits, metrics."""

from components.making.manifest import Json


def resources(cpu: str, memory: str) -> Json:
    """The guaranteed resources of a program; memory is its limit too. Processor time has no limit:
    idle processor time makes objects faster."""
    return {"requests": {"cpu": cpu, "memory": memory}, "limits": {"memory": memory}}


def scrape_annotations(port: int, path: str | None) -> dict[str, str]:
    """The annotations by which Prometheus finds metrics; none where there is no path."""
    values = {"scrape": "true", "port": str(port), "path": path} if path is not None else {}
    return {f"prometheus.io/{name}": value for name, value in values.items()}
