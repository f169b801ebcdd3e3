"""Rules on the programs that a site brings for accelerators: no mount twice, and a resource that
kubelets take. That they are given no secret is in schemas/reading/literal_secrets.py."""

from collections.abc import Iterator

from schemas.kubernetes.extended_resources import reserved_domain_reason
from schemas.model.accelerators import AcceleratorSettings, Program
from schemas.rules.finding import Finding, Path, say

_MOUNTED = ("/var/lib/kubelet/device-plugins", "/var/lib/kubelet/pod-resources")
"""Paths mounted into every device plugin or exporter (components/accelerators/plugins.py)."""


def program_settings(settings: AcceleratorSettings) -> Iterator[Finding]:
    """Kubelets accept each resource that programs advertise, and every path is mounted once."""
    for name, model in settings.models.items():
        place: Path = ("accelerators", "models", name)
        resource = model.plugin.resource
        if reserved_domain_reason(resource.partition("/")[0]):
            yield say("plugin-resource-reserved", (*place, "plugin", "resource"), resource)
        yield from _of_program((*place, "plugin"), model.plugin)
        if model.exporter is not None:
            yield from _of_program((*place, "exporter"), model.exporter)


def _of_program(place: Path, program: Program) -> Iterator[Finding]:
    for index, path in enumerate(program.host_paths):
        if path in program.host_paths[:index] or path in _MOUNTED:
            yield say("host-path-mounted", (*place, "host_paths", index), path)
