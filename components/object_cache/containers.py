"""The common parts of both programs' containers: limits, probes."""

from typing import Any

from components.making.manifest import Json


def resources(cpu: str, memory: str) -> Json:
    """The guaranteed resources of a program; memory is its limit too. Processor time has no limit:
    idle processor time makes objects faster."""
    return {"requests": {"cpu": cpu, "memory": memory}, "limits": {"memory": memory}}


def probes(path: str, port: str, start_seconds: int, *, alive: Json | None = None) -> Json:
    """Ready while the path answers, restarted after it did not for two minutes: a restart costs
    more than a slow answer. Starting may take ``start_seconds``. ``alive`` is what is asked in the
    path's place for a restart, where the path may fail in a way that a restart does not mend."""
    ready: dict[str, Any] = {"httpGet": {"path": path, "port": port}, "timeoutSeconds": 5}
    lives = {**alive, "timeoutSeconds": 5} if alive else ready
    return {
        "startupProbe": {**lives, "periodSeconds": 5, "failureThreshold": start_seconds // 5},
        "readinessProbe": {**ready, "periodSeconds": 10, "failureThreshold": 3},
        "livenessProbe": {**lives, "periodSeconds": 20, "failureThreshold": 6},
    }


def scrape_annotations(port: int, path: str | None) -> dict[str, str]:
    """The annotations by which Prometheus finds metrics; none where there is no path."""
    if path is None:
        return {}
    return {
        "prometheus.io/scrape": "true",
        "prometheus.io/port": str(port),
        "prometheus.io/path": path,
    }
