"""The program that records on Jobs why their pods were disrupted: disruptions.yaml, recorder.py."""

from pathlib import Path

from components.making.admission import annotations_alone
from components.making.daemons import namespace
from components.making.manifest import Manifest, by_kind, filled, hash_name, labels
from components.making.pod_security import POD_SECURITY, SECURITY
from components.making.taints import tolerations
from components.teams.names import COMPONENT
from components.teams.recorder import ANNOTATION
from schemas.facts.site import Site

NAME = "disruption-recorder"


def recorder(site: Site) -> list[Manifest]:
    """The program and its rights; nothing where the site names no image for it."""
    if site.scheduling.disruption_recorder is None:
        return []
    program = Path(__file__).with_name("recorder.py").read_text("utf-8")
    bodies = filled(
        __file__,
        namespace=NAME,
        labels={**labels(site.name, COMPONENT), "app.kubernetes.io/name": NAME},
        program=program,
        digest=hash_name(NAME, {"program": program}),
        image=site.scheduling.disruption_recorder,
        tolerations=tolerations([site.control_plane]),
        security=POD_SECURITY,
        container_security=SECURITY,
    )
    found = by_kind(bodies, NAME)
    (role,) = (each for each in bodies if each["kind"] == "ClusterRole")
    rights = (each for each in role["rules"] if "patch" in each["verbs"])
    patched = {group: each["resources"] for each in rights for group in each["apiGroups"]}
    # Who may change what makes pods can run any, in any namespace.
    only = annotations_alone(NAME, role["metadata"], (NAME, NAME), patched, [ANNOTATION])
    # It stands before the rights that it bounds.
    return [namespace(site, NAME, COMPONENT, "restricted"), *only, *found]
