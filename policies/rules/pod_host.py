"""The parts of its host that a pod may have, of the Pod Security Standard "restricted", a rule a
control."""

from collections.abc import Iterator

from policies.pods import Container, Pod, PodCheck, items, mapping
from policies.rule import Found, text
from schemas.kubernetes.pod_security import HOOKS, PROBES, SYSCTLS, VOLUMES


def _host(field: str, what: str) -> PodCheck:
    def check(pod: Pod) -> Iterator[Found]:
        if pod.spec.get(field) is True:
            yield Found(f"{pod.path}.{field}", f"the pod {what}", f"leave {field} out")

    return check


def _host_path(pod: Pod) -> Iterator[Found]:
    for path, volume in pod.volumes:
        if "hostPath" in volume:
            where = mapping(volume, "hostPath").get("path")
            yield Found(f"{path}.hostPath", f"the pod has {where} of its host", value=text(where))


def _volume_types(pod: Pod) -> Iterator[Found]:
    for path, volume in pod.volumes:
        kinds = [key for key in volume if key != "name"]
        if kinds and not any(kind in (*VOLUMES, "hostPath") for kind in kinds):
            message = f"volume {volume.get('name')} is of the kind {kinds[0]}"
            fix = f"take one of {', '.join(VOLUMES)}"
            yield Found(f"{path}.{kinds[0]}", message, fix)


def _host_ports(_: Pod, each: Container) -> Iterator[Found]:
    for index, port in items(each.body, "ports"):
        if port.get("hostPort"):
            message = f"container {each.name} takes port {port['hostPort']} of its host"
            yield Found(f"{each.path}.ports[{index}].hostPort", message)


def _probe_host(_: Pod, each: Container) -> Iterator[Found]:
    handlers = {name: mapping(each.body, name) for name in PROBES}
    handlers |= {f"lifecycle.{name}": mapping(each.body, "lifecycle", name) for name in HOOKS}
    for name, handler in handlers.items():
        for kind in ("httpGet", "tcpSocket"):
            host = mapping(handler, kind).get("host")
            if host:
                message = f"the kubelet is made to call {host} for container {each.name}"
                yield Found(f"{each.path}.{name}.{kind}.host", message)


def _sysctls(pod: Pod) -> Iterator[Found]:
    for index, each in items(pod.security, "sysctls"):
        if text(each.get("name")) not in SYSCTLS:
            message = f"the pod sets {each.get('name')}, which is its host's as well"
            yield Found(f"{pod.path}.securityContext.sysctls[{index}]", message)


def _windows_host_process(pod: Pod) -> Iterator[Found]:
    for path, who, context in pod.contexts:
        if mapping(context, "windowsOptions").get("hostProcess") is True:
            where = f"{path}.windowsOptions.hostProcess"
            yield Found(where, f"{who} is a process of its host")


_host_network = _host("hostNetwork", "is in the network of its host")
_host_pid = _host("hostPID", "sees the processes of its host")
_host_ipc = _host("hostIPC", "shares memory with its host")
