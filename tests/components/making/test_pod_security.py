"""Pod Security as the real kube-apiserver has it, an independent judge of every pod of all sites:
what it refuses is what our rules find, control by control, and what exceptions name."""

import copy
import functools
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from components.making.daemons import namespace
from controlplane import ApiError, Client, ControlPlane
from policies.exceptions import Exemption, exemptions, ours
from policies.judge import findings
from policies.pods import Pod, pods
from policies.rule import Object, Violation
from policies.rules import RULES
from tests.golden import every_site, objects
from tests.kit.sharing_sites import slices
from tests.policies.test_policies import ROCE

pytestmark = pytest.mark.controlplane
Json = dict[str, Any]
SITES = sorted(every_site())
RARE = {**every_site(), "RoCE that pods share": ROCE, "MIG slices": slices()}
"""The sites, and those with what exceptions are there for and no example has."""
REASONS = {
    "privilege-escalation": "allowPrivilegeEscalation != false",
    "capabilities-dropped": "unrestricted capabilities",
    "capabilities-added": "unrestricted capabilities",
    "run-as-non-root": "runAsNonRoot != true",
    "run-as-user": "runAsUser=0",
    "seccomp-profile": "seccompProfile",
    "host-network": "host namespaces",
    "host-pid": "host namespaces",
    "host-ipc": "host namespaces",
    "host-path": "restricted volume types",
    "volume-types": "restricted volume types",
    "host-ports": "hostPort",
    "probe-host": "probe or lifecycle host",
    "privileged": "privileged",
    "proc-mount": "procMount",
    "selinux-options": "seLinuxOptions",
    "apparmor-profile": "forbidden AppArmor profile",
    "sysctls": "forbidden sysctls",
    "windows-host-process": "hostProcess",
}
"""The API server's message for each control (pod-security-admission v0.34.3, policy/check_*.go,
ForbiddenReason)."""
STANDARD = [rule for rule in RULES if rule.name in REASONS]
BASELINE = {
    "capabilities-added": "non-default capabilities",
    "host-network": "host namespaces",
    "host-pid": "host namespaces",
    "host-path": "hostPath volumes",
    "host-ports": "hostPort",
    "privileged": "privileged",
}
"""Controls of the level baseline that sites break, with the API server's message."""
LEVELS = ("restricted", "baseline", "privileged")
"""From the strictest."""


class Judged(NamedTuple):
    """A pod of a site, with what our rules find in it."""

    title: str
    pod: Pod
    space: str
    found: tuple[Violation, ...]

    def reasons(self, names: dict[str, str]) -> set[str]:
        """The reasons that the API server should give."""
        return {names[each.rule.name] for each in self.found if each.rule.name in names}


@functools.cache
def judged(site: str) -> tuple[Judged, ...]:
    """Every pod of a site but those that are merged into others."""
    return tuple(_judged(site))


def _judged(site: str) -> Iterator[Judged]:
    for manifest in objects(RARE[site]):
        each = Object(manifest.target.value, manifest.body)
        found = list(findings([each], STANDARD))
        for pod in pods(each):
            # A place of the pod's metadata is beside its spec.
            near = pod.path.removesuffix("spec")
            mine = tuple(one for one in found if one.found.path.startswith(near))
            if not pod.partial:
                yield Judged(f"{site}: {each.title}: {pod.path}", pod, _space(each, pod), mine)


def _space(each: Object, pod: Pod) -> str:
    inner = pod.maker["spec"].get("template", {}).get("spec", {}).get("jobTemplate", {})
    named = inner.get("metadata", {}).get("namespace")
    return str(pod.maker["metadata"].get("namespace") or named or "")


@pytest.fixture(scope="module")
def client(api: ControlPlane) -> Iterator[Client]:
    with api.client() as found:
        for level in LEVELS:
            name = f"pod-security-{level}"
            found.apply(namespace(every_site()["lab-1"], name, "test", level).body)
            # Nobody makes it here, and pods need one.
            account = {"name": "default", "namespace": name}
            found.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account})
        yield found


