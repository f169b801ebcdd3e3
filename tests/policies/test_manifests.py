"""Manifests that are text in an object: read as those who apply them do, or refused."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policies.embedded import MAX_CHARACTERS, read
from policies.rule import Object
from schemas.kubernetes.manifests import MAX_DEPTH, scalar
from tests.kit.policy_objects import found, good, paths

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: a, namespace: b}
spec:
  containers: [{name: c, image: d}]
"""
RULE = "manifests-readable"


def carrier(text: str) -> Object:
    return good("ConfigMap", ("data", "pod.yaml"), text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        # go-yaml 2.4.2, resolve.go: what it looks up.
        *((word, True) for word in ("y", "Y", "yes", "Yes", "YES", "true", "True", "on", "ON")),
        *((word, False) for word in ("n", "N", "no", "No", "NO", "false", "FALSE", "off", "Off")),
        *((word, None) for word in ("", "~", "null", "Null", "NULL")),
        # Days, times and what else YAML 1.1 has a meaning for.
        *((word, word) for word in ("2026-11-22", "2024-02-30", "12:30:45", "=", "<<", "yEs")),
        ("0", 0),
        ("-12", -12),
        ("+12", 12),
        ("1_000", 1000),
        ("0x1F", 31),
        ("0b11", 3),
        ("0b+0", 0),
        ("-0b1", -1),
        ("017", 15),
        ("0o17", 15),
        ("0644", 420),
        ("-0b11", -3),
        ("08", 8.0),
        ("1.5", 1.5),
        (".5", 0.5),
        ("1e3", 1000.0),
        ("18446744073709551615", 2**64 - 1),
        ("18446744073709551616", 18446744073709551616.0),
        ("0x1FFFFFFFFFFFFFFFF", "0x1FFFFFFFFFFFFFFFF"),
        ("1e999", "1e999"),
        ("1" * 5000, "1" * 5000),
        ("1.2.3", "1.2.3"),
        (".", "."),
        ("+", "+"),
        ("v1", "v1"),
        ("-", "-"),
        ("\u0661", "\u0661"),  # a digit, but none of these
    ],
)
def test_a_scalar_is_what_go_makes_of_it(text: str, value: Any) -> None:
    found = scalar(text)
    assert (type(found), found) == (type(value), value)


def test_quotes_and_tags_say_what_a_scalar_is() -> None:
    (one,) = read(f'{POD}x: ["y", !!str 5, !!int "5", !!bool y, !!float 5, !!null ""]').objects
    assert one["x"] == ["y", "5", 5, True, 5.0, None]
    assert type(one["x"][4]) is float


def test_keys_are_text_as_in_json() -> None:
    (one,) = read(f"{POD}x: {{1: a, on: b, 2026-11-22: c, 1.5: d, <<x: e}}\n").objects
    assert one["x"] == {"1": "a", "true": "b", "2026-11-22": "c", "1.5": "d", "<<x": "e"}


@pytest.mark.parametrize(
    ("line", "rule", "path"),
    [
        ("hostPID: y", "host-pid", "hostPID"),
        ("hostNetwork: ON", "host-network", "hostNetwork"),
        ('hostNetwork: !!bool "true"', "host-network", "hostNetwork"),
        ("securityContext: {runAsUser: 0x0}", "run-as-user", "securityContext.runAsUser"),
    ],
)
def test_rules_see_what_would_be_applied(line: str, rule: str, path: str) -> None:
    place = f'data["pod.yaml"]:Pod b/a.spec.{path}'
    assert paths(rule, carrier(f"{POD}  {line}\n")) == [place]


@pytest.mark.parametrize("line", ["command: [cp, =, x]", "x: 2024-02-30", "x: <<", "x: 1:99"])
def test_no_scalar_hides_the_rest_of_a_text(line: str) -> None:
    each = carrier(f"{POD}  hostPID: true\n  {line}\n")
    assert len(found("host-pid", each)) == 1
    assert not found(RULE, each)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"{POD}  x: [", "line 7"),
        (f"{POD}---\n{POD}\tx: 1\n", "line "),
        (f"{POD}x: &a [1]\ny: *a\n", "alias (*a)"),
        (f"{POD}<<: {{x: 1}}\n", "merged"),
        (f"{POD}x: !!binary aGk=\n", "tag"),
        (f"{POD}x: !mine 1\n", "tag"),
        (f"{POD}x: !!map ab\n", "tag"),
        (f"{POD}x: !!int [1]\n", "tag"),
        (f"{POD}x: !!bool maybe\n", "'maybe' is no bool"),
        (f"{POD}~: 1\n", "key"),
        (f"{POD}? [a]\n: 1\n", "key"),
        (f"{POD}x: {'[' * (MAX_DEPTH + 1)}{']' * (MAX_DEPTH + 1)}\n", "levels"),
        (f"{POD}x: {'a' * MAX_CHARACTERS}\n", "characters"),
        (f"{POD}x: \x00\n", "unacceptable"),
        (f"{POD}x: \ud800\n", "surrogates"),
        ('{"apiVersion": "v1",\n"kind": "Pod"}\n{"apiVersion": "v1", "kind": "Pod"}', "line 3"),
        ("# of a host\napiVersion: v1\nkind: Pod\nspec: {{ spec }}\n", "line 4"),
    ],
)
def test_a_text_that_cannot_be_read_is_refused(text: str, words: str) -> None:
    (one,) = found(RULE, carrier(text))
    assert one.path == 'data["pod.yaml"]'
    assert words in one.message and "cannot be judged" in one.message
    assert read(text).objects == ()


@pytest.mark.parametrize(
    "text",
    [
        "kind: a script that says apiVersion\n  - [",
        "echo 'apiVersion: v1, kind: Pod' | kubectl apply -f - *x",
        "#!/bin/sh\n: ${kind:?} ${apiVersion:?}\n",
        POD,
        f"{POD}---\n{POD}",
        "level: info\n",
    ],
)
def test_other_texts_are_let_pass(text: str) -> None:
    assert found(RULE, carrier(text)) == []


@settings(max_examples=200)
@given(st.text(alphabet="!:{}[],-?&*<~= \n\t'\"|>%@#y1.e_kindapV", max_size=60))
def test_no_text_stops_the_reader(text: str) -> None:
    whole = read(f"{POD}{text}")
    assert whole.objects or whole.fault, "what starts as a manifest is one, or cannot be read"
