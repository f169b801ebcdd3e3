"""The characters that a file may hold. Owns the checks on bytes and characters, the words for
syntax errors, and the rules of YAML 1.2 that libyaml does not hold. Values, their places, and what
a scalar means belong to yaml_reader.py."""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import TypeAlias

import yaml

from schemas.kubernetes.tables import read_table
from schemas.model.codes import Code
from schemas.model.problem import Problem, problem_at
from schemas.model.texts import Words, words

MAX_BYTES = 64 * 1024
MAX_PROBLEMS = 50
"""More than a person reads at once; it also bounds the time that a hostile file can take."""
SPLIT_FILE = "split the file, or move hosts to the host list"
_HIDDEN = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})
_LONE_RETURN = re.compile(r"\r(?!\n)")
_BYTE_ORDER_MARKS = (
    # UTF-32 comes first: its little-endian mark starts with that of UTF-16.
    (b"\xff\xfe\0\0", "UTF-32"),
    (b"\0\0\xfe\xff", "UTF-32"),
    (b"\xff\xfe", "UTF-16"),
    (b"\xfe\xff", "UTF-16"),
    (b"\xef\xbb\xbf", "UTF-8 with a byte order mark"),
)
_COMMENT_OR_KEY_MARK = re.compile(r"#[^\n]*|\?")
_BLOCK_HEADER = re.compile(r"[|>]([1-9]?[-+]?[1-9]?)(?:[ \t]+#[^\n]*|[ \t\r]*)(?:\n|\Z)")
_BLOCK_BODY = re.compile(r"(?P<blanks>(?: *\r?\n)*)(?P<indent> *)(?=[^ \r\n])")
_LINE = re.compile(r"\n( *)([^\n]*)")
_QUOTE = "put the value in quotes"
_TABLE = read_table(__file__)
_Fault: TypeAlias = tuple[int, str, str]
Span: TypeAlias = tuple[int, int, str, int]
"""A scalar or an outermost flow collection: its start and end in the text, its style (empty for
plain, ``"``, ``'``, ``|``, ``>``, and ``[`` for a collection), and the column of the block that
holds it (-1: none)."""


def locate(text: str, index: int) -> tuple[int, int]:
    """Line and column, from 1, of the character at ``index``."""
    return text.count("\n", 0, index) + 1, index - text.rfind("\n", 0, index)


class Findings:
    """The problems found in one text so far."""

    def __init__(self, file: str, text: str) -> None:
        self.file = file
        self.text = text
        self._problems: list[Problem] = []

    def __len__(self) -> int:
        return len(self._problems)

    def add(self, said: Words, index: int | None, *, value: str = "", path: str = "") -> None:
        """Note a problem at ``index`` of the text; without one it is about the file as a whole."""
        if len(self._problems) < MAX_PROBLEMS:
            at = (0, 0) if index is None else locate(self.text, index)
            self._problems.append(problem_at(self.file, at, said, path, value))

    def add_all(self, code: Code, faults: Iterable[_Fault]) -> None:
        """Note each fault, with what is wrong and what to write instead."""
        for index, message, fix in islice(faults, MAX_PROBLEMS):
            self.add(Words(code, message, fix), index)

    def in_order(self) -> list[Problem]:
        """The problems in the order of the file, each once."""
        return sorted(set(self._problems))


def hidden_characters(text: str) -> set[str]:
    """The characters of ``text`` that a person cannot see: controls, formats, unassigned ones."""
    if text.replace("\n", "").isprintable():
        return set()
    return {c for c in set(text) if unicodedata.category(c) in _HIDDEN} - {"\n", "\t"}


def name_of(character: str) -> str:
    """A character as a person can look it up: ``U+202E (RIGHT-TO-LEFT OVERRIDE)``."""
    name = unicodedata.name(character, "")
    return f"U+{ord(character):04X}" + (f" ({name})" if name else "")


def decode(data: bytes, file: str) -> tuple[str, list[Problem]]:
    """The text of a file, or the problems that make it unfit to be read at all."""
    findings = Findings(file, "")
    text = ""
    encoding = next((name for mark, name in _BYTE_ORDER_MARKS if data.startswith(mark)), None)
    if len(data) > MAX_BYTES:
        findings.add(words("yaml-too-large", len(data), MAX_BYTES, SPLIT_FILE), None)
    elif encoding:
        findings.add(words("yaml-byte-order-mark", encoding), 0)
    elif b"\0" in data[:4]:
        findings.add(words("yaml-zero-bytes"), 0)
    else:
        try:
            text = findings.text = data.decode("utf-8")
        except UnicodeDecodeError as error:
            findings.text = data[: error.start].decode("utf-8")
            findings.add(words("yaml-not-utf8", data[error.start]), len(findings.text))
    findings.add_all(Code.FILE_CHARACTER, _character_faults(text))
    return text, findings.in_order()


