"""Sites that end, come back from their end, or lose their file."""

from components.effects.vocabulary import Action, Impact
from preview.result import State
from tests.verdicts.edits import Edit, applied, cells, gone, site
from tests.verdicts.row import Expected, Row, added, removed

_FILES = ("sites/lab-1.yaml", "sites/lab-1.hosts.csv")
_LAST = "  routes: {critical: desk, warning: desk}\n"
_REASON = "The hall is given back."
_END = site("lab-1", _LAST, f"{_LAST}decommission: {{reason: {_REASON}}}\n")
_BACK = site("lab-1", f"decommission: {{reason: {_REASON}}}\n", "")
_GOES = {"Namespace": Action.CHANGED, "BareMetalHost/*": Action.CHANGED, "*": Action.DELETED}
"""Everything goes but hosts and the namespace that they are in."""
_HELD = dict.fromkeys(("Cluster", "IPPool", "KubeadmControlPlane", "Metal3Cluster"), 1)
_SOURCE = (
    "Cluster API 1.13.6, internal/controllers/cluster/cluster_controller.go (reconcileDelete) and "
    "machine/machine_controller.go (isDeleteNodeAllowed): machines of a Cluster that is deleted go "
    "at once and are not drained; CAPM3 1.13.2, baremetal/metal3machine_manager.go (Delete): hosts "
    "are deprovisioned, lose their consumer and stay"
)
_IDLE = "nothing but registered hosts is left, and no Machine"


def _ended(*edits: Edit) -> tuple[Edit, ...]:
    return (_END, *edits)


ROWS = (
    Row(
        "a site ends",
        (_END,),
        {
            "lab-1": Expected(
                {"lab": removed(3)}, _GOES, {"hosts": 3, **_HELD}, state=State.DECOMMISSIONED
            )
        },
        _SOURCE,
    ),
    Row(
        "a site whose own cluster answers ends: what is in it is lost as well",
        (_END,),
        {
            "lab-1": Expected(
                {"lab": removed(3)},
                _GOES,
                {"hosts": 3, **_HELD, "ClusterPolicy": 1, "NVIDIADriver": 1, "Namespace": 5},
                state=State.DECOMMISSIONED,
            )
        },
        f"{_SOURCE}; the disks of the hosts hold the cluster's etcd",
        base=(applied("lab-1"),),
    ),
    Row(
        "another reason for the end",
        (site("lab-1", _REASON, "The hall has burnt down."),),
        {"lab-1": Expected()},
        f"an annotation; {_IDLE}",
        base=_ended(),
    ),
    Row(
        "the end is taken back",
        (_BACK,),
        {"lab-1": Expected({"lab": added(3)}, {"Cluster": Action.ADDED})},
        "a Cluster that is made anew gets machines: hosts without a consumer are chosen (CAPM3 "
        "1.13.2, baremetal/metal3machine_manager.go, chooseHost)",
        base=_ended(),
    ),
    Row(
        "a version and a time server of a site that has ended",
        (
            site("lab-1", "ntp: [10.18.0.2]", "ntp: [10.18.0.3]"),
            site("lab-1", "kubernetes: v1.34.3", "kubernetes: v1.34.8"),
        ),
        {},
        _IDLE,
        base=_ended(),
    ),
    Row(
        "a rack of a site that has ended",
        (cells("lab-1", "lab-1-lab-001", rack="lab-77"),),
        {"lab-1": Expected({}, {"BareMetalHost/lab-1-lab-001": Action.CHANGED})},
        _IDLE,
        base=_ended(),
    ),
    Row(
        "the file of a site that has ended is removed",
        (gone(*_FILES),),
        {"lab-1": Expected({}, {"*": Action.LEFT}, state=State.REMOVED)},
        "foresite/commands/up.py applies sites that have a file: nothing is deleted",
        base=_ended(),
    ),
    Row(
        "a file vanishes though its site has not ended",
        (gone(*_FILES),),
        {"lab-1": Expected({}, {"*": Action.LEFT}, state=State.VANISHED)},
        "foresite/commands/up.py applies sites that have a file: nothing is deleted, and no number "
        "lets it through (preview/gates.py)",
    ),
    Row(
        "a site of several pools ends",
        (
            site("tsukuba-1", "site: tsukuba-1\n",
                 f"site: tsukuba-1\ndecommission: {{reason: {_REASON}}}\n"),
        ),
        {
            "tsukuba-1": Expected(
                dict.fromkeys(("control", "cpu", "mncore2"), removed()),
                _GOES,
                {"hosts": 64, **_HELD},
                counts={Impact.REMOVE: 64},
                state=State.DECOMMISSIONED,
            )
        },
        _SOURCE,
    ),
)  # fmt: skip
