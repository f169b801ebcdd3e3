"""Finds keys and passwords in texts, by the table in secret_forms.py; whom to tell is for others to
decide. Each function reads a text once, however large it is."""

import base64
import binascii
import contextlib
import functools
import gzip
import io
import re
import zlib
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, zip_longest
from typing import Any, NamedTuple

from schemas.kubernetes import secret_forms as forms

_WORDS = tuple(dict.fromkeys(word for form in (*forms.FORMS, *forms.SPOKEN) for word in form.words))
"""Words that a text must contain before a form is searched."""
_SCHEME = re.compile(r"[A-Za-z][\w+.-]*\Z")
_IN_BRACKETS = re.compile(r"<[A-Za-z][A-Za-z0-9+.-]*$")
_URL_ENDS = re.compile(r"[\s,;)\]\"]")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_FLAG = re.compile(r"[^\s=]+")
_SHORTEST = 20
_GZIP, _TIMES_PACKED = b"\x1f\x8b\x08", 2
MOST_UNPACKED = 1024 * 1024
"""Bytes of a compressed text that are read: user data of a host has less."""
_UNREAD = "more packed text than is read"
_BASE64 = re.compile(rf"[A-Za-z0-9+/\s]{{{_SHORTEST},}}+={{0,2}}\s*")


class Key(NamedTuple):
    """A key in a text: where it starts and ends, and what it is."""

    start: int
    end: int
    what: str


# --- by form --------------------------------------------------------------------------------------


def keys_in(text: str) -> list[Key]:
    """The keys in a text that are known by their form, in its order; they may overlap."""
    return sorted(_keys(text), key=lambda each: each.start)


@functools.lru_cache(maxsize=4096)
def kind_of(text: str) -> str:
    """The kind of key in a text; empty where it has none."""
    return next((each.what for each in keys_in(text)), "")


def _keys(text: str) -> Iterator[Key]:
    there = {word for word in _WORDS if word in text}
    for form in forms.FORMS:
        if not there.isdisjoint(form.words):
            for match in _compile(form.pattern).finditer(text):
                yield Key(*match.span(), form.what)
    for form in forms.SPOKEN:
        for start, end in _lines_with(there.intersection(form.words), text):
            for match in _compile(form.pattern).finditer(text, start, end):
                # A password before an address may have any character.
                if "@" in form.words or not forms.IN_TEXT.fullmatch(match["secret"]):
                    yield Key(*match.span("secret"), form.what)
    if "@" in text:
        yield from _users(text)


def _lines_with(words: Iterable[str], text: str) -> list[tuple[int, int]]:
    """The lines that have one of some words. What people say is in one line: to look for it in all
    of them takes a tenth of a check."""
    found = set()
    for word in words:
        at = text.find(word)
        while at >= 0:
            end = text.find("\n", at)
            end = len(text) if end < 0 else end
            found.add((text.rfind("\n", 0, at) + 1, end))
            at = text.find(word, end)
    return sorted(found)


@functools.cache
def _compile(pattern: str) -> re.Pattern[str]:
    """A pattern, compiled when a word of it was found: most runs need none."""
    return re.compile(pattern)


def _users(text: str) -> Iterator[Key]:
    """The places of ``user:password@`` or ``user@`` in URLs; a URL ends where the next starts."""
    at = text.find("://")
    while at >= 0:
        scheme, start = text[max(0, at - 32) : at], at + 3
        at = text.find("://", start)
        last = len(text) if at < 0 else at
        # RFC 3986, appendix C: a URL in angle brackets ends with them; a password may go on.
        closed = text.find(">", start, last) if _IN_BRACKETS.search(scheme) else -1
        if closed >= 0 and text.find(":", start, closed) < 0:
            last = closed
        if text.find("@", start, last) < 0:
            continue
        end = _URL_ENDS.search(text, start, last)
        user, found, host = text[start : end.start() if end else last].rpartition("@")
        if found and not host.startswith("sha256:") and _of_a_user(user, scheme):
            yield Key(start, start + len(user), forms.IN_A_URL)


def _of_a_user(user: str, before: str) -> bool:
    scheme = _SCHEME.search(before)
    host, slash, _ = user.partition("/")
    # A path may hold an "@" behind host:port; a password may hold a "/".
    behind = slash and not (":" in host and not host.rpartition(":")[2].isdecimal())
    if scheme is None or behind:
        return False
    name, password, given = user.partition(":")
    if not password and forms.ACCOUNT_SCHEMES.fullmatch(scheme[0]):
        return False
    return not forms.IN_PLACE.match(given if password else name)


