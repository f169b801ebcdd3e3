"""No secret in an object, which many read in Git, plans and states: references only. How
credentials look is in schemas/kubernetes/secret_forms.py."""

from collections.abc import Iterator, Sequence
from typing import Any

from policies.embedded import format_path
from policies.messages import say
from policies.pods import Container, Pod, items
from policies.rule import Found, Json, Object, text
from schemas.kubernetes.bodies import Path
from schemas.kubernetes.outline import outline
from schemas.kubernetes.secret_scan import credential, in_arguments, is_secret, suspect

REFERRING = {"ExternalSecret": frozenset({"secretKey"})}
"""Fields of a kind that sound like a secret, and say which key of a Secret is meant
(external-secrets.io/v1, spec.data)."""


def _secret_literal(each: Object) -> Iterator[Found]:
    harmless = REFERRING.get(each.kind, frozenset[str]())
    for key, found in _literals(each.body, ()):
        if key not in harmless:
            yield found


def _suspects(objects: Sequence[Object]) -> Sequence[Object]:
    """The objects in which there may be anything to find: most have nothing, and to look at many
    texts at once takes a tenth of the time."""
    texts = dict[str, None]()
    leaves = list[str]()
    different = dict[bytes | int, Json]()
    for each in objects:
        # No leaf stands beside the name of a secret.
        alike = outline(each.body)
        leaves += alike.leaves if alike else ()
        different.setdefault(alike.key if alike else id(each), each.body)
    named = any(_named_in(each, texts) for each in different.values())
    if named or suspect((*texts, *leaves)):
        half = len(objects) // 2
        parts = (objects[:half], objects[half:])
        return [each for part in parts for each in _suspects(part)] if half else objects
    return ()


def _named_in(body: Json, texts: dict[str, None]) -> bool:
    """True if an object has a secret by its name; else all its texts are added to ``texts``."""
    rest: list[Any] = [body]
    while rest:
        value = rest.pop()
        if isinstance(value, dict):
            for key, item in value.items():
                if isinstance(item, str):
                    texts[item] = None
                    if is_secret(str(key), item):
                        return True
                elif item:
                    rest.append(item)
        elif isinstance(value, list):
            if any(in_arguments(value)):
                return True
            rest += value
        elif isinstance(value, str):
            texts[value] = None
    return False


def _literals(value: Any, path: Path) -> Iterator[tuple[str, Found]]:
    """Texts that look like a credential, wherever they are, with the name by which they do, if any.
    A finding never repeats what it found: it ends up in logs and comments."""
    if isinstance(value, dict):
        for key, item in value.items():
            name, place = text(key), (*path, str(key))
            if isinstance(item, str) and is_secret(name, item) and not credential(item):
                yield name, Found(format_path(place), f"{name} is written out here")
            yield from _literals(item, place)
    elif isinstance(value, list):
        for index, flag in in_arguments(value):
            if not credential(value[index]):
                yield flag, Found(format_path((*path, index)), f"{flag} is written out here")
        for index, item in enumerate(value):
            yield from _literals(item, (*path, index))
    elif isinstance(value, str):
        what = credential(value)
        if what:
            yield "", Found(format_path(path), f"this text has {what} in it")


def _secret_environment(_: Pod, each: Container) -> Iterator[Found]:
    for index, variable in items(each.body, "env"):
        name, value = str(variable.get("name")), variable.get("value")
        if isinstance(value, str) and is_secret(name, value):
            yield say("secret-environment", f"{each.path}.env[{index}].value", each.name, name)


NARROW = {"secret-literal": _suspects}
"""For checks that are slow: the objects that are worth looking at, of all."""