def asked(pod: Pod, level: str) -> Json:
    """A Pod of a template in a namespace of a level. What it refers to is not there, and is left
    out, as Pod Security looks at none of it; where a researcher names the image, one is named."""
    spec = copy.deepcopy(pod.spec)
    for elsewhere in ("priorityClassName", "runtimeClassName"):
        spec.pop(elsewhere, None)
    spec["serviceAccountName"] = "default"
    for container in (*spec["containers"], *spec.get("initContainers", [])):
        container.setdefault("image", "registry.example/job:1")
    annotations = pod.metadata.get("annotations", {})
    metadata = {"name": "judged", "namespace": f"pod-security-{level}", "annotations": annotations}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def said(client: Client, pod: Pod, level: str) -> set[str]:
    """Why Pod Security refuses a pod; any other refusal fails."""
    try:
        client.apply(asked(pod, level), dry_run=True)
    except ApiError as error:
        text = str(error)
        _, standard, reasons = text.partition(f'violates PodSecurity "{level}:')
        assert standard, text
        known = {*REASONS.values(), *BASELINE.values()}
        return {each for each in known if re.search(rf"(?:: |\), ){re.escape(each)}s? \(", reasons)}
    return set()


def test_each_control_has_its_reason() -> None:
    assert {rule.name for rule in STANDARD} == REASONS.keys()
    assert BASELINE.keys() <= REASONS.keys()


@pytest.mark.parametrize("site", SITES)
@pytest.mark.parametrize(("level", "names"), [("restricted", REASONS), ("baseline", BASELINE)])
def test_the_api_server_refuses_what_our_rules_find(
    client: Client, site: str, level: str, names: dict[str, str]
) -> None:
    theirs = {each.title: said(client, each.pod, level) for each in judged(site)}
    assert theirs == {each.title: each.reasons(names) for each in judged(site)}
    assert any(theirs.values()) and not all(theirs.values())


@pytest.mark.parametrize("site", SITES)
def test_what_is_refused_is_excepted_and_nothing_else_is(site: str) -> None:
    """With the test above: exceptions name what the API server refuses, and it alone."""
    found = [violation for each in judged(site) for violation in each.found]
    rows = (each.model_dump() for each in every_site()[site].file.policies.exceptions)
    own = exemptions(rows, own=True)
    bare = {f"{one.rule.name}: {one.object.title}" for one in found if not covering(one, own)}
    assert bare == set()


def test_every_exception_from_the_standard_lets_something_pass() -> None:
    names = {rule.name for rule in STANDARD}
    # A row may name its objects also as other sites have them.
    used = {
        (exemption.rule, exemption.reason)
        for site in RARE
        for each in judged(site)
        for violation in each.found
        for exemption in covering(violation)
    }
    assert used == {(each.rule, each.reason) for each in ours() if each.rule in names}


def covering(violation: Violation, own: tuple[Exemption, ...] = ()) -> list[Exemption]:
    return [each for each in (*ours(), *own) if each.covers(violation)]


@pytest.mark.parametrize("site", SITES)
def test_a_namespace_is_as_strict_as_its_pods_let_it_be(client: Client, site: str) -> None:
    wanted: dict[str, int] = {}
    for each in judged(site):
        level = next(n for n, name in enumerate(LEVELS) if not said(client, each.pod, name))
        wanted[each.space] = max(level, wanted.get(each.space, 0))
    key = "pod-security.kubernetes.io/enforce"
    labels = {
        made.body["metadata"]["name"]: made.body["metadata"]["labels"]
        for made in objects(every_site()[site])
        if made.kind == "Namespace"
        # What a site brings is its own.
        and made.body["metadata"]["labels"]["foresite.dev/component"] != "pod-network"
    }
    levels = {name: LEVELS[level] for name, level in wanted.items() if name in labels}
    assert {name: labels[name].get(key) for name in levels} == levels
    assert levels
