"""The reference page of all rules: ``python -m policies.reference`` writes docs/policy-rules.md,
and with ``--check`` only compares."""

import sys
from pathlib import Path

from policies.exceptions import Exemption, ours
from policies.rule import Rule
from policies.rules import DOMAINS
from schemas.kubernetes.tables import read_table, write_pages

PAGE = Path(__file__).resolve().parent.parent / "docs" / "policy-rules.md"
_TEXTS = read_table(__file__)


def page() -> str:
    """The page: the rules by domain, then the exceptions of ours by object."""
    lines = ["# The rules", "", _TEXTS["rules"], ""]
    for domain, rules in DOMAINS.items():
        lines += [f"## {domain.capitalize()}", ""]
        lines += ["| rule | | the rule demands | harm without it | source |"]
        lines += ["|---|---|---|---|---|", *(_row(rule) for rule in rules), ""]
    lines += ["## Exceptions", "", _TEXTS["exceptions"], "", "| object | rule | why |"]
    lines += ["|---|---|---|"]
    lines += [_exception(each) for each in sorted(ours(), key=lambda e: (e.object, e.rule))]
    return "\n".join([*lines, ""])


def _row(rule: Rule) -> str:
    cells = (rule.severity.value, rule.what, rule.why, rule.source)
    return f"| `{rule.name}` | {' | '.join(map(_cell, cells))} |"


def _exception(each: Exemption) -> str:
    only = f"{', '.join(f'`{value}`' for value in each.only)}: " if each.only else ""
    return f"| `{each.object}` | `{each.rule}` | {only}{_cell(each.reason)} |"


def _cell(text: str) -> str:
    """A text that a table shows as it is written."""
    for special in ("\\", "|", "*", "<"):
        text = text.replace(special, f"\\{special}")
    return text


if __name__ == "__main__":
    sys.exit(write_pages({PAGE: page()}, sys.argv[1:]))
