"""A kubeconfig in a stack's configuration: taken as a secret alone, and never shown."""

from collections.abc import Iterator

import pulumi
import pytest
import yaml
from pulumi.runtime import config

from components.shell import KUBECONFIG, stack_kubeconfig

SECRET = "hunter2"
TEXT = yaml.safe_dump({
    "contexts": [{"name": "mgmt", "context": {"user": "u"}}, {"name": "own"}],
    "users": [{"name": "u", "user": {"token": SECRET}}],
})  # fmt: skip


@pytest.fixture(autouse=True)
def _nothing_is_left() -> Iterator[None]:
    yield
    config.set_all_config({}, [])


def configured(text: str, *, secret: bool = True) -> None:
    config.set_all_config({KUBECONFIG: text}, [KUBECONFIG] if secret else [])


def test_without_one_the_callers_own_is_used() -> None:
    config.set_all_config({}, [])
    assert stack_kubeconfig(["mgmt"]) is None


def test_one_with_all_contexts_is_handed_on_as_a_secret() -> None:
    configured(TEXT)
    found = stack_kubeconfig(["mgmt", "own"])
    assert found is not None
    seen = pulumi.runtime.sync_await._sync_await(_both(found))
    assert seen == (TEXT, True)


async def _both(output: pulumi.Output[str]) -> tuple[str | None, bool]:
    return await output.future(), await output.is_secret()


@pytest.mark.parametrize(
    ("text", "secret", "said"),
    [
        (TEXT, False, "plain text"),
        (TEXT, True, "no context elsewhere"),
        (f"/home/{SECRET}/.kube/config", True, "no path"),
        (f"contexts: [{SECRET}", True, "no kubeconfig"),
        (f"{{users: [{SECRET}]}}", True, "no kubeconfig"),
        ("", True, "no kubeconfig"),
    ],
)
def test_what_cannot_be_used_is_refused_with_the_way_out(
    text: str, secret: bool, said: str
) -> None:
    configured(text, secret=secret)
    with pytest.raises(pulumi.RunError) as refused:
        stack_kubeconfig(["mgmt", "elsewhere"])
    assert said in str(refused.value)
    assert "pulumi config set --secret foresite:kubeconfig" in str(refused.value)
    assert SECRET not in str(refused.value)
    # No cause that a traceback would show either.
    assert refused.value.__cause__ is None and refused.value.__context__ is None
