"""Stacks that no site file speaks of: named, and never touched.

A file that is gone, by mistake or after a site's end, takes nothing with it: only a person who runs
``pulumi destroy`` does.
"""

from collections.abc import Iterable

from foresite.delivery.stack.engine import Engine
from schemas.reading.bounded import parse_json


def without_file(engine: Engine, sites: Iterable[str]) -> list[str] | None:
    """The stacks of this project that have objects and no site of their name, sorted; None where
    the backend cannot say."""
    done = engine.run("stack", "ls", "--json")
    try:
        listed = parse_json(done.stdout) if done.returncode == 0 else None
    except ValueError:
        listed = None
    if not isinstance(listed, list):
        return None
    # A stack may be called organization/project/name; one that was destroyed has no resources.
    names = {
        str(each["name"]).rpartition("/")[2] for each in listed if each.get("resourceCount") != 0
    }
    return sorted(names - set(sites))


def vanished_lines(stacks: list[str] | None) -> list[str]:
    """The notes on them for a person, a line each."""
    if stacks is None:
        return ["stacks without a site file: not known, the backend did not list its stacks"]
    return [
        f"not touched: stack {name} has no file in sites/; bring it back, or if the site was "
        f"decommissioned: pulumi destroy --stack {name}"
        for name in stacks
    ]
