"""The rights of a container, of the Pod Security Standard "restricted": one rule a control, so that
an exception from one leaves all others in force.

The kube-apiserver judges the same, with one label for all controls of a namespace;
tests/components/making/test_pod_security.py holds the two against each other.
Source of the checks: k8s.io/pod-security-admission v0.34.3, policy/check_*.go.
"""

from collections.abc import Iterator

from policies.pods import Container, Pod, mapping, of_settings
from policies.rule import Found, text
from schemas.kubernetes.pod_security import (
    APPARMOR,
    APPARMOR_DEFAULTS,
    APPARMOR_LOCAL,
    PROFILES,
    RESTRICTED_CAPABILITIES,
    SELINUX_TYPES,
)


def _capabilities_dropped(_: Pod, each: Container) -> Iterator[Found]:
    dropped = mapping(each.security, "capabilities").get("drop")
    if not (isinstance(dropped, list) and "ALL" in dropped):
        message = f"container {each.name} keeps capabilities that the runtime gives to all"
        yield Found(f"{each.path}.securityContext.capabilities.drop", message)


def _capabilities_added(_: Pod, each: Container) -> Iterator[Found]:
    added = mapping(each.security, "capabilities").get("add")
    for index, name in enumerate(added if isinstance(added, list) else []):
        if name not in RESTRICTED_CAPABILITIES:
            path = f"{each.path}.securityContext.capabilities.add[{index}]"
            message = f"container {each.name} has the capability {name}"
            yield Found(path, message, value=str(name))


def _run_as_non_root(pod: Pod) -> Iterator[Found]:
    given = pod.security.get("runAsNonRoot")
    for path, who, context in pod.contexts:
        own = context.get("runAsNonRoot")
        if own is False or (own is None and given is None and who != "the pod"):
            yield Found(f"{path}.runAsNonRoot", f"{who} may run as root")


def _run_as_user(pod: Pod) -> Iterator[Found]:
    for path, who, context in pod.contexts:
        if context.get("runAsUser") == 0 and not isinstance(context["runAsUser"], bool):
            yield Found(f"{path}.runAsUser", f"{who} runs as root")


def _seccomp_profile(pod: Pod) -> Iterator[Found]:
    given = mapping(pod.security, "seccompProfile").get("type")
    for path, who, context in pod.contexts:
        own = mapping(context, "seccompProfile").get("type")
        if own in PROFILES or (own is None and (given is not None or who == "the pod")):
            continue
        what = f"has the seccomp profile {own}" if own else "may use every system call"
        yield Found(f"{path}.seccompProfile.type", f"{who} {what}")


def _selinux_options(pod: Pod) -> Iterator[Found]:
    for path, who, context in pod.contexts:
        for field, value in mapping(context, "seLinuxOptions").items():
            if value and (
                field in ("user", "role") or (field == "type" and value not in SELINUX_TYPES)
            ):
                message = f"{who} has the SELinux {field} {value}"
                fix = f"leave it out, or take a type of {', '.join(SELINUX_TYPES)}"
                yield Found(f"{path}.seLinuxOptions.{field}", message, fix)


def _apparmor_profile(pod: Pod) -> Iterator[Found]:
    for path, who, context in pod.contexts:
        given = mapping(context, "appArmorProfile").get("type")
        if given not in (None, *PROFILES):
            yield Found(f"{path}.appArmorProfile.type", f"{who} runs {given} by AppArmor")
    for key, value in mapping(pod.metadata, "annotations").items():
        allowed = value in APPARMOR_DEFAULTS or str(value).startswith(APPARMOR_LOCAL)
        if text(key).startswith(APPARMOR) and not allowed:
            path = f'{pod.path.removesuffix("spec")}metadata.annotations["{key}"]'
            yield Found(path, f"container {key[len(APPARMOR) :]} runs {value} by AppArmor")


_privilege_escalation = of_settings(
    "allowPrivilegeEscalation",
    lambda value: value is not False,
    "may gain rights that it was not started with",
)
_privileged = of_settings(
    "privileged", lambda value: value is True, "is root of its host, with all devices"
)
_proc_mount = of_settings(
    "procMount", lambda value: value not in (None, "Default"), "sees /proc unmasked"
)
