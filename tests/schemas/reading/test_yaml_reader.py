"""The YAML reader: what it refuses and where, and that what it accepts is what was written."""

import json
import math
import re
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schemas.model.codes import Code
from schemas.reading.yaml_reader import MAX_DEPTH, MAX_VALUES, Document, read_yaml
from schemas.reading.yaml_text import MAX_BYTES, MAX_PROBLEMS

_modest = settings(max_examples=100, database=None, suppress_health_check=[HealthCheck.too_slow])


def read(text: str | bytes) -> Document:
    """The document of ``text``, which must have no problems."""
    document, problems = read_yaml(text.encode() if isinstance(text, str) else text, "f.yaml")
    assert problems == []
    assert document is not None
    return document


def refused(text: str | bytes) -> list[tuple[Code, int, int]]:
    """Code, line and column of each problem of ``text``, which must have some."""
    document, problems = read_yaml(text.encode() if isinstance(text, str) else text, "f.yaml")
    assert document is None
    assert problems
    for problem in problems:
        assert problem.file == "f.yaml"
        assert problem.message
        assert problem.fix
    return [(problem.code, problem.line, problem.column) for problem in problems]


ONE_FAULT = {
    "no bytes": ("", Code.FILE_EMPTY, 0, 0),
    "only a comment": ("# later\n", Code.FILE_EMPTY, 0, 0),
    "null": ("---\nnull\n", Code.FILE_EMPTY, 2, 1),
    "too many bytes": ("a" * (MAX_BYTES + 1), Code("file-too-large"), 0, 0),
    "too many values": ("[" + "1,\n" * (MAX_VALUES + 1) + "]", Code("file-too-large"), 10000, 1),
    "not UTF-8": (b"a: b\nc: \xff\n", Code("file-encoding"), 2, 4),
    "byte order mark": (b"\xef\xbb\xbfa: 1\n", Code("file-encoding"), 1, 1),
    "UTF-16": ("a: 1\n".encode("utf-16"), Code("file-encoding"), 1, 1),
    "UTF-16 without a mark": ("a: 1\n".encode("utf-16-be"), Code("file-encoding"), 1, 1),
    "UTF-32": ("a: 1\n".encode("utf-32"), Code("file-encoding"), 1, 1),
    "control character": ("a: 1\nb: x\x1by\n", Code.FILE_CHARACTER, 2, 5),
    "bidirectional control": ("a: é\u202ex\n", Code.FILE_CHARACTER, 1, 5),
    "zero width space": ("a: x\u200b\n", Code.FILE_CHARACTER, 1, 5),
    "byte order mark inside": ("a: \ufeff\n", Code.FILE_CHARACTER, 1, 4),
    "line separator": ("a: 1\u2028b: 2\n", Code.FILE_CHARACTER, 1, 5),
    "next line": ("a: 1\x85b: 2\n", Code.FILE_CHARACTER, 1, 5),
    "private use": ("a: \ue000\n", Code.FILE_CHARACTER, 1, 4),
    "no character": ("a: \uffff\n", Code.FILE_CHARACTER, 1, 4),
    "lone carriage return": ("a: 1\rb: 2\n", Code.FILE_CHARACTER, 1, 5),
    "escaped control": ('a: "x\\e[2J"\n', Code.FILE_CHARACTER, 1, 4),
    "escaped bidirectional control": ('a: ["\\u202e"]\n', Code.FILE_CHARACTER, 1, 5),
    "too deep in flow": ("[" * (MAX_DEPTH + 1), Code("yaml-too-deep"), 1, 33),
    "too deep in blocks": ("- " * (MAX_DEPTH + 1) + "x", Code("yaml-too-deep"), 1, 65),
    "tag": ("a: !!str 1\n", Code("yaml-tag"), 1, 4),
    "local tag": ("- !env {a: b}\n", Code("yaml-tag"), 1, 3),
    "unfinished tag": ("a: !<x\n", Code("yaml-tag"), 1, 4),
    "anchor": ("a: &b\n  c: 1\n", Code("yaml-anchor"), 1, 4),
    "anchor that is no name": ("a: & b\n", Code("yaml-anchor"), 1, 5),
    "alias": ("a: *b\n", Code("yaml-anchor"), 1, 4),
    "alias as key": ("*b : 1\n", Code("yaml-anchor"), 1, 1),
    "merge key": ("a: 1\n<<: {b: 2}\n", Code("yaml-merge-key"), 2, 1),
    "version directive": ("%YAML 1.1\n---\na: yes\n", Code("yaml-directive"), 1, 1),
    "tag directive": ("# x\n%TAG ! tag:x,2000:\n---\na: 1\n", Code("yaml-directive"), 2, 1),
    "unknown directive": ("%FOO\n---\na: 1\n", Code("yaml-directive"), 1, 1),
    "second document": ("a: 1\n---\nb: 2\n", Code("yaml-documents"), 2, 1),
    "duplicate key": ("a: 1\nb: 2\na: 3\n", Code("yaml-duplicate-key"), 3, 1),
    "duplicate key in quotes": ("a: 1\n'a': 3\n", Code("yaml-duplicate-key"), 2, 1),
    "number as key": ("a: 1\n1: x\n", Code("yaml-key-type"), 2, 1),
    "boolean as key": ("{true: x}\n", Code("yaml-key-type"), 1, 2),
    "null as key": ("~: x\n", Code("yaml-key-type"), 1, 1),
    "list as key": ("a: 1\n? [a]\n: b\n", Code("yaml-key-type"), 2, 3),
    "infinity": ("a: -.inf\n", Code("yaml-number"), 1, 4),
    "no number": ("a: .NaN\n", Code("yaml-number"), 1, 4),
    "infinite by size": ("a: 1e999\n", Code("yaml-number"), 1, 4),
    "65 bits": (f"a: {2**63}\n", Code("yaml-number"), 1, 4),
    "thousands of digits": (f"a: {'9' * 5000}\n", Code("yaml-number"), 1, 4),
    "65 bits in hex": ("a: 0x8000000000000000\n", Code("yaml-number"), 1, 4),
}


