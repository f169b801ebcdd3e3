"""Manifests that are text, read into plain data as those who apply them read it.

A kubelet, kubectl and Cluster API take sigs.k8s.io/yaml: scalars mean what go-yaml 2.4 makes of
them (resolve.go), and keys are text, as in JSON (yaml.go). Another reading would judge something
else than what is applied. What cannot be read is told, as nobody can say what is in it.
"""

import functools
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import yaml

from policies.rule import Json

MAX_CHARACTERS = 2_000_000
"""An object of Kubernetes has at most 1.5 MiB (etcd, --max-request-bytes)."""
MAX_DEPTH = 100
"""Levels of nesting that are read; the deepest CRD has half as many."""
_ALIAS = re.compile(r"(?:^|[\s\[{,:?-])\*[^\s*]", re.MULTILINE)
"""What may be an alias: a star before a name, where a value starts."""
_FURTHEST = 40
_INDENTED = re.compile(rf"^[-?: \t]{{{_FURTHEST}}}", re.MULTILINE)
_FIELD = r"^[ \t{{,-]*[\"']?{}[\"']?[ \t]*:"
_FIELDS = tuple(re.compile(_FIELD.format(name), re.MULTILINE) for name in ("apiVersion", "kind"))
"""The fields that every object has, each at the start of a line."""

_TAG = "tag:yaml.org,2002:"
_TRUE, _FALSE, _NULL = (
    frozenset(form for word in words for form in (word, word.capitalize(), word.upper()))
    for words in (("y", "yes", "true", "on"), ("n", "no", "false", "off"), ("", "~", "null"))
)
_WHOLE = re.compile(
    r"(?P<sign>[-+]?)(?:0[xX](?P<hex>[0-9a-fA-F]+)|0[bB](?P<binary>[-+]?[01]+)"
    r"|0[oO]?(?P<octal>[0-7]+)|(?P<decimal>0|[1-9][0-9]*))"
)
_BASES = {"hex": 16, "binary": 2, "octal": 8, "decimal": 10}
_FRACTION = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_HUGE = 400
"""Characters of a number; none that is longer fits into a double."""


class Read(NamedTuple):
    """The objects of a text, or why a text that has some cannot be read; neither of a text that is
    something else, such as a script."""

    objects: tuple[Json, ...] = ()
    fault: str = ""


class _Loader(yaml.CSafeLoader):
    """YAML in which a scalar without quotes is what Go makes of it, and nothing has a tag of
    another kind."""


def _text(_: _Loader, node: yaml.ScalarNode) -> str:
    return str(node.value)


def _plain(_: _Loader, node: yaml.ScalarNode) -> Any:
    return scalar(node.value)


def _tagged(_: _Loader, node: yaml.ScalarNode) -> Any:
    value = scalar(node.value)
    kind = node.tag.removeprefix(_TAG)
    if kind == "float" and type(value) is int:
        return float(value)
    if {bool: "bool", int: "int", float: "float", type(None): "null"}.get(type(value)) != kind:
        raise _refused(node, f"{node.value!r} is no {kind}")
    return value


def _foreign(_: _Loader, node: yaml.Node) -> Any:
    raise _refused(node, f"the tag {node.tag} is not one that every tool reads alike here")


def _list(loader: _Loader, node: yaml.SequenceNode) -> list[Any]:
    return [loader.construct_object(each, deep=True) for each in node.value]


def _map(loader: _Loader, node: yaml.MappingNode) -> Json:
    found: Json = {}
    for key_node, value_node in node.value:
        key = loader.construct_object(key_node, deep=True)
        if isinstance(key_node, yaml.ScalarNode) and key == "<<" and key_node.tag == _PLAIN:
            raise _refused(key_node, "a map is merged into another one (<<)")
        if key is None or isinstance(key, list | dict):
            raise _refused(key_node, "a key is no text")
        found[_key(key)] = loader.construct_object(value_node, deep=True)
    return found


def _refused(node: yaml.Node, message: str) -> yaml.constructor.ConstructorError:
    return yaml.constructor.ConstructorError(None, None, message, node.start_mark)


