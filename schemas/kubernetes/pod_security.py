"""The Pod Security Standards, as lists: what a pod may be and have at each level
(k8s.io/pod-security-admission v0.34.3, policy/check_*.go and api/constants.go)."""

from schemas.kubernetes.tables import read_table

PREFIX = "pod-security.kubernetes.io/"
"""Prefix of the labels for a namespace's levels."""
MODES = ("enforce", "audit", "warn")
ENFORCE = f"{PREFIX}enforce"
_LISTS = read_table(__file__)
BASELINE_CAPABILITIES, RESTRICTED_CAPABILITIES, SYSCTLS, VOLUMES = (
    tuple(_LISTS[name])
    for name in ("baseline_capabilities", "restricted_capabilities", "sysctls", "volumes")
)
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
