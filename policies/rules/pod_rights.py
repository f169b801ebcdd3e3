"""The rights of a container and the parts of its host that a pod may have, of the Pod Security
Standard "restricted": one rule a control, so that an exception from one leaves all others in force.

The kube-apiserver judges the same, with one label for all controls of a namespace;
tests/components/making/test_pod_security.py holds the two against each other.
Source of the checks: k8s.io/pod-security-admission v0.34.3, policy/check_*.go.
"""

from collections.abc import Iterator

from policies.embedded import bodies
from policies.messages import say
from policies.pods import Container, Pod, items, pods
from policies.rule import Found, Object, text
from schemas.kubernetes import pod_security as standard
from schemas.kubernetes.bodies import mapping


def _capabilities_dropped(_: Pod, each: Container) -> Iterator[Found]:
    dropped = mapping(each.security, "capabilities").get("drop")
    if not (isinstance(dropped, list) and "ALL" in dropped):
        path = f"{each.path}.securityContext.capabilities.drop"
        yield say("capabilities-dropped", path, each.name)


def _capabilities_added(_: Pod, each: Container) -> Iterator[Found]:
    added = mapping(each.security, "capabilities").get("add")
    for index, name in enumerate(added if isinstance(added, list) else []):
        if name not in standard.RESTRICTED_CAPABILITIES:
            path = f"{each.path}.securityContext.capabilities.add[{index}]"
            yield say("capabilities-added", path, each.name, name, value=str(name))


def _run_as_non_root(pod: Pod) -> Iterator[Found]:
    given = pod.security.get("runAsNonRoot")
    for path, who, context in pod.contexts:
        own = context.get("runAsNonRoot")
        if own is False or (own is None and given is None and who != "the pod"):
            yield Found(f"{path}.runAsNonRoot", f"{who} may run as root")


def _seccomp_profile(pod: Pod) -> Iterator[Found]:
    given = mapping(pod.security, "seccompProfile").get("type")
    for path, who, context in pod.contexts:
        own = mapping(context, "seccompProfile").get("type")
        if own in standard.PROFILES or (own is None and (given is not None or who == "the pod")):
            continue
        what = f"has the seccomp profile {own}" if own else "may use every system call"
        yield Found(f"{path}.seccompProfile.type", f"{who} {what}")


def _selinux_options(pod: Pod) -> Iterator[Found]:
    for where, who, context in pod.contexts:
        for field, value in mapping(context, "seLinuxOptions").items():
            typed = field == "type" and value not in standard.SELINUX_TYPES
            if value and (typed or field in ("user", "role")):
                path = f"{where}.seLinuxOptions.{field}"
                yield say("selinux-options", path, who, field, value, standard.SELINUX_TYPES)


def _apparmor_profile(pod: Pod) -> Iterator[Found]:
    for path, who, context in pod.contexts:
        given = mapping(context, "appArmorProfile").get("type")
        if given not in (None, *standard.PROFILES):
            yield Found(f"{path}.appArmorProfile.type", f"{who} runs {given} by AppArmor")
    for key, value in mapping(pod.metadata, "annotations").items():
        local = str(value).startswith(standard.APPARMOR_LOCAL)
        allowed = local or value in standard.APPARMOR_DEFAULTS
        if text(key).startswith(standard.APPARMOR) and not allowed:
            path = f'{pod.path.removesuffix("spec")}metadata.annotations["{key}"]'
            yield Found(path, f"container {key[len(standard.APPARMOR) :]} runs {value} by AppArmor")


def _host_path(each: Object) -> Iterator[Found]:
    volumes = [(path, "hostPath", volume) for pod in pods(each) for path, volume in pod.volumes]
    for place, body in bodies(each, ("PersistentVolume",)):
        volumes += [(f"{place}spec", key, mapping(body, "spec")) for key in ("hostPath", "local")]
    for path, key, volume in volumes:
        if key in volume:
            where = mapping(volume, key).get("path")
            yield Found(f"{path}.{key}", f"the pod has {where} of its host", value=text(where))


def _volume_types(pod: Pod) -> Iterator[Found]:
    for path, volume in pod.volumes:
        kinds = [key for key in volume if key != "name"]
        if kinds and not any(kind in (*standard.VOLUMES, "hostPath") for kind in kinds):
            values = volume.get("name"), kinds[0], standard.VOLUMES
            yield say("volume-types", f"{path}.{kinds[0]}", *values)


def _sysctls(pod: Pod) -> Iterator[Found]:
    for index, each in items(pod.security, "sysctls"):
        if text(each.get("name")) not in standard.SYSCTLS:
            path = f"{pod.path}.securityContext.sysctls[{index}]"
            yield say("sysctls", path, each.get("name"))
