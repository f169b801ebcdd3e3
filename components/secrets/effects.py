"""Effects of changes to the references to Secrets on machines: nothing by themselves."""

from functools import partial

from components.effects import Effects, Field, Impact, ObjectChange, SiteChange
from components.effects.applying import effect, rules
from components.effects.table import read_table
from components.making.manifest import Target

OPERATOR = "External Secrets 2.9, pkg/controllers/externalsecret/externalsecret_controller.go"
_BMC = (
    "the Bare Metal Operator then logs in to the BMC again, and the machine continues; a host "
    "whose BMC refuses is not power-cycled or chosen for a Machine until it is corrected"
)
_BMC_SOURCE = "Bare Metal Operator 0.13, internal/controller/metal3.io/baremetalhost_controller.go"
_OTHER = "running pods continue; alerts or reboots that use it fail if its content is wrong"
_OTHER_SOURCE = (
    "prometheus-operator 0.85.0, pkg/alertmanager/operator.go; "
    "foresite, components/remediation/reboot.py"
)
READERS = {Target.MANAGEMENT: (_BMC, _BMC_SOURCE), Target.SITE: (_OTHER, _OTHER_SOURCE)}
"""The effect of a Secret's content on each cluster, with the source of the fact."""


def _read_by(what: str, _site: SiteChange, change: ObjectChange, field: Field) -> Effects:
    """Changes after which the Secret may hold something else."""
    reader, source = READERS[change.one.target]
    yield effect(change, field, Impact.NONE, f"{what}: {reader}", f"{OPERATOR}; {source}")


GONE = partial(_read_by, "the Secret goes with it, as it is its owner")
FETCHED = partial(
    _read_by, "the Secret is fetched again from there, and stays as it is where that fails"
)
ADDED = partial(
    _read_by,
    "the Secret is made from the store, and one that was made by hand is taken over with what the "
    "store holds",
)
RULES = rules(*read_table(globals()).kinds)
"""Other fields of its spec do not come from a site file; their effect is unknown."""
