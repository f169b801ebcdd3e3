"""Effects of a change of fault remediation on machines that medik8s remediates."""

import pytest

from components.effects.vocabulary import Impact
from schemas.facts.site import Site
from tests.kit.remediation_effects_sites import detecting, effects, said, site, worse

MACHINES = 118
"""Of 120 hosts 2 are spares."""
MEDIK8S = {"kind": "medik8s"}


@pytest.mark.parametrize(
    ("before", "after", "most"),
    [
        (detecting(), site(MEDIK8S), MACHINES),
        (site(MEDIK8S), site({**MEDIK8S, "max_unavailable": 5}), 5),
        (site({**MEDIK8S, "max_unavailable": 5}), site(MEDIK8S), None),
        (site(MEDIK8S), site(MEDIK8S, medik8s={"unhealthy_seconds": 60}), MACHINES),
        (site(MEDIK8S), site(MEDIK8S, detector={"bad_after": 1}), MACHINES),
        (site({**MEDIK8S, "faults": ["kernel-deadlock"]}), site(MEDIK8S), MACHINES),
        (site(MEDIK8S), site({**MEDIK8S, "faults": ["kernel-deadlock"]}), None),
        (site(MEDIK8S), detecting(), None),
    ],
)
def test_medik8s_mends_as_many_as_its_budget(before: Site, after: Site, most: int | None) -> None:
    """At a time; what makes it mend more has all machines as its bound."""
    assert worse(effects(before, after)) == ({(Impact.REBOOT, 120, most)} if most else set())


def test_medik8s_refuses_some_changes_while_it_mends() -> None:
    gone = said(effects(site(MEDIK8S), detecting()), "NodeHealthCheck/gpu")
    later = said(
        effects(site(MEDIK8S), site(MEDIK8S, reboot={"timeout_seconds": 600})),
        "NodeHealthCheck/gpu",
    )
    for text in (gone, later):
        assert "its webhook refuses this" in text
