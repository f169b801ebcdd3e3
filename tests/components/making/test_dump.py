"""Our YAML says the same to readers of YAML 1.1 and of YAML 1.2, to libyaml and to ruamel.yaml."""

import io
import json
import math
from typing import Any

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from components.making.dump import dump, dump_all, dump_json
from schemas.model.codes import Code
from schemas.reading.yaml_reader import read_yaml

_WORDS = (
    "y Y n N yes Yes YES no No NO on On ON off Off OFF true True TRUE false False FALSE null Null "
    "NULL nan NaN inf ~ .nan .NaN .inf -.inf +.inf = << - ? : | > * & ! % @ ` # [ ] { } , a: a:b "
    "a# #a -a ?a 0 1 -1 +1 007 0777 0o17 0x1f 0b11 1_000 1. .5 1.5 1e3 1e+3 1.0e3 1.0e+3 12:30 "
    "1:2:3 190:20:30.15 2001-12-14 2001-12-14t21:59:43.10-05:00 --- ... --- # a,b {a [a 'a \"a a' "
    'a" \\ // :a a::b a@b a%b 500Mi 50% -- /a v1.34.3 e1 1a'
)
WORDS = _WORDS.split()
"""Words that some reader takes for something else, or that end a plain scalar."""

texts = st.one_of(
    st.text(max_size=20),
    st.sampled_from(WORDS),
    st.text(
        "ab \n\t\r:#-?{}[]'\"\\%,\x00\x07\x1b\x7f\x85\xa0\xad\u2028\ufeff\U0001f600", max_size=12
    ),
    st.integers().map(str),
    st.floats().map(str),
    st.dates().map(str),
)
scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(min_value=2**63, max_value=2**200)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts
)
plain = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=10,
)


def same(left: Any, right: Any) -> bool:
    """Equal in value and in type, so that 1 is neither true nor 1.0; the order of keys counts."""
    if isinstance(left, float):
        return isinstance(right, float) and left == right
    return repr(left) == repr(right)


@given(plain)
@example({"a": "\n"})
@example({"a": " b\nc"})
@example({"a": "b\n\n"})
@example({"a": "\n\nb\n"})
@example([[[], {}], {"a": [], "b": {}}, "", {"": ""}])
@example(5e-324)
@example([1e16, -0.0, 1.7976931348623157e308])
@settings(max_examples=150)
def test_a_reader_of_yaml_1_1_reads_what_was_written(value: Any) -> None:
    assert same(yaml.load(dump(value), Loader=yaml.CSafeLoader), value)


@given(plain)
@example({"a": "b\n \nc\n"})
@settings(max_examples=100)
def test_a_reader_of_yaml_1_2_reads_what_was_written(value: Any) -> None:
    reader = YAML(typ="safe", pure=True)
    assert same(reader.load(io.StringIO(dump(value))), value)


REFUSED = {Code.FILE_CHARACTER, Code.FILE_EMPTY, Code("yaml-merge-key"), Code("yaml-number")}
"""Codes of YAML that our own reader refuses in a site file."""


@given(st.dictionaries(texts, plain, min_size=1, max_size=4))
@settings(max_examples=100)
def test_our_own_reader_reads_what_was_written_or_refuses_it(value: Any) -> None:
    document, problems = read_yaml(dump(value).encode(), "x.yaml")
    assert {problem.code for problem in problems} <= REFUSED
    assert document is None or same(document.value, value)


@pytest.mark.parametrize("word", WORDS)
def test_a_text_stays_a_text_as_value_item_and_key(word: str) -> None:
    value = {word: word, "list": [word, {word: [word]}]}
    assert yaml.load(dump(value), Loader=yaml.CSafeLoader) == value
    assert YAML(typ="safe", pure=True).load(dump(value)) == value


@given(st.text("ab \n\t#:-é\U0001f600", min_size=1, max_size=40))
@settings(max_examples=200)
def test_a_file_inside_an_object_keeps_every_character(text: str) -> None:
    value = {"data": {"file": text}, "items": [text, {"file": text}]}
    assert yaml.load(dump(value), Loader=yaml.CSafeLoader) == value


def test_a_file_inside_an_object_is_readable() -> None:
    shown = dump({"data": {"a.conf": "one: 1\n\n  two: 2\nüber\n", "b": "x\ny"}})
    assert (
        shown == "data:\n  a.conf: |\n    one: 1\n\n      two: 2\n    über\n  b: |-\n    x\n    y\n"
    )


def test_no_line_ends_in_a_hidden_character() -> None:
    for hidden in "\x00\x1b\x7f\x85\xa0\xad\u200b\u202e\u2028\ufeff\U000e0001":
        written = dump({"a": f"b{hidden}", "c": f"d\n{hidden}\n", f"e{hidden}": 1})
        assert all(c == "\n" or c.isprintable() for c in written)
        assert written.isascii()


def test_documents_stand_apart() -> None:
    values: list[Any] = [{"a": 1}, {"b": ["---", "..."]}, {"c": "---\n...\n"}]
    assert list(yaml.load_all(dump_all(values), Loader=yaml.CSafeLoader)) == values
    assert dump_all([]) == ""


def test_the_order_of_keys_is_kept_and_the_same_data_gives_the_same_bytes() -> None:
    assert dump({"b": 1, "a": {"d": 2, "c": 3}}) == "b: 1\na:\n  d: 2\n  c: 3\n"
    shared = {"x": [1]}
    assert dump([shared, shared]) == "- x:\n  - 1\n- x:\n  - 1\n"  # no anchors


@pytest.mark.parametrize("value", [math.nan, math.inf, b"x", {1, 2}, (1, 2), object()])
def test_what_is_not_plain_data_is_refused(value: Any) -> None:
    with pytest.raises(TypeError, match="not plain data"):
        dump({"a": [value]})


@pytest.mark.parametrize(
    "alike", [([1], [True], [1.0]), ([0.0], [-0.0]), ({"x": 1, "y": 2}, {"y": 2, "x": 1})]
)
def test_what_python_takes_for_equal_is_written_as_it_is(alike: tuple[Any, ...]) -> None:
    for write in (dump, lambda value: dump_json(value, 2)):
        assert len({write({"a": each}) for each in alike}) == len(alike)


@given(plain, st.integers(0, 3))
def test_json_is_that_of_python(value: Any, indent: int) -> None:
    assert dump_json(value, indent) == json.dumps(value, indent=indent) + "\n"
