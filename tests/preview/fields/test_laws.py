"""Laws of the changes between any two objects: applied, swapped, shuffled."""

import copy
import json
import random
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from components.effects.vocabulary import ABSENT, FieldChange
from components.making.dump import dump
from preview.differences.fields.compared import _entries, _values
from preview.differences.fields.kinds import field_of
from preview.differences.fields.pairing import Pairing
from tests.kit.fields import field_changes
from tests.preview.fields.test_fields import BLANK, Json, config_map, deployment

KEYS = {
    "containers": ("name",),
    "env": ("name",),
    "ports": ("containerPort", "protocol"),
    "volumeMounts": ("mountPath",),
}
"""Told here anew, from the Kubernetes API reference: the test does not ask what it tests."""
NAMES = st.sampled_from(["a", "b", "a/b", "c.d"])
SCALARS = st.sampled_from([None, True, False, 0, 1, 1.0, 2, "", "1", "x", "a\nb\n"])
ANYTHING: st.SearchStrategy[Json] = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=12,
)
QUANTITIES = st.sampled_from(["1", "1000m", "1Gi", "1024Mi", "2", 1, 2])


def _unique(items: st.SearchStrategy[Any], *keys: str) -> st.SearchStrategy[Any]:
    return st.lists(items, max_size=3, unique_by=lambda item: tuple(item[key] for key in keys))


CONTAINERS = _unique(
    st.fixed_dictionaries(
        {"name": NAMES},
        optional={
            "args": st.lists(NAMES, max_size=5),
            "env": _unique(st.fixed_dictionaries({"name": NAMES, "value": NAMES}), "name"),
            "ports": _unique(
                st.fixed_dictionaries(
                    {
                        "containerPort": st.integers(1, 2),
                        "protocol": st.sampled_from(["TCP", "UDP"]),
                    },
                    optional={"hostPort": st.integers(1, 2)},
                ),
                "containerPort",
                "protocol",
            ),
            "volumeMounts": _unique(
                st.fixed_dictionaries({"name": NAMES, "mountPath": NAMES}), "mountPath"
            ),
            "resources": st.fixed_dictionaries(
                {"limits": st.dictionaries(NAMES, QUANTITIES, max_size=2)}
            ),
        },
    ),
    "name",
)
TOLERATIONS = st.lists(st.dictionaries(NAMES, NAMES, max_size=3), max_size=4)
PODS = st.builds(
    lambda containers, tolerations, extra: deployment(
        {"containers": containers, "tolerations": tolerations, "unknown": extra}
    ),
    CONTAINERS,
    TOLERATIONS,
    ANYTHING,
)
DATA = st.dictionaries(NAMES, ANYTHING, min_size=1, max_size=3)
TEXTS = st.one_of(
    st.builds(json.dumps, DATA, indent=st.sampled_from([None, 1])), st.builds(dump, DATA)
)
MAPS = st.builds(lambda text: config_map(**{"a.yaml": text}), TEXTS)
THINGS = st.builds(lambda inner: {**BLANK, "field": inner}, ANYTHING)
PAIRS = st.one_of([st.tuples(each, each) for each in (PODS, MAPS, THINGS)])
CROSSING = tuple({**BLANK, "field": [*letters]} for letters in ("abc", "bacb"))
"""The c stays at its index, and yet b or c has to move: it goes and comes at one index."""
FEW = settings(max_examples=150)


def meaning(value: Json, name: str = "") -> Json:
    """A value in one form for all that mean the same; the field's name tells what it is."""
    if name == "a.yaml":
        return meaning(yaml.safe_load(value))
    if isinstance(value, dict):
        inner = {key: meaning(item, key) for key, item in value.items()}
        if name == "limits":
            inner = {key: str(_amount(item)) for key, item in value.items()}
        return ("map", sorted(inner.items()))
    if isinstance(value, list):
        items = [meaning(item) for item in value]
        return ("map", sorted(items, key=repr)) if name in KEYS else ("list", items)
    return repr(value)


def _amount(text: Any) -> Decimal:
    factors = {"m": Decimal("0.001"), "Gi": Decimal(2**30), "Mi": Decimal(2**20)}
    for suffix, factor in factors.items():
        if str(text).endswith(suffix):
            return (Decimal(str(text).removesuffix(suffix)) * factor).normalize()
    return Decimal(str(text)).normalize()


