"""Edits that `foresite check` refuses: of such a site it is said that nothing can be said."""

from schemas.model.codes import Code
from tests.verdicts.edits import (
    HARDWARE,
    Edit,
    at_tsukuba,
    cells,
    gone,
    listed,
    site,
    swap,
    without,
)
from tests.verdicts.row import Invalid, Row

_CHECK = "docs/problems.md"


def _row(name: str, edits: tuple[Edit, ...], code: Code, *sites: str) -> Row:
    wrong = Invalid(frozenset({code}))
    return Row(name, edits, dict.fromkeys(sites or ("tsukuba-1",), wrong), f"{_CHECK}, {code}")


def _taken(name: str) -> Edit:
    """The last host of a site gets a serial number that the other site's last host gets as well."""
    return listed(name, lambda rows: rows[-1].update(serial="EXTWICE"))


def _sum(name: str, old: str, new: str, code: Code, fix: str) -> Row:
    """A sum over several lines of tokyo-1: the line that was changed is the one that is named."""
    wrong = Invalid(frozenset({code}), new, fix)
    return Row(name, (site("tokyo-1", old, new),), {"tokyo-1": wrong}, f"{_CHECK}, {code}")


_SUMS = (
    _sum(
        "sum: the smallest quota of the cache raised",
        "{name: image-layers, quota: 20Ti",
        "{name: image-layers, quota: 300Ti",
        Code("cache-quota"),
        "for vision, the largest",
    ),
    _sum(
        "sum: the capacity of the cache lowered",
        "capacity: 3000Gi",
        "capacity: 2000Gi",
        Code("cache-quota"),
        "raise capacity",
    ),
    _sum(
        "sum: a small guarantee of a team raised",
        "a100-sxm4-80gb: 32}",
        "a100-sxm4-80gb: 300}",
        Code("overcommitted"),
        "team language has most, 384",
    ),
    _sum(
        "sum: a rollout takes out more than teams leave",
        "max_unavailable: 4, max_surge: 2",
        "max_unavailable: 40, max_surge: 2",
        Code("overcommitted"),
        "team vision has most",
    ),
)
ROWS = (
    *_SUMS,
    _row(
        "workers ahead of the control plane",
        (site("tsukuba-1", "kubernetes: v1.34.3", "kubernetes: v1.34.3\n  workers: v1.34.8"),),
        Code("version-skew"),
    ),
    _row(
        "a surge without a spare",
        (site("tsukuba-1", "max_unavailable: 2}}", "max_unavailable: 0, max_surge: 1}}"),),
        Code("rollout-stuck"),
    ),
    _row(
        "a rollout that may take nothing out",
        (site("tsukuba-1", "max_unavailable: 2}}", "max_unavailable: 0}}"),),
        Code("rollout-stuck"),
    ),
    _row(
        "a rollout that takes all out at once",
        (site("tsukuba-1", "max_unavailable: 2}}", "max_unavailable: 21}}"),),
        Code("rollout-all-at-once"),
    ),
    _row("an even control plane", (at_tsukuba("control", "a"),), Code("control-plane-even")),
    _row(
        "a control plane with a host less",
        (without("tsukuba-1", "tsukuba-1-a-001"),),
        Code("control-plane-even"),
    ),
    _row(
        "a version without an image for one pool",
        (site("tsukuba-1", "kubernetes: v1.34.3", "kubernetes: v1.35.5"),),
        Code("os-image-missing"),
    ),
    _row(
        "a release that is not there",
        (site("lab-1", '"2026.11"', '"2027.01"'),),
        Code.UNKNOWN_RELEASE,
        "lab-1",
    ),
    _row(
        "a profile that goes while a site has it",
        (swap(HARDWARE, "  mncore2-x8:\n", "  mncore3-x8:\n"),),
        Code("unknown-hardware"),
    ),
    _row(
        "a start limit below a re-image",
        (
            site(
                "tsukuba-1",
                "{reboot_retries: 2}",
                "{remedy: replace, node_startup_timeout_seconds: 900}",
            ),
        ),
        Code("health-check-loop"),
    ),
    _row("what is no YAML", (site("tsukuba-1", "zones:\n", "zones: [\n"),), Code.YAML_SYNTAX),
    _row("a site without its file", (gone("sites/lab-1.yaml"),), Code.FILE_MISSING, "lab-1"),
    _row("a site without its hosts", (gone("sites/lab-1.hosts.csv"),), Code.FILE_MISSING, "lab-1"),
    Row(
        "a fault that is put right: what it did before, nobody can say",
        (site("tsukuba-1", "  workers: v1.34.8\n", ""),),
        {"tsukuba-1": Invalid(frozenset({Code("version-skew")}))},
        "preview/result.py, State: one side has problems, so nothing can be said",
        (site("tsukuba-1", "  endpoint:", "  workers: v1.34.8\n  endpoint:"),),
    ),
    _row(
        "a host with the MAC of another site's",
        (cells("tsukuba-1", "tsukuba-1-a-004", mac="52:54:00:01:00:01"),),
        Code("sites-clash"),
    ),
    _row(
        "two hosts of two sites, valid alone, that clash together",
        (_taken("tokyo-1"), _taken("tsukuba-1")),
        Code("sites-clash"),
        "tokyo-1",
        "tsukuba-1",
    ),
)
