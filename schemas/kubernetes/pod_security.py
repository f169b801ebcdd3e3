"""The Pod Security Standards, as lists: what a pod may be and have at each level.

Source: k8s.io/pod-security-admission v0.34.3, policy/check_*.go and api/constants.go.
"""

LEVELS = ("restricted", "baseline", "privileged")
PREFIX = "pod-security.kubernetes.io/"
"""Prefix of the labels for a namespace's levels."""
MODES = ("enforce", "audit", "warn")
ENFORCE = f"{PREFIX}enforce"

BASELINE_CAPABILITIES = (
    "AUDIT_WRITE",
    "CHOWN",
    "DAC_OVERRIDE",
    "FOWNER",
    "FSETID",
    "KILL",
    "MKNOD",
    "NET_BIND_SERVICE",
    "SETFCAP",
    "SETGID",
    "SETPCAP",
    "SETUID",
    "SYS_CHROOT",
)
"""Those that the baseline lets containers add; runtimes give most of them anyway."""
RESTRICTED_CAPABILITIES = ("NET_BIND_SERVICE",)
"""Those that may be added at the level restricted, which drops all others."""
SYSCTLS = (
    "kernel.shm_rmid_forced",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.ip_local_reserved_ports",
    "net.ipv4.ip_unprivileged_port_start",
    "net.ipv4.ping_group_range",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes",
    "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.tcp_wmem",
)
"""Settings of the kernel that each pod has for itself (check_sysctls.go, of 1.32)."""
VOLUMES = (
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "image",
    "persistentVolumeClaim",
    "projected",
    "secret",
)
"""Kinds of volumes that give nothing of the host away (check_restrictedVolumes.go)."""
SELINUX_TYPES = ("container_t", "container_init_t", "container_kvm_t", "container_engine_t")
PROFILES = ("RuntimeDefault", "Localhost")
"""Profiles of seccomp and of AppArmor that confine a container."""
APPARMOR = "container.apparmor.security.beta.kubernetes.io/"
"""Prefix of the older annotation that names a container's AppArmor profile."""
APPARMOR_DEFAULTS = ("", "runtime/default")
APPARMOR_LOCAL = "localhost/"
"""Prefix of the name of a host's profile in that annotation."""
PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
HOOKS = ("postStart", "preStop")