@pytest.mark.parametrize(("text", "code", "line", "column"), ONE_FAULT.values(), ids=ONE_FAULT)
def test_a_fault_is_found_at_its_place(
    text: str | bytes, code: Code, line: int, column: int
) -> None:
    assert refused(text) == [(code, line, column)]


SYNTAX = {
    "tab as indentation": ("a:\n\tb: 1\n", 2, 1),
    "quotes never closed": ("a: 1\nb: 'x\nc: 2\n", 2, 4),
    "list never closed": ("a: [1, 2\n", 1, 4),
    "colon in a value": ("a: b: c\n", 1, 5),
    "no field": ("a: 1\nb\nc: 2\n", 2, 1),
    "indented unlike its neighbours": ("a: 1\n b: 2\n", 2, 3),
    "item out of line": ("a:\n  - 1\n - 2\n", 3, 2),
    "reserved character": ("a: 1\nb: @x\n", 2, 4),
    "unknown escape": ('a: "\\d"\n', 1, 5),
    "half of a surrogate pair": ('a: "\\ud83d"\n', 1, 7),
    "text after the end": ("a: 1\n...\nb: 2\n", 3, 1),
    "comment glued to quotes": ('a: "x"# y\n', 1, 7),
    "comment glued to a list": ("a: [x]#y\n", 1, 7),
    "question mark glued in flow": ("a: {?x: 1}\n", 1, 5),
    "dash alone in flow": ("a: [-]\n", 1, 5),
    "flow goes on unindented": ("a: [1,\n2]\n", 2, 1),
    "bracket unindented": ("a: [\n  1\n]\n", 3, 1),
    "flow indented by a tab": ("a: {\n\tb: 1 }\n", 2, 1),
    "quotes go on unindented": ("a:\n  b: 'x\n  y'\n", 3, 3),
    "comment glued to a block": ("a: |# x\n  y\n", 1, 4),
    "block less indented than its blank lines": ("a: |\n    \n  x\n", 3, 3),
    "block without its parent's indentation": ("-\n|\n\n- x\n", 2, 1),
    "comment or text in a block at the top": ("|\n# x\n", 2, 1),
    "block at the top with its own indentation": ("|2\n  x\n", 2, 3),
    "block ends the file without a line feed": ("a: |\n  x", 1, 4),
    "block key ends the file without a line feed": ("? |\n  x", 1, 3),
}


