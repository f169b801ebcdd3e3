"""Every rule of ours: the checks are here, one file a domain; rules.toml has the rest of a rule."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module
from pkgutil import iter_modules
from types import FunctionType, ModuleType
from typing import Any

from policies.pods import Container, Pod, pods
from policies.rule import Found, Object, ObjectRule, Rule, Severity, SiteRule
from policies.rules import fields
from schemas.kubernetes.tables import read_table

MODULES = tuple(import_module(f"{__name__}.{each.name}") for each in iter_modules(__path__))
"""Where the checks are: every module of this package."""
_SHAPES = (
    (Object, Iterator[Found]),
    (Pod, Iterator[Found]),
    (Pod, Container, Iterator[Found]),
    (Sequence[Object], Iterator[tuple[Object, Found]]),
)
"""What checks take and yield: a private function of this shape is the check of its rule."""
CHECKS: dict[str, tuple[ModuleType, Callable[..., Any]]] = {
    name.removeprefix("_").replace("_", "-"): (module, function)
    for module in MODULES
    for name, function in vars(module).items()
    if isinstance(function, FunctionType) and (*function.__annotations__.values(),) in _SHAPES
}
CHECKS |= {name: (fields, check) for name, check in fields.CHECKS.items()}
"""Every check by its rule's name, with its module."""


def _rule(name: str, said: Mapping[str, Any]) -> Rule:
    module, check = CHECKS[name]
    what, fix = (said.get(text, "").format_map(vars(module)) for text in ("what", "fix"))
    texts = (name, Severity(said["severity"]), what, said["why"], said["source"])
    takes, *more, _ = check.__annotations__.values()
    if takes == Sequence[Object]:
        return SiteRule(*texts, check, not said.get("counts", False), fix)
    judge = check if takes is Object else partial(_of_pods, check, containers=bool(more))
    return ObjectRule(*texts, judge, vars(module).get("NARROW", {}).get(name), fix)


def _of_pods(
    check: Callable[..., Iterator[Found]], each: Object, *, containers: bool
) -> Iterator[Found]:
    """What a check finds in every pod that an object makes, or in every container of these."""
    for pod in pods(each):
        for one in pod.containers if containers else ():
            yield from check(pod, one)
        if not containers:
            yield from check(pod)


DOMAINS: dict[str, tuple[Rule, ...]] = {
    domain: tuple(_rule(name, said) for name, said in rules.items())
    for domain, rules in read_table(__path__[0]).items()
}
"""The rules of each domain, in the order in which they are judged and listed."""

RULES: tuple[Rule, ...] = tuple(rule for rules in DOMAINS.values() for rule in rules)
"""All rules."""