def applied(value: Json, changes: list[FieldChange], name: str = "") -> Json:
    """``value`` with the changes made in it."""
    if any(not change.path for change in changes):
        (change,) = changes
        return change.after
    if isinstance(value, str):
        return dump(applied(yaml.safe_load(value), changes))
    if isinstance(value, dict):
        return _in_map(value, changes)
    if name in KEYS:
        keyed = {"/".join(str(item[key]) for key in KEYS[name]): item for item in value}
        return list(_in_map(keyed, changes).values())
    return _in_list(value, changes)


def _in_map(value: Json, changes: list[FieldChange]) -> Json:
    result = dict(value)
    for key in {change.path[0]: None for change in changes}:
        inner = [FieldChange(c.path[1:], *c[1:]) for c in changes if c.path[0] == key]
        result[key] = applied(result.get(key, ABSENT), inner, str(key))
    return {key: item for key, item in result.items() if item is not ABSENT}


def _in_list(value: Json, changes: list[FieldChange]) -> Json:
    """Indexes of what goes and of what changes within are those before, of what comes after."""
    result = list(value)
    whole = [c for c in changes if len(c.path) == 1]
    for index in {c.path[0]: None for c in changes if len(c.path) > 1}:
        inner = [FieldChange(c.path[1:], *c[1:]) for c in changes if c.path[0] == index]
        result[int(index)] = applied(result[int(index)], inner)
    for index in sorted((c.path[0] for c in whole if c.before is not ABSENT), reverse=True):
        del result[int(index)]
    for change in sorted(whole, key=lambda c: c.path[0]):
        if change.after is not ABSENT:
            result.insert(int(change.path[0]), change.after)
    return result


def shuffled(value: Json, source: random.Random, name: str = "") -> Json:
    if isinstance(value, dict):
        return {key: shuffled(item, source, key) for key, item in value.items()}
    if isinstance(value, list):
        items = [shuffled(item, source) for item in value]
        if name in KEYS:
            source.shuffle(items)
        return items
    return value


def mirrored(changes: Iterable[FieldChange]) -> list[str]:
    return sorted(repr(FieldChange(c.path, c.after, c.before)) for c in changes)


@given(PAIRS)
@example(CROSSING)
@FEW
def test_there_are_changes_where_the_meaning_or_a_text_differs(pair: tuple[Json, Json]) -> None:
    before, after = pair
    changes = field_changes(before, after)
    in_text = before["kind"] == "ConfigMap" and before != after
    assert bool(changes) == (meaning(before) != meaning(after) or in_text)
    for change in changes:
        assert repr(change.before) != repr(change.after)


@given(PAIRS)
@example(CROSSING)
@FEW
def test_the_changes_made_in_the_one_give_the_other(pair: tuple[Json, Json]) -> None:
    before, after = copy.deepcopy(pair)
    changes = field_changes(before, after)
    assert (before, after) == pair
    assert meaning(applied(before, list(changes))) == meaning(after)


@given(PAIRS)
@example(CROSSING)
@FEW
def test_swapped_objects_give_swapped_changes(pair: tuple[Json, Json]) -> None:
    forth, back = field_changes(*pair), field_changes(*pair[::-1])
    assert sorted(map(repr, forth)) == mirrored(back)
    assert [list(map(str, c.path)) for c in forth] == sorted(list(map(str, c.path)) for c in forth)


@given(PODS, PODS, st.randoms(use_true_random=False))
@FEW
def test_the_order_of_items_with_keys_is_nothing(
    before: Json, after: Json, source: random.Random
) -> None:
    assert field_changes(before, shuffled(before, source)) == ()
    paths = [change.path for change in field_changes(before, after)]
    assert [change.path for change in field_changes(shuffled(before, source), after)] == paths


TREES: st.SearchStrategy[Any] = st.recursive(
    st.tuples(SCALARS | st.just({}), SCALARS | st.just([])),
    lambda inner: st.dictionaries(NAMES | st.just("__a"), inner, min_size=1, max_size=3),
    max_leaves=12,
)


@given(TREES)
def test_values_are_found_as_deepdiff_finds_them(tree: Any) -> None:
    before, after = ({**BLANK, "x": _side(tree, side)} for side in (0, 1))
    pair = Pairing().lay_out(before, after, field_of(before, after))
    if pair:
        found = [[repr(each) for each in find(*pair)] for find in (_plain, _entries)]
        assert sorted(found[0]) == sorted(found[1]) != []


def _plain(left: Any, right: Any) -> list[FieldChange]:
    return list(_values(left, right, ()))


def _side(tree: Any, side: int) -> Any:
    return {k: _side(v, side) for k, v in tree.items()} if isinstance(tree, dict) else tree[side]