@pytest.mark.parametrize(("text", "line", "column"), SYNTAX.values(), ids=SYNTAX)
def test_a_syntax_error_is_found_at_its_place(text: str, line: int, column: int) -> None:
    assert refused(text) == [(Code.YAML_SYNTAX, line, column)]


def test_all_problems_come_at_once_and_in_order() -> None:
    text = "a: &x 1\nb: *x\na: !t 2\nb:\n  - {1: .inf, k: 1, k: 2}\n"
    assert refused(text) == [
        (Code("yaml-anchor"), 1, 4),
        (Code("yaml-anchor"), 2, 4),
        (Code("yaml-duplicate-key"), 3, 1),
        (Code("yaml-tag"), 3, 4),
        (Code("yaml-duplicate-key"), 4, 1),
        (Code("yaml-key-type"), 5, 6),
        (Code("yaml-number"), 5, 9),
        (Code("yaml-duplicate-key"), 5, 21),
    ]


def test_a_syntax_error_does_not_hide_what_was_found_before_it() -> None:
    assert refused("a: 1\na: 2\nb: [\n") == [
        (Code("yaml-duplicate-key"), 2, 1),
        (Code.YAML_SYNTAX, 3, 4),
    ]


def test_a_duplicate_names_both_places_and_the_path() -> None:
    _, (problem,) = read_yaml(b"pools:\n  - name: x\n    size: 1\n    name: y\n", "f.yaml")
    assert (problem.line, problem.column, problem.path) == (4, 5, "pools.0")
    assert problem.value == "name"
    assert "line 2, column 5" in problem.message


def test_a_syntax_error_does_not_show_its_line() -> None:
    _, (problem,) = read_yaml(b"a: 1\npassword: x: hunter2\n", "f.yaml")
    assert problem.line == 2
    assert "hunter2" not in str(problem)


def test_a_person_is_not_shown_thousands_of_problems() -> None:
    for text in ("k: v\n" * 10_000, "- *a\n" * 10_000, "- \x01\n" * 10_000, '- "x"#\n' * 3_000):
        assert len(refused(text)) == MAX_PROBLEMS


def test_the_limits_themselves_are_allowed() -> None:
    assert read("a: " + "x" * (MAX_BYTES - 3)).value
    assert read("[" * MAX_DEPTH + "]" * MAX_DEPTH).value
    assert read("- 1\n" * (MAX_VALUES - 1)).value == [1] * (MAX_VALUES - 1)


_WORDS_OF_OTHER_SCHEMAS = [
    *("yes", "no", "on", "off", "y", "1_000", "12:30:45", "2001-12-14", "0b1", "+0x1", "1.2.3"),
    *("e5", ".", "+.", "nan", "nULL", "tRUE", "0o8"),
]
PLAIN: dict[str, Any] = {
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **dict.fromkeys(("null", "Null", "NULL", "~", ""), None),
    "0": 0,
    "-12": -12,
    "+7": 7,
    "0o17": 15,
    "0xfF": 255,
    str(-(2**63)): -(2**63),
    "1.5": 1.5,
    "-.5": -0.5,
    "1.": 1.0,
    "12e10": 12e10,
    "1E-2": 0.01,
    "1.10": 1.1,
    **{text: text for text in _WORDS_OF_OTHER_SCHEMAS},
}