# --- by name --------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=4096)
def is_secret_name(name: str) -> bool:
    """True if a name is one of a secret. ``db_password``, ``apiKey`` and ``--token`` are;
    ``secretName`` and ``MAX_TOKENS`` are not."""
    if not forms.SOUNDS.search(name.lower()):
        return False
    plain = _CAMEL.sub("_", name).lower()
    return forms.NAMED.search(plain) is not None and forms.ABOUT.search(plain) is None


def is_literal(value: str) -> bool:
    """True if a value of such a name is a literal, and no reference, switch or blank."""
    bare = value.strip(" \t\n\"'")
    return bool(bare) and forms.REFERENCE.fullmatch(bare) is None


def is_secret(name: str, value: str) -> bool:
    """True if a value is a secret by its name."""
    return is_secret_name(name) and is_literal(value)


def secret_words(words: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    """The secrets in a command, behind a flag with a secret's name (``--flag=value``, or in the
    next word): the index of the word with the secret, that of its flag, and the secret."""
    for index, (word, following) in enumerate(zip_longest(words, words[1:], fillvalue="")):
        flag, equals, given = word.partition("=")
        at = index
        if not equals and word.startswith("-") and not following.startswith("-"):
            at, given = index + 1, following
        if given and _FLAG.fullmatch(flag) and is_secret_name(flag):
            yield at, index, given


def in_arguments(words: Sequence[Any]) -> Iterator[tuple[int, str]]:
    """The arguments of a command that are secrets by their flag, each as its index with that. What
    an argument sets within itself is for ``secret_names``."""
    texts = [each if isinstance(each, str) else "" for each in words]
    for at, index, given in secret_words(texts):
        flag = texts[index].partition("=")[0]
        if flag.startswith("-") and is_literal(given):
            yield at, flag
    if any(text.startswith(("-p", "-P")) for text in texts):
        starts = list(accumulate((len(text) + 1 for text in texts), initial=0))
        for key in keys_in(" ".join(texts)):
            if key.what == forms.IN_A_COMMAND:
                yield bisect_right(starts, key.start) - 1, "-p"


def secret_names(text: str) -> Iterator[str]:
    """The names of secrets that a text sets, be it settings or a program."""
    for start, end in sorted(_hinted_lines(text)):
        for match in forms.ASSIGNED.finditer(text, start, end):
            name, value = match["name"] or match["flag"], match["value"]
            if not is_secret_name(name) or forms.IN_TEXT.fullmatch(value):
                continue
            # What is quoted, or set by --flag=, is no word of a sentence.
            plain = not match["quote"] and not (match["name"] or "").startswith("--")
            if not (plain and forms.WORD.fullmatch(value)):
                yield name


def _hinted_lines(text: str) -> set[tuple[int, int]]:
    """The lines of a text with a word for a secret, each with the next one for its value."""
    # The one letter that is two in small letters: places stay the same.
    small = text.replace("\u0130", "i").lower()
    found = set()
    for start, end in _lines_with(forms.HINTS, small):
        following = text.find("\n", min(end + 1, len(text)))
        found.add((start, len(text) if following < 0 else following))
    return found


# --- both -----------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=65_536)
def credential(text: str) -> str:
    """A description of what looks like a secret in a text, by form or by name, as it stands
    or in base64, twice at most. Empty where nothing does."""
    found = _kind_or_name(text)
    for _ in range(_TIMES_PACKED):
        if found or not (text := _unpack(text)):
            break
        found = _kind_or_name(text) or (_UNREAD if text.endswith(_UNREAD) else "")
    return found


def _kind_or_name(text: str) -> str:
    return kind_of(text) or (forms.WRITTEN_OUT if any(secret_names(text)) else "")


def _unpack(text: str) -> str:
    """The text in base64, also of gzip; empty where there is none."""
    packed = "".join(text.split()) if _BASE64.fullmatch(text) else ""
    data, found = b"", bytearray()
    with contextlib.suppress(binascii.Error, OSError, EOFError, zlib.error):
        data = base64.b64decode(packed, validate=True)
        file = gzip.GzipFile(fileobj=io.BytesIO(data))
        while data.startswith(_GZIP) and (more := file.read1(MOST_UNPACKED - len(found))):
            found += more
    return (found or data).decode("utf-8", "replace") + _UNREAD * (len(found) == MOST_UNPACKED)


def suspect(texts: Iterable[str]) -> bool:
    """True if any of some texts may have a secret in it; there are few false alarms. All texts are
    read at once: to ask of each of thousands takes ten times as long."""
    every = list(texts)
    # What is set at the end of one text is not what the next one begins with.
    joined = '\n"\n'.join(every)
    if any(_keys(joined)) or any(secret_names(joined)):
        return True
    long = (each for each in every if len(each) >= _SHORTEST)
    return any(_BASE64.fullmatch(each) and credential(each) for each in long)