def _key(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _of(form: type[yaml.Node], made: Callable[[_Loader, Any], Any]) -> Any:
    """What makes a value of a node; a tag may stand before a node of another form."""

    def checked(loader: _Loader, node: yaml.Node) -> Any:
        return made(loader, node) if isinstance(node, form) else _foreign(loader, node)

    return checked


_PLAIN = f"{_TAG}plain"
_Loader.yaml_implicit_resolvers = {None: [(_PLAIN, re.compile(""))]}
_Loader.yaml_constructors = {
    _PLAIN: _plain,
    f"{_TAG}str": _of(yaml.ScalarNode, _text),
    **{f"{_TAG}{name}": _of(yaml.ScalarNode, _tagged) for name in ("bool", "int", "float", "null")},
    f"{_TAG}seq": _of(yaml.SequenceNode, _list),
    f"{_TAG}map": _of(yaml.MappingNode, _map),
    None: _foreign,
}


def scalar(text: str) -> Any:
    """What a scalar without quotes is: a truth, nothing, a number, or text as all else. Days stay
    text (go-yaml 2.4, decode.go)."""
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    if text in _NULL:
        return None
    if not text[0].isascii() or text[0] not in "+-.0123456789":
        return text
    number = text if text[0] == "." else text.replace("_", "")
    found = _number(number) if len(number) <= _HUGE else None
    return text if found is None else found


def _number(text: str) -> int | float | None:
    whole = _WHOLE.fullmatch(text)
    if whole:
        base = whole.lastgroup or "decimal"
        value = int(whole["sign"] + whole[base], _BASES[base]) if _signed(whole) else None
        if value is not None and -(2**63) <= value < 2**64:
            return value
    if _FRACTION.fullmatch(text):
        number = float(text)
        return number if abs(number) != float("inf") else None
    return None


def _signed(whole: re.Match[str]) -> bool:
    return not (whole["sign"] and whole[whole.lastgroup or "decimal"][0] in "+-")


@functools.lru_cache(maxsize=256)
def read(text: str) -> Read:
    """The Kubernetes objects of a YAML or JSON text, lists of them taken apart."""
    try:
        _bounded(text)
        documents = yaml.load_all(text, Loader=_Loader)
        return Read(tuple(each for document in documents for each in _listed(document)))
    except (yaml.YAMLError, UnicodeError) as error:
        # A script that writes a manifest has these fields as well, within its lines.
        named = all(field.search(text) for field in _FIELDS)
        return Read(fault=_said(error) if named else "")


def _said(error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    what = " ".join(str(getattr(error, "problem", None) or error).split())
    return f"{what} (line {mark.line + 1})" if mark else what


def _bounded(text: str) -> None:
    """Raises YAMLError for a text that is too long or too deep, or has aliases, which grow without
    end."""
    if len(text) > MAX_CHARACTERS:
        raise yaml.YAMLError(f"it has more than {MAX_CHARACTERS} characters")
    if _ALIAS.search(text) is None and _shallow(text):
        return  # to parse it twice costs as much again
    depth = 0
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            raise yaml.YAMLError(f"it is nested in more than {MAX_DEPTH} levels")
        if isinstance(event, yaml.AliasEvent):
            raise yaml.YAMLError(f"a value is repeated by an alias (*{event.anchor})")


def _shallow(text: str) -> bool:
    """Whether a text cannot be too deep: a level takes a bracket, or one more column of spaces and
    marks at the start of a line; a list may stand where its key does."""
    flow = text.count("[") + text.count("{")
    return flow + 2 * _FURTHEST < MAX_DEPTH and _INDENTED.search(text) is None


def _listed(document: Any) -> Iterator[Json]:
    if not isinstance(document, dict):
        return
    if document.get("kind") == "List" and isinstance(document.get("items"), list):
        for item in document["items"]:
            yield from _listed(item)
    elif document.get("apiVersion") and isinstance(document.get("kind"), str):
        yield document