@pytest.mark.parametrize("text", PLAIN)
def test_an_unquoted_scalar_means_what_the_core_schema_says(text: str) -> None:
    expected = PLAIN[text]
    assert read(f"a: {text}\n").value == {"a": expected}
    assert repr(read(f"a: {text}\n").value) == repr({"a": expected})
    assert read(f"a: '{text}'\n").value == {"a": text}


def test_quotes_make_a_merge_key_and_a_number_text() -> None:
    assert read('"<<": 1\n"1": 2\n').value == {"<<": 1, "1": 2}


def test_tabs_line_feeds_and_windows_line_ends_are_text() -> None:
    assert read('a:\t"x\\ty\\nz"\r\nb: |\r\n  1\r\n  2\r\n').value == {
        "a": "x\ty\nz",
        "b": "1\n2\n",
    }


def test_flow_collections_of_many_lines_are_read() -> None:
    text = "a: [\n  x,\n# comment\n\n  {b: 'c\n    d'} # more\n  ]\n"
    assert read(text).value == {"a": ["x", {"b": "c d"}]}


def test_positions_of_values_keys_and_missing_paths() -> None:
    document = read("site: x\npools:\n  - {name: a}\n  - name: b\n    note:\nlast: |\n  t\n")
    assert document.file == "f.yaml"
    assert document.position(()) == (1, 1)
    assert document.position((), key=True) == (1, 1)
    assert document.position(("site",)) == (1, 7)
    assert document.position(("site",), key=True) == (1, 1)
    assert document.position(("pools",)) == (3, 3)
    assert document.position(("pools",), key=True) == (2, 1)
    assert document.position(("pools", 0)) == (3, 5)
    assert document.position(("pools", 0), key=True) == (3, 5)
    assert document.position(("pools", 0, "name")) == (3, 12)
    assert document.position(("pools", 1, "name"), key=True) == (4, 5)
    assert document.position(("pools", 1, "note")) == (5, 10)
    assert document.position(("last",)) == (6, 7)
    assert document.position(("pools", 1, "absent", "deeper")) == (4, 5)
    assert document.position(("pools", 9)) == (3, 3)
    assert document.position(("pools", 9), key=True) == (2, 1)
    assert document.position(("site", "absent")) == (1, 7)


def test_a_missing_value_at_the_end_stands_inside_the_file() -> None:
    assert read("? a").position(("a",)) == (1, 4)


_FRAGMENTS = st.sampled_from(
    [
        *"abc019 \t\n#:-?[]{},&*!|>'\"%@`~<=\\\r",
        *("- ", ": ", "\n  ", "---\n", "...\n", "<<: ", "a: ", "%YAML 1.1\n", "!!str ", "&a "),
        *("*a ", '"\\u202e"', "\u202e", ".inf", "é", "😀", "\0"),
    ]
)


@_modest
@given(
    st.one_of(
        st.binary(max_size=60),
        st.text(max_size=60).map(str.encode),
        st.lists(_FRAGMENTS, max_size=40).map("".join).map(str.encode),
        st.lists(_FRAGMENTS, max_size=40).map("".join).map(lambda text: text.encode("utf-16")),
    )
)
def test_any_bytes_give_a_document_or_problems_inside_the_file(data: bytes) -> None:
    document, problems = read_yaml(data, "f.yaml")
    assert (document is None) == bool(problems)
    assert problems == sorted(problems)
    lines = data.decode("utf-8", "replace").split("\n")
    for problem in problems:
        if (problem.line, problem.column) == (0, 0):
            assert problem.code is Code.FILE_EMPTY
        else:
            assert 1 <= problem.line <= len(lines)
            assert 1 <= problem.column <= len(lines[problem.line - 1]) + 1


