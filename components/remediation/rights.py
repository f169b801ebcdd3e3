"""The rights of the fault remediation programs, on both clusters of a site."""

from components.making.admission import annotations_alone
from components.making.manifest import Json, Manifest, Target, by_kind, filled
from components.making.rights import account as service_account
from components.making.rights import role_and_binding, subject
from components.remediation import names
from components.remediation.names import REBOOTS, metadata, own, selector_labels, settings_of
from schemas.facts.site import Site

ASKED_ANNOTATION = "reboot.metal3.io"
"""Asks a BareMetalHost for a reboot (baremetalhost_types.go, RebootAnnotationPrefix)."""


def rights(site: Site) -> list[Manifest]:
    """The accounts of the programs that every site has, and their roles."""
    programs = (names.CONTROLLER, names.TURNS, REBOOTS)
    accounts = [each for program in programs for each in account(site, program)]
    return [*accounts, *_management(site)]


def account(site: Site, program: str) -> list[Manifest]:
    """The account of a program on the site's cluster, with its rules there and in its namespace."""
    rules, who = _rules(site, program), subject(program, settings_of(site).namespace)
    shared = metadata(site, names.shared_name(program), **selector_labels(program))
    bodies = [
        service_account(own(site, program)),
        *role_and_binding("ClusterRole", shared, rules["everywhere"], who),
        *role_and_binding("Role", own(site, program), rules["own"], who),
    ]
    return by_kind(bodies, program)


def _rules(site: Site, program: str) -> Json:
    """The rules of a program's account (rights.yaml), by where they hold."""
    # The ConfigMaps of every pool: one that no remediator has any more may still be held.
    (found,) = filled(__file__, held=[f"turns-held-{pool.name}" for pool in site.file.pools])
    rules: Json = found[program]
    return rules


def _management(site: Site) -> list[Manifest]:
    """The account by which hosts are rebooted, beside the site's BareMetalHosts. Its token is not
    made here: the site has it in a kubeconfig, in a Secret of its own cluster."""
    mine = metadata(site, REBOOTS, site.name, **selector_labels(REBOOTS))
    account: Json = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": mine}
    who = subject(REBOOTS, site.name)
    bodies = [account, *role_and_binding("Role", mine, _rules(site, REBOOTS)["management"], who)]
    logical, there = f"{REBOOTS}/management", Target.MANAGEMENT
    # Who may change a host's spec, or ask for its inspection, can have it erased or held for ever.
    only = annotations_alone(
        logical,
        metadata(site, f"foresite-{site.name}-{REBOOTS}", **selector_labels(REBOOTS)),
        (site.name, REBOOTS),
        {"metal3.io": ["baremetalhosts"]},
        (ASKED_ANNOTATION, names.REBOOT_ANNOTATION, names.HISTORY_ANNOTATION),
        there,
    )
    return [*by_kind(bodies, logical, there), *only]