def _character_faults(text: str) -> Iterator[_Fault]:
    hidden = hidden_characters(text) - {"\r"}
    for index, character in enumerate(text if hidden else ""):
        if character in hidden:
            yield index, f"the invisible character {name_of(character)}", "delete the character"
    for match in _LONE_RETURN.finditer(text):
        yield match.start(), "a carriage return ends no line", "end each line with a line feed"


def add_syntax_error(findings: Findings, error: yaml.YAMLError, bracket: int) -> None:
    """Note libyaml's error in the words of a person who writes a site file. ``bracket``: where the
    flow collection starts that is open at the error, -1 without one."""
    text = findings.text
    context = getattr(error, "context", None) or ""
    problem = getattr(error, "problem", None) or "the text is not YAML"
    place = getattr(error, "problem_mark", None)
    opened = getattr(error, "context_mark", None)
    index: int = place.index if place else 0
    at_end = not text[index:].strip()
    if opened and (at_end or context.endswith(("a simple key", "a directive"))):
        index = opened.index  # where the fault was begun, not where the parser gave up
    message, fix = next(
        (words for part, *words in _TABLE["syntax"] if part in problem),
        (problem, "compare the line with those above"),
    )
    if at_end and bracket >= 0 and "quoted" not in context:
        index, message, fix = bracket, "a bracket is never closed", "close it with ']' or '}'"
    elif "cannot start" in problem and text[index : index + 1] == "\t":
        message, fix = "a tab is used as indentation", "indent with spaces"
    codes = (code for word, code in _TABLE["codes"].items() if word in f"{context} {problem}")
    # The line itself is not shown: what is not YAML may still be a secret.
    findings.add(Words(Code(next(codes, Code.YAML_SYNTAX)), message, fix), index)


def add_layout_faults(findings: Findings, spans: list[Span]) -> None:
    """Note where a text that libyaml accepted breaks rules of YAML 1.2 all the same."""
    text = findings.text
    faults = [_mark_faults(text, spans)] if "#" in text or "?" in text else []
    for span in spans:
        start, end, style, _ = span
        if style == "":
            if text[start:end] == "-":
                faults.append(iter([(start, "a '-' that starts no list item", _QUOTE)]))
        elif style in "|>":
            faults.append(_block_scalar_faults(text, span))
        elif text.find("\n", start, end) >= 0:
            faults.append(_continuation_faults(text, span))
    findings.add_all(Code.YAML_SYNTAX, chain.from_iterable(faults))


def _mark_faults(text: str, spans: list[Span]) -> Iterator[_Fault]:
    """Between scalars, ``#`` and ``?`` are marks only where blanks set them off."""
    starts = [start for start, _, style, _ in spans if style != "["]
    ends = [end for _, end, style, _ in spans if style != "["]
    at = 0
    while match := _COMMENT_OR_KEY_MARK.search(text, at):
        mark, at = match.span()
        scalar = bisect_right(starts, mark) - 1
        if scalar >= 0 and mark < ends[scalar]:
            at = ends[scalar]
        elif match[0] == "?":
            if text[at : at + 1].strip():
                yield mark, "a value starts with '?'", _QUOTE
        elif text[mark - 1 : mark].strip():
            yield mark, "no space before the '#' of a comment", "put a space before it"


def _block_scalar_faults(text: str, span: Span) -> Iterator[_Fault]:
    start, end, style, parent = span
    header = _BLOCK_HEADER.match(text, start)
    if not header:
        yield start, f"more text on the line of '{style}'", "start it on the next line"
        return
    if start - text.rfind("\n", 0, start) <= parent + 1:
        yield start, f"'{style}' is indented less than a value", "put it after its key"
    if header[0].endswith("\n") and not text.endswith("\n") and not text[end:].strip():
        # Tools disagree on whether such a value ends in a line feed.
        yield start, "the file ends inside this text", "end the file with a line feed"
    body = _BLOCK_BODY.match(text, header.end())
    if not body:
        return
    indent = len(body["indent"])
    widest = max(len(line.rstrip("\r")) for line in body["blanks"].split("\n"))
    detected = not header[1].strip("+-")
    # At the top libyaml counts the indentation from one column on, others from none.
    at_top = parent < 0 and (not detected or (indent == 0 and text[body.end()] == "#"))
    if at_top or (detected and parent < indent < widest):
        yield body.end(), "the text is not indented as a whole", "indent its first line as the rest"


def _continuation_faults(text: str, span: Span) -> Iterator[_Fault]:
    """Each further line of a value must be indented more, by spaces, than what holds it."""
    start, end, style, parent = span
    for line in _LINE.finditer(text, start, end):
        spaces, rest = line[1], line[2].rstrip("\r")
        if style == "[" and rest.lstrip()[:1] in ("", "#"):
            continue
        if rest and len(spaces) <= parent:
            what = "the line is part of the value above but not indented as such"
            yield line.start(2), what, f"indent it by {parent + 1} spaces or more"
