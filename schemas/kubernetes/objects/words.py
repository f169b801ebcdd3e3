"""The fault of an object to begin with, in the words of jsonschema: one mistake, such as a wrong
indentation, often makes several faults. The fast validator (check.py) finds the faults and says
what is one. This module is for objects that it refused, and loads jsonschema only then."""

import json
from functools import cache
from typing import Any

from schemas.kubernetes.masking import shorten
from schemas.kubernetes.objects.check import strict_schema


def first_fault(obj: dict[str, Any]) -> str:
    """The fault of a refused object that tells most, with its place: ``spec.template: 'spec' is a
    required property``. Empty where jsonschema finds none, or knows no schema of the object."""
    from jsonschema.exceptions import best_match

    try:
        schema = strict_schema(str(obj.get("apiVersion")), str(obj.get("kind")))
    except KeyError:
        return ""
    found = best_match(_validator()(schema).iter_errors(obj))
    if found is None:
        return ""
    shown = json.dumps(found.instance, ensure_ascii=False, default=repr)
    place = ".".join(map(str, found.absolute_path)) or "the object"
    message = found.message.replace(repr(found.instance), shorten(shown), 1)
    return f"{place}: {shorten(message, 120)}"


@cache
def _validator() -> Any:
    """Jsonschema without patterns, for some of which Python takes exponential time."""
    import jsonschema

    extend: Any = jsonschema.validators.extend  # its stubs have a gap
    return extend(jsonschema.Draft4Validator, {"pattern": lambda *_: ()})
