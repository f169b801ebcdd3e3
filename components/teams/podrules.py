"""The limits of pods of teams: Pod Security's baseline, and the needs of RDMA beyond it.

Pod Security has no exceptions by capability. A namespace whose pods lock memory would have to be
privileged, and so open to anything; here each rule of the baseline is one expression, and those
that RDMA needs more of look at the namespace's label.

The lists are those of the standard, level baseline: schemas/kubernetes/pod_security.py.
"""

from components.teams.namespaces import RDMA_LABEL, Rdma
from schemas.kubernetes.pod_security import (
    APPARMOR,
    BASELINE_CAPABILITIES,
    HOOKS,
    PROBES,
    SELINUX_TYPES,
    SYSCTLS,
)

Rule = tuple[str, str]
"""A CEL expression that must hold, and what a person reads where it does not."""

VARIABLES = {
    "rdma": f"namespaceObject.metadata.?labels[?'{RDMA_LABEL}'].orValue('')",
    "containers": (
        "dyn(object.spec.containers) + dyn(object.spec.?initContainers.orValue([]))"
        " + dyn(object.spec.?ephemeralContainers.orValue([]))"
    ),
    # What a container says of its security, and the pod of all of them.
    "contexts": (
        "variables.containers.filter(c, has(c.securityContext)).map(c, c.securityContext)"
        " + (has(object.spec.securityContext) ? [dyn(object.spec.securityContext)] : [])"
    ),
    "hostNetwork": "object.spec.?hostNetwork.orValue(false)",
    "probes": (
        " + ".join(
            [
                *(f"variables.containers.filter(c, has(c.{p})).map(c, c.{p})" for p in PROBES),
                *(
                    f"variables.containers.filter(c, has(c.lifecycle) && has(c.lifecycle.{hook}))"
                    f".map(c, c.lifecycle.{hook})"
                    for hook in HOOKS
                ),
            ]
        )
    ),
}
"""Variables of the rules, in this order."""


def _one_of(values: tuple[str, ...]) -> str:
    return f"[{', '.join(repr(each) for each in values)}]"


RULES: tuple[Rule, ...] = (
    (
        f"!variables.hostNetwork || variables.rdma == '{Rdma.HOST_NETWORK}'",
        "hostNetwork is not allowed",
    ),
    (
        "!object.spec.?hostPID.orValue(false) && !object.spec.?hostIPC.orValue(false)",
        "hostPID and hostIPC are not allowed",
    ),
    # With the host's network each port is one of the host.
    (
        (
            "variables.hostNetwork || variables.containers.all(c,"
            " c.?ports.orValue([]).all(p, p.?hostPort.orValue(0) == 0))"
        ),
        "hostPort is not allowed",
    ),
    (
        "variables.contexts.all(s, !s.?privileged.orValue(false))",
        "privileged containers are not allowed",
    ),
    (
        (
            "variables.contexts.all(s, s.?capabilities.?add.orValue([]).all(x,"
            f" x in {_one_of(BASELINE_CAPABILITIES)} || (x == 'IPC_LOCK' && variables.rdma != '')))"
        ),
        "a capability that containers add is not allowed; IPC_LOCK is where a team can use RDMA",
    ),
    (
        "object.spec.?volumes.orValue([]).all(v, !has(v.hostPath))",
        "hostPath volumes are not allowed",
    ),
    (
        "variables.contexts.all(s, s.?procMount.orValue('Default') == 'Default')",
        "procMount must be Default",
    ),
    (
        "variables.contexts.all(s, s.?seccompProfile.?type.orValue('') != 'Unconfined')",
        "seccompProfile Unconfined is not allowed",
    ),
    (
        (
            "variables.contexts.all(s, s.?appArmorProfile.?type.orValue('') != 'Unconfined')"
            " && object.metadata.?annotations.orValue({}).all(k,"
            f" !k.startsWith('{APPARMOR}') || object.metadata.annotations[k]"
            " in ['', 'runtime/default']"
            " || object.metadata.annotations[k].startsWith('localhost/'))"
        ),
        "an AppArmor profile other than the runtime's or one of the host's is not allowed",
    ),
    (
        (
            "variables.contexts.all(s, s.?seLinuxOptions.?type.orValue('')"
            f" in {_one_of(('', *SELINUX_TYPES))} && s.?seLinuxOptions.?user.orValue('') == ''"
            " && s.?seLinuxOptions.?role.orValue('') == '')"
        ),
        "SELinux user, role and other types than a container's are not allowed",
    ),
    (
        (f"object.spec.?securityContext.?sysctls.orValue([]).all(x, x.name in {_one_of(SYSCTLS)})"),
        "a sysctl that is not safe for the node is not allowed",
    ),
    (
        "variables.contexts.all(s, !s.?windowsOptions.?hostProcess.orValue(false))",
        "hostProcess is not allowed",
    ),
    (
        (
            "variables.probes.all(p, p.?httpGet.?host.orValue('') == ''"
            " && p.?tcpSocket.?host.orValue('') == '')"
        ),
        "probes and lifecycle hooks must not name a host",
    ),
)
