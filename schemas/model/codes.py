"""The vocabulary of problems: one code per kind of fault, with the sentence that says why it hurts.

A code is stable: users search for it, suppress nothing by it, and tests name it.
"""

import tomllib
from enum import StrEnum, auto
from pathlib import Path

_SAID = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))


class Code(StrEnum):
    """The kind of fault of a problem, as ``file-empty`` for FILE_EMPTY; codes.toml has the rest."""

    @staticmethod
    def _generate_next_value_(name: str, *_: object) -> str:
        return name.lower().replace("_", "-")

    @property
    def why(self) -> str:
        """Its effect on a site."""
        text: str = _SAID["why"][self.value]
        return text

    @property
    def hint(self) -> bool:
        """True if it does no harm: it is shown, and nothing fails by it."""
        return self.value in _SAID["hints"]

    # --- the text of a file -------------------------------------------------------------------
    FILE_UNREADABLE = auto()
    YAML_SYNTAX = auto()
    FILE_TOO_LARGE = auto()
    FILE_EMPTY = auto()
    FILE_ENCODING = auto()
    FILE_CHARACTER = auto()
    YAML_TOO_DEEP = auto()
    YAML_TAG = auto()
    YAML_ANCHOR = auto()
    YAML_MERGE_KEY = auto()
    YAML_DIRECTIVE = auto()
    YAML_DOCUMENTS = auto()
    YAML_DUPLICATE_KEY = auto()
    YAML_KEY_TYPE = auto()
    YAML_NUMBER = auto()

    # --- the host list ------------------------------------------------------------------------
    HOSTS_TEXT = auto()
    HOSTS_COLUMNS = auto()
    HOSTS_CELL = auto()

    MORE_PROBLEMS = auto()

    # --- one value ----------------------------------------------------------------------------
    UNKNOWN_FIELD = auto()
    MISSING_FIELD = auto()
    WRONG_TYPE = auto()
    INVALID_VALUE = auto()
    OUT_OF_BOUNDS = auto()
    TODO_LEFT = auto()
    PLACEHOLDER = auto()
    ARGUMENT_UNCHECKED = auto()
    SECRET_IN_FILE = auto()

    # --- what a team brings -------------------------------------------------------------------
    EXTRA_FILES = auto()
    EXTRA_HOOK = auto()
    EXTRA_REACH = auto()
    EXTRA_RULE = auto()
    OWN_COMPONENT = auto()
    CHART_LOCK = auto()
    THIRD_PARTY_DANGER = auto()
    POD_NETWORK_UNFIT = auto()

    # --- names that lead nowhere --------------------------------------------------------------
    SITE_NAME_MISMATCH = auto()
    SITE_UNKNOWN = auto()
    FILE_MISSING = auto()
    FILE_CONTENT = auto()
    UNKNOWN_RELEASE = auto()
    UNKNOWN_REGION = auto()
    UNKNOWN_BUNDLE = auto()
    UNKNOWN_HARDWARE = auto()
    UNSTABLE_DISK = auto()
    UNKNOWN_OS = auto()
    OS_IMAGE_MISSING = auto()
    UNKNOWN_POOL = auto()
    UNKNOWN_FAULT = auto()
    UNKNOWN_ZONE = auto()
    DUPLICATE_NAME = auto()
    RESERVED_NAME = auto()
    IDENTITY_UNKNOWN = auto()
    CONTEXT_CLASH = auto()
    TEMPLATE_MARK = auto()

    PORT_TAKEN = auto()

    # --- networks -----------------------------------------------------------------------------
    NETWORK_NOT_CANONICAL = auto()
    ADDRESS_RESERVED = auto()
    NETWORK_OVERLAP = auto()
    NETWORK_TOO_SMALL = auto()
    NETWORK_TOO_LARGE = auto()
    ENDPOINT_OUTSIDE = auto()
    ENDPOINT_TAKEN = auto()
    GATEWAY_OUTSIDE = auto()
    HOST_OUTSIDE = auto()
    CONTROL_PLANE_SPREAD = auto()
    UNKNOWN_NETWORK = auto()
    HOST_NETWORK_INVALID = auto()
    HOST_MAC_MISSING = auto()

    # --- hosts --------------------------------------------------------------------------------
    HOST_DUPLICATE = auto()
    SITES_CLASH = auto()
    POOL_EMPTY = auto()

    # --- versions -----------------------------------------------------------------------------
    VERSION_UNSUPPORTED = auto()
    VERSION_SKEW = auto()

    # --- rollouts and health checks -----------------------------------------------------------
    CONTROL_PLANE_MISSING = auto()
    CONTROL_PLANE_EVEN = auto()
    CONTROL_PLANE_RACK = auto()
    ROLLOUT_STUCK = auto()
    ROLLOUT_ALL_AT_ONCE = auto()
    ROLLOUT_MEANINGLESS = auto()
    SURGE_UNUSED = auto()
    SPARES_TOO_MANY = auto()
    HEALTH_CHECK_LOOP = auto()
    HEALTH_CHECK_MEANINGLESS = auto()
    KUBELET_EVICTION = auto()
    KUBELET_REFUSES = auto()
    HOST_COMMAND = auto()
    FIRMWARE_TIME = auto()
    KUBELET_UNUSED = auto()
    NUMA_ADMISSION = auto()
    HOST_AGENT = auto()
    LABEL_RESERVED = auto()
    LABELS_TOO_LONG = auto()

    # --- accelerators and network devices -----------------------------------------------------
    ACCELERATOR_UNKNOWN = auto()
    ACCELERATOR_UNSERVED = auto()
    RACK_AMBIGUOUS = auto()
    NVLINK_DOMAIN = auto()
    RESOURCE_CLASH = auto()
    SHARING_IMPOSSIBLE = auto()
    IMAGE_SHADOWED = auto()
    IMAGE_UNKNOWN = auto()
    IMAGE_ARCHITECTURE = auto()
    NETWORK_DEVICE_CLASH = auto()
    NETWORK_DEVICE_UNSUPPORTED = auto()

    # --- scheduling ---------------------------------------------------------------------------
    SCHEDULER_CLASH = auto()
    SCHEDULER_INCOMPLETE = auto()
    SCHEDULER_MEANINGLESS = auto()
    TOPOLOGY_LEVELS = auto()
    GANG_TIMEOUT = auto()
    UNKNOWN_PRIORITY = auto()
    PRIORITY_CLASH = auto()
    TEAM_CLASH = auto()
    OVERCOMMITTED = auto()
    LIMIT_UNSUPPORTED = auto()
    OFF_PEAK_MEANINGLESS = auto()
    STORAGE_LIMITS = auto()

    # --- the object cache ---------------------------------------------------------------------
    CACHE_QUOTA = auto()
    CACHE_CAPACITY = auto()
    CACHE_TABLE = auto()
    CACHE_NAMESPACE = auto()
    CACHE_UNREACHABLE = auto()

    # --- fault remediation and monitoring -----------------------------------------------------
    HEALER_CLASH = auto()
    HEALER_EMPTY = auto()
    HEALER_MEANINGLESS = auto()
    REPAIR_ALL_AT_ONCE = auto()
    REPAIR_LOOP = auto()
    REPAIR_STUCK = auto()
    UNKNOWN_RECEIVER = auto()
    ALERT_MEANINGLESS = auto()

    # --- Secrets ------------------------------------------------------------------------------
    SECRET_STORE = auto()
    SECRET_CLASH = auto()
    SECRETS_MEANINGLESS = auto()

    # --- objects ------------------------------------------------------------------------------
    OBJECT_INVALID = auto()

    # --- Foresite itself ----------------------------------------------------------------------
    FORESITE_VERSION = auto()

    # --- policies -----------------------------------------------------------------------------
    POLICY_VIOLATED = auto()
    POLICY_FILE = auto()
    CEL_RULE = auto()
    CEL_UNSAFE = auto()
    EXCEPTION_EXPIRED = auto()
    EXCEPTION_UNUSED = auto()
    PATCH_UNUSED = auto()
    PATCH_FAILED = auto()
    PATCH_REFUSED = auto()
    PATCH_EXPIRED = auto()
