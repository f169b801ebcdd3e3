"""Samples of secrets as a value of a name and among arguments. The reader of the files and the
judge of the objects ask of every place. Texts: test_secrets_literals.py and
test_policies_secrets.py."""

import base64
import gzip
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import pytest
import yaml

from policies.rule import Object
from schemas.kubernetes.masking import mask
from schemas.kubernetes.secret_forms import FORMS, SPOKEN
from schemas.kubernetes.secret_scan import credential, in_arguments, is_secret, kind_of
from schemas.reading.literal_secrets import in_manifests
from tests.kit import secret_samples as samples
from tests.kit.policy_objects import WEB, found, good

SITUATIONS: dict[str, Callable[[Any], Object]] = {
    "text": lambda text: good("ConfigMap", ("data", "settings"), text),
    "variable": lambda pair: good(
        "Deployment", (*WEB, "env"), [{"name": pair[0], "value": pair[1]}]
    ),
    "field": lambda pair: good("ConfigMap", ("data", pair[0]), pair[1]),
    "arguments": lambda words: good("Deployment", (*WEB, "args"), words),
}


@pytest.mark.parametrize(("name", "value"), [*samples.NAMED, *samples.PLAIN])
def test_a_value_is_a_secret_by_its_name(name: str, value: str) -> None:
    assert is_secret(name, value) == ((name, value) in samples.NAMED)


@pytest.mark.parametrize("words", [*samples.WORDS, *samples.PLAIN_WORDS], ids=" ".join)
def test_an_argument_is_a_secret_by_its_flag(words: list[str]) -> None:
    assert (any(in_arguments(words)) or any(map(credential, words))) == (words in samples.WORDS)


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_what_is_packed_is_read(pack: Callable[[bytes], bytes]) -> None:
    """As cloud-init takes files: in base64, with gzip or without."""

    def packed(text: str) -> str:
        return base64.b64encode(pack(text.encode())).decode()

    assert credential(packed("# für alle\npassword=hunter2!"))
    assert credential(packed(samples.FORMED["a token of GitHub"][0] + "\n" * 2_000_000))
    assert bool(credential(packed("ü" * 1_000_000))) == (pack is gzip.compress)
    assert not any(map(credential, (packed("[Service]\nRestart=always\n"), packed("x" * 99)[:-9])))


def test_packed_files_are_read_to_their_end() -> None:
    """Of several members, in any character set, in base64 within base64, cut off."""
    text = b"password=hunter2!\n" + bytes(range(256)) * 20
    members = b"".join(map(gzip.compress, (b"# a\n", b"", text)))
    for data in (members, members + b"more", b"# f\xfcr alle\n" + text, base64.b64encode(text)):
        assert credential(base64.b64encode(data).decode())
    assert not credential(base64.b64encode(gzip.compress(text)[:12]).decode())
    with processor_time(10):
        assert not credential(base64.b64encode(gzip.compress(b"#") * 50_000).decode())


# --- who asks -------------------------------------------------------------------------------------


def read(each: Object) -> bool:
    """True if a file of manifests with the object in it is refused."""
    text = yaml.safe_dump(each.body, width=100_000)
    return bool(kind_of(text) or in_manifests(text))


def judged(each: Object) -> bool:
    """True if the object is refused."""
    return bool(found("secret-literal", each) or found("secret-environment", each))


@pytest.mark.parametrize("finds", [read, judged])
@pytest.mark.parametrize(
    ("where", "secret", "none"),
    [
        ("text", samples.FORMED["a token of Vault"][0], samples.HARMLESS[0]),
        ("text", samples.USERS[0], samples.HARMLESS[5]),
        ("text", samples.TEXTS[0], samples.HARMLESS[-1]),
        ("variable", samples.NAMED[0], samples.PLAIN[0]),
        ("field", samples.NAMED[1], samples.PLAIN[1]),
        ("arguments", samples.WORDS[0], samples.PLAIN_WORDS[0]),
        ("arguments", samples.WORDS[5], samples.PLAIN_WORDS[6]),
    ],
)
def test_readers_and_judges_look_everywhere(
    finds: Callable[[Object], bool], where: str, secret: Any, none: Any
) -> None:
    assert finds(SITUATIONS[where](secret))
    assert not finds(SITUATIONS[where](none))


# --- time -----------------------------------------------------------------------------------------

COMMANDS = ("mysql", "sshpass", "ipmi", "authorization", "password")
SPOKEN_WORDS = tuple(word for form in SPOKEN for word in form.words)
REPEATED = [
    (f"{word}{mark}", words)
    for words in (*(form.words for form in FORMS), SPOKEN_WORDS)
    for word in words
    for mark in ("", "-", " ", ":")
]
LONG = (
    *(f"{word}{mark}" for word in COMMANDS for mark in ("-", " ")),
    "a:b@", "a:", "a:b@c.", "a:-1@", "a-", "1.", "authorization: basic ", "password is ",
    "password: a-", "-P ", "mysql -p ", "ipmi -P  ",
)  # fmt: skip


@contextmanager
def processor_time(seconds: float) -> Iterator[None]:
    """A limit that only a hang exceeds: time of this process, however busy the machine is."""

    def stop(*_: object) -> NoReturn:
        raise TimeoutError("a pattern reads a text more than once")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def test_no_text_of_beginnings_takes_long() -> None:
    for part, words in (*REPEATED, *((each, SPOKEN_WORDS) for each in LONG)):
        # Each form is searched where a word of it stands: words that end the text.
        text = f"{part * (2**16 // len(part))} -p x1 {' '.join(words)}"
        # More than ten times what the slowest takes.
        with processor_time(2):
            assert mask(text)
