"""The objects of a site's stack in its clusters, as Pulumi reads them from the API server.

Pulumi reads with ``refresh --preview-only``, which changes neither cluster nor state and takes no
lock, so what another run is making at that moment may be there or not. ``--run-program`` gives the
provider the kubeconfig of whoever calls: without it the one of the last ``up`` is read, and a
cluster of another name would answer.
"""

from typing import Any

from components.making.manifest import Json, Manifest, Target
from components.site import site_objects
from foresite.delivery.stack.engine import Engine, EngineError
from schemas.facts.site import Site
from schemas.reading.bounded import parse_json

Key = tuple[str, str]
"""A component, as its resource is called, and the logical name of an object."""
_NOTHING = {"same", "read", "refresh"}
"""Steps that change nothing."""


def read(engine: Engine) -> dict[Key, Json | None]:
    """Every Kubernetes object of a stack, None where it is gone from its cluster. Raises
    EngineError where one cannot be read."""
    steps = _steps(engine.cautious(), "refresh", "--preview-only", "--run-program")
    keys = ((key_of(step["urn"]), step) for step in steps)
    return {key: None if step["op"] == "delete" else _body(step) for key, step in keys if key}


def next_steps(engine: Engine) -> list[Json]:
    """The steps of the next ``up``, without policies. Raises EngineError where it would fail."""
    return [each for each in _steps(engine, "preview") if each["op"] not in _NOTHING]


def _steps(engine: Engine, *command: str) -> list[Json]:
    done = engine.run(*command, "--json", "--stack", engine.stack, "--non-interactive")
    try:
        report = parse_json(done.stdout)
    except ValueError:
        report = None
    if not isinstance(report, dict) or "steps" not in report:
        raise EngineError(f"pulumi: {done.stderr.strip() or done.stdout.strip()}")
    faults = [each for each in report.get("diagnostics") or () if each["severity"] == "error"]
    if done.returncode or faults:
        said = " ".join(each["message"] for each in faults) or done.stderr
        raise EngineError(f"pulumi: {' '.join(said.split())}")
    return list(report["steps"])


def expected_objects(site: Site) -> dict[Key, Manifest]:
    """The objects that a site's stack should have by now."""
    every = ((name, each) for name, made in site_objects(site).items() for each in made)
    return {(resource_name(name), m.name): m for name, m in every if not follows(site, m)}


def follows(site: Site, manifest: Manifest) -> bool:
    """True if an object waits for the site's own cluster."""
    return manifest.target is Target.SITE and site.file.cluster.context is None


def resource_name(component: str) -> str:
    """The name of a component's resource: ``PodNetwork`` for ``pod-network``."""
    return "".join(part.capitalize() for part in component.split("-"))


def key_of(urn: str) -> Key | None:
    """The key of the Kubernetes object that a URN names; None for anything else."""
    _, _, types, name = urn.split("::", 3)
    *parents, own = types.split("$")
    if not own.startswith("kubernetes:"):
        return None
    component = parents[-1].rpartition(":")[2] if parents else ""
    return component, name


def type_of(urn: str) -> str:
    """The type of the resource that a URN names, without those of its parents."""
    return urn.split("::", 3)[2].rpartition("$")[2]


def _body(step: dict[str, Any]) -> Json:
    """An object as it is now: Pulumi shows it anew only where it is not as in the state (pulumi
    3.255, backend/display/json.go)."""
    now = step.get("newState") or {}
    body: Json = now.get("outputs") or step["oldState"]["outputs"]
    return body