@pytest.mark.parametrize(
    "pattern",
    [
        *("[", "{", "[{", "- ", "? ", "a: ", "a:\n ", '"', "'", "&a ", "*a ", "!t ", "%", "\n"),
        *(
            "- |\n",
            "- >\n  \n",
            "[],",
            "{a,",
            "- -\n",
            "- [?a]\n",
            "\U000e0001",
            "9",
            "#",
            '- "\\0"\n',
            "\r",
        ),
    ],
)
def test_a_file_full_of_one_pattern_is_read_or_refused(pattern: str) -> None:
    data = (pattern * MAX_BYTES).encode()[: MAX_BYTES - 8].decode("utf-8", "ignore").encode()
    document, problems = read_yaml(data, "f.yaml")
    assert (document is None) == bool(problems)


_VISIBLE = st.characters(
    exclude_categories=("Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"), include_characters="\n\t"
)
# PyYAML writes what is a number only in YAML 1.2, such as 08 or 1e5, without quotes.
_TEXT = st.text(_VISIBLE, max_size=20).filter(lambda text: not re.fullmatch(r"[-+.\w]+", text)) | (
    st.sampled_from(["", "yes", "null", "~", "1", "1.5", "<<", "- x", "a: b", "#", "x #y", "1:2"])
)
_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | _TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_TEXT, inner, max_size=4),
    max_leaves=12,
).filter(lambda value: value is not None)
_DUMPERS = {
    "block": lambda value: yaml.safe_dump(value, sort_keys=False),
    "flow": lambda value: yaml.safe_dump(value, default_flow_style=True, sort_keys=False),
    "unicode": lambda value: yaml.safe_dump(value, allow_unicode=True, sort_keys=False, width=20),
    "json": lambda value: json.dumps(value, ensure_ascii=False),
    "json of many lines": lambda value: json.dumps(value, ensure_ascii=False, indent=1),
    "windows": lambda value: json.dumps(value, ensure_ascii=False, indent=2).replace("\n", "\r\n"),
}


@_modest
@given(_JSON, st.sampled_from(sorted(_DUMPERS)))
def test_what_is_dumped_is_read_back(value: Any, dumper: str) -> None:
    text = _DUMPERS[dumper](value)
    back = read(text).value
    assert json.dumps(back) == json.dumps(value), text


_WORDS = st.integers(0, 999).map("w{}".format)
_PLACES = st.recursive(
    _WORDS | st.integers(0, 10**6),
    lambda inner: (
        st.lists(inner, min_size=1, max_size=4)
        | st.dictionaries(_WORDS, inner, min_size=1, max_size=4)
    ),
    max_leaves=15,
)


def _check_places(document: Document, text: str, value: Any, path: tuple[str | int, ...]) -> None:
    """Each scalar and each key of ``value`` starts where its position says."""
    offsets = [0, *(match.end() for match in re.finditer("\n", text))]

    def at(*, key: bool = False) -> str:
        line, column = document.position(path, key=key)
        return text[offsets[line - 1] + column - 1 :]

    if isinstance(value, dict | list):
        for step, inner in value.items() if isinstance(value, dict) else enumerate(value):
            _check_places(document, text, inner, (*path, step))
        assert document.position((*path, "absent")) == document.position(path)
    else:
        assert re.match(rf"['\"]?{value}\b", at())
    if path and isinstance(path[-1], str):
        assert re.match(rf"['\"]?{path[-1]}['\"]?:", at(key=True))


@_modest
@given(_PLACES, st.sampled_from(sorted(_DUMPERS)), st.sampled_from(["", "# é\n\n", "---\n"]))
def test_a_position_is_where_the_text_of_the_value_starts(
    value: Any, dumper: str, before: str
) -> None:
    text = before + _DUMPERS[dumper](value)
    _check_places(read(text), text, value, ())


def test_a_number_is_finite_and_a_document_is_frozen() -> None:
    document = read("a: 1.7976931348623157e308\n")
    assert isinstance(document.value, dict)
    assert math.isfinite(document.value["a"])  # type: ignore[arg-type]
    with pytest.raises(AttributeError):
        document.file = "g.yaml"  # type: ignore[misc]
