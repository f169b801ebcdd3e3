"""Of a schema the part that objects need is compiled: it takes what the whole takes."""

import functools
import itertools
from collections.abc import Iterator
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from schemas.kubernetes.objects import check
from tests.kit.good_objects import GONE, OBJECTS, changed, nodes


def _names(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        yield from schema.get("properties", {})
        yield from itertools.chain.from_iterable(map(_names, schema.values()))
    elif isinstance(schema, list):
        yield from itertools.chain.from_iterable(map(_names, schema))


@functools.cache
def names(api_version: str, kind: str) -> list[str]:
    return sorted({*_names(check.strict_schema(api_version, kind))})


@settings(max_examples=400)
@given(st.data())
def test_a_part_of_a_schema_takes_what_the_whole_takes(data: st.DataObject) -> None:
    """Objects that are changed anywhere, also by fields that another place of their kind has."""
    obj = data.draw(st.sampled_from(OBJECTS))
    known = names(obj["apiVersion"], obj["kind"])
    for _ in range(data.draw(st.integers(0, 3))):
        path, value = data.draw(st.sampled_from(list(nodes(obj))))
        if isinstance(value, dict):
            path = (*path, data.draw(st.sampled_from(known)))
            value = data.draw(st.sampled_from([{}, [], "a", 1, None, True, {"a": "b"}, [{}]]))
        elif path:
            value = data.draw(st.sampled_from([GONE, "", "a", -1, None, [], {}]))
        if path and path[:1] not in (("apiVersion",), ("kind",)):
            obj = changed(obj, path, value)
    name = f"{obj['apiVersion']}/{obj['kind']}"
    assert check._fits(name, obj) == check._validator(name).is_valid(obj)
