"""Secrets by reference: which store holds them and where, of which no host takes notice.

The External Secrets Operator reads the objects; what it makes of them is read by the Bare Metal
Operator, by Alertmanager and by the pods of reboots, and by no machine.
"""

from collections.abc import Mapping

from components.effects.vocabulary import Action
from tests.kit.preview_repository import Repository
from tests.verdicts.edits import Edit, applied, site
from tests.verdicts.row import Expected, Row

_FETCHED = (
    "External Secrets 2.9.0, pkg/controllers/externalsecret/externalsecret_controller.go: another "
    "reference is fetched anew, and the Secret stays as it is where that fails (Retain)"
)
_LOGGED_IN = (
    "Bare Metal Operator v0.13.2, internal/controller/metal3.io/baremetalhost_controller.go: other "
    "credentials register the host anew and leave its machine alone"
)
_KEPT = (
    "foresite, components/secrets/objects.py: kept; External Secrets 2.9.0 makes an ExternalSecret "
    "the owner of its Secret, which would go with it"
)
_HOSTS = "ExternalSecret/tokyo-1-*"
_SITE = ("ExternalSecret/node-remediation/*", "ExternalSecret/monitoring/*")
_SECTION = "secrets: {management: {name: vault}, site: {name: vault}}"
Actions = Mapping[str, Action]


def _section(text: str) -> Edit:
    """The section at the end of tokyo-1's file, which has none."""

    def edit(repository: Repository) -> None:
        file = "sites/tokyo-1.yaml"
        repository.write(file, f"{repository.text(file)}\n{text}\n")

    return edit


_THERE = (applied("tokyo-1"), _section(_SECTION))
_MANAGED = {_HOSTS: Action.CHANGED}
_OWN = dict.fromkeys(_SITE, Action.CHANGED)
_CHANGES: Mapping[str, tuple[str, str, Actions]] = {
    "another store of the management cluster": ("management: {name: vault}",
        "management: {name: vault-2}", _MANAGED),
    "a store of each namespace of the management cluster": ("management: {name: vault}",
        "management: {name: vault, kind: SecretStore}", _MANAGED),
    "another store of the site": ("site: {name: vault}", "site: {name: vault-2}", _OWN),
    "a store of each namespace of the site": ("site: {name: vault}",
        "site: {name: vault, kind: SecretStore}", _OWN),
    "another path": ("site: {name: vault}}", 'site: {name: vault}, path: "x/{namespace}/{secret}"}',
        _MANAGED | _OWN),
    "fetched more often": ("site: {name: vault}}", "site: {name: vault}, refresh_minutes: 15}",
        _MANAGED | _OWN),
}  # fmt: skip
ROWS = (
    *(
        Row(
            f"secrets: {name}",
            (site("tokyo-1", old, new),),
            {"tokyo-1": Expected(actions=actions)},
            f"{_FETCHED}; {_LOGGED_IN}",
            _THERE,
        )
        for name, (old, new, actions) in _CHANGES.items()
    ),
    Row(
        "secrets: they are fetched from now on",
        (_section(_SECTION),),
        {"tokyo-1": Expected(actions=dict.fromkeys((_HOSTS, *_SITE), Action.ADDED))},
        f"{_FETCHED}; {_LOGGED_IN}",
        (applied("tokyo-1"),),
    ),
    Row(
        "secrets: they are fetched no more",
        (site("tokyo-1", f"\n{_SECTION}\n", ""),),
        {"tokyo-1": Expected(actions=dict.fromkeys((_HOSTS, *_SITE), Action.LEFT))},
        _KEPT,
        _THERE,
    ),
    Row(
        "secrets: one for all BMCs",
        (
            site("tokyo-1", "bmc: {network: 10.24.0.0/20}",
                 "bmc: {network: 10.24.0.0/20, credentials: bmc}"),
        ),
        {
            "tokyo-1": Expected(
                actions={
                    "ExternalSecret/bmc": Action.ADDED,
                    _HOSTS: Action.LEFT,
                    "BareMetalHost/*": Action.CHANGED,
                }
            )
        },
        f"{_LOGGED_IN}; {_KEPT}",
        _THERE,
    ),
)  # fmt: skip
