"""The rights of a container and the parts of its host that a pod may have, of the Pod Security
Standard "restricted": one rule a control, so that an exception from one leaves all others in force.

The kube-apiserver judges the same, with one label for all controls of a namespace;
tests/components/making/test_pod_security.py holds the two against each other.
Source of the checks: k8s.io/pod-security-admission v0.34.3, policy/check_*.go.
"""

from collections.abc import Iterator

from policies.embedded import bodies
from policies.messages import say
from policies.pods import Container, Pod, PodCheck, items, of_settings, pods
from policies.rule import Found, Object, text
from schemas.kubernetes.bodies import mapping
from schemas.kubernetes.pod_security import (
    APPARMOR,
    APPARMOR_DEFAULTS,
    APPARMOR_LOCAL,
    HOOKS,
    PROBES,
    PROFILES,
    RESTRICTED_CAPABILITIES,
    SELINUX_TYPES,
    SYSCTLS,
    VOLUMES,
)


def _capabilities_dropped(_: Pod, each: Container) -> Iterator[Found]:
    dropped = mapping(each.security, "capabilities").get("drop")
    if not (isinstance(dropped, list) and "ALL" in dropped):
        path = f"{each.path}.securityContext.capabilities.drop"
        yield say("capabilities-dropped", path, each.name)


def _capabilities_added(_: Pod, each: Container) -> Iterator[Found]:
    added = mapping(each.security, "capabilities").get("add")
    for index, name in enumerate(added if isinstance(added, list) else []):
        if name not in RESTRICTED_CAPABILITIES:
            path = f"{each.path}.securityContext.capabilities.add[{index}]"
            yield say("capabilities-added", path, each.name, name, value=str(name))


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
    for where, who, context in pod.contexts:
        for field, value in mapping(context, "seLinuxOptions").items():
            typed = field == "type" and value not in SELINUX_TYPES
            if value and (typed or field in ("user", "role")):
                path = f"{where}.seLinuxOptions.{field}"
                yield say("selinux-options", path, who, field, value, SELINUX_TYPES)


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


_privilege_escalation = of_settings("allowPrivilegeEscalation", lambda value: value is not False)
_privileged = of_settings("privileged", lambda value: value is True)
_proc_mount = of_settings("procMount", lambda value: value not in (None, "Default"))


def _host(field: str, what: str) -> PodCheck:
    def check(pod: Pod) -> Iterator[Found]:
        if pod.spec.get(field) is True:
            yield Found(f"{pod.path}.{field}", f"the pod {what}", f"leave {field} out")

    return check


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
        if kinds and not any(kind in (*VOLUMES, "hostPath") for kind in kinds):
            yield say("volume-types", f"{path}.{kinds[0]}", volume.get("name"), kinds[0], VOLUMES)


def _host_ports(_: Pod, each: Container) -> Iterator[Found]:
    for index, port in items(each.body, "ports"):
        if port.get("hostPort"):
            path = f"{each.path}.ports[{index}].hostPort"
            yield say("host-ports", path, each.name, port["hostPort"])


def _probe_host(_: Pod, each: Container) -> Iterator[Found]:
    handlers = {name: mapping(each.body, name) for name in PROBES}
    handlers |= {f"lifecycle.{name}": mapping(each.body, "lifecycle", name) for name in HOOKS}
    for name, handler in handlers.items():
        for kind in ("httpGet", "tcpSocket"):
            host = mapping(handler, kind).get("host")
            if host:
                yield say("probe-host", f"{each.path}.{name}.{kind}.host", host, each.name)


def _sysctls(pod: Pod) -> Iterator[Found]:
    for index, each in items(pod.security, "sysctls"):
        if text(each.get("name")) not in SYSCTLS:
            path = f"{pod.path}.securityContext.sysctls[{index}]"
            yield say("sysctls", path, each.get("name"))


def _windows_host_process(pod: Pod) -> Iterator[Found]:
    for path, who, context in pod.contexts:
        if mapping(context, "windowsOptions").get("hostProcess") is True:
            yield say("host-process", f"{path}.windowsOptions.hostProcess", who)


_host_network = _host("hostNetwork", "is in the network of its host")
_host_pid = _host("hostPID", "sees the processes of its host")
_host_ipc = _host("hostIPC", "shares memory with its host")
