"""Who reads the files, and who judges the objects, know the same secrets, and share no code: both
are held against one list."""

from collections.abc import Callable
from typing import Any

import pytest
import yaml

import policies.credentials
import schemas.kubernetes.credentials
from policies.rule import Object
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
FORMED = [text for texts in samples.FORMED.values() for text in texts]
SECRETS = [
    *(("text", each) for each in (*FORMED, *samples.USERS, *samples.TEXTS)),
    *(("variable", each) for each in samples.NAMED),
    *(("field", each) for each in samples.NAMED),
    *(("arguments", each) for each in samples.WORDS),
]
NONE = [
    *(("text", each) for each in samples.HARMLESS),
    *(("variable", each) for each in samples.PLAIN),
    *(("field", each) for each in samples.PLAIN),
    *(("arguments", each) for each in samples.PLAIN_WORDS),
]


def read(each: Object) -> bool:
    """Whether a file of manifests with the object in it is refused."""
    text = yaml.safe_dump(each.body, width=100_000)
    return bool(schemas.kubernetes.credentials.kind_of(text) or in_manifests(text))


def judged(each: Object) -> bool:
    """Whether the object is refused."""
    return bool(found("secret-literal", each) or found("secret-environment", each))


BOTH = pytest.mark.parametrize("finds", [read, judged])


@BOTH
@pytest.mark.parametrize(("where", "what"), SECRETS)
def test_a_secret_is_found(finds: Callable[[Object], bool], where: str, what: Any) -> None:
    assert finds(SITUATIONS[where](what))


@BOTH
@pytest.mark.parametrize(("where", "what"), NONE)
def test_what_only_looks_like_a_secret_is_none(
    finds: Callable[[Object], bool], where: str, what: Any
) -> None:
    assert not finds(SITUATIONS[where](what))


def test_there_is_a_sample_of_every_form_that_either_knows() -> None:
    read_by_form = {form.what for form in schemas.kubernetes.credentials.FORMS}
    assert samples.FORMED.keys() == read_by_form
    judged_by_form = {form.name for form in policies.credentials.FORMS}
    assert {*samples.FORMED, schemas.kubernetes.credentials.IN_A_URL} == judged_by_form


@pytest.mark.parametrize(("what", "text"), [(k, v) for k, t in samples.FORMED.items() for v in t])
def test_both_call_it_alike(what: str, text: str) -> None:
    assert (
        schemas.kubernetes.credentials.kind_of(text)
        == policies.credentials.credential(text)
        == what
    )
