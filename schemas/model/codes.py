"""The vocabulary of problems: one code per kind of fault, with the sentence that says why it hurts.

A code is stable: users search for it, suppress nothing by it, and tests name it. codes.toml lists
all codes by area; here are those that Python names. Tables of messages name the others.
"""

from enum import StrEnum, auto

from schemas.kubernetes.tables import read_table

_SAID = read_table(__file__)


class Code(StrEnum):
    """The kind of fault of a problem, as ``file-empty`` for FILE_EMPTY."""

    _ignore_ = ["each"]

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
    HOSTS_TEXT = auto()
    HOSTS_COLUMNS = auto()
    HOSTS_CELL = auto()
    MORE_PROBLEMS = auto()
    UNKNOWN_FIELD = auto()
    MISSING_FIELD = auto()
    WRONG_TYPE = auto()
    INVALID_VALUE = auto()
    OUT_OF_BOUNDS = auto()
    TODO_LEFT = auto()
    PLACEHOLDER = auto()
    SECRET_IN_FILE = auto()
    EXTRA_REACH = auto()
    EXTRA_RULE = auto()
    OWN_COMPONENT = auto()
    THIRD_PARTY_DANGER = auto()
    SITE_NAME_MISMATCH = auto()
    SITE_UNKNOWN = auto()
    FILE_MISSING = auto()
    FILE_CONTENT = auto()
    UNKNOWN_RELEASE = auto()
    UNKNOWN_REGION = auto()
    UNKNOWN_BUNDLE = auto()
    UNKNOWN_HARDWARE = auto()
    UNKNOWN_OS = auto()
    OS_IMAGE_MISSING = auto()
    DUPLICATE_NAME = auto()
    RESERVED_NAME = auto()
    TEMPLATE_MARK = auto()
    PORT_TAKEN = auto()
    NETWORK_NOT_CANONICAL = auto()
    ADDRESS_RESERVED = auto()
    SITES_CLASH = auto()
    POOL_EMPTY = auto()
    VERSION_UNSUPPORTED = auto()
    VERSION_SKEW = auto()
    CONTROL_PLANE_EVEN = auto()
    ROLLOUT_STUCK = auto()
    ROLLOUT_ALL_AT_ONCE = auto()
    HEALTH_CHECK_LOOP = auto()
    ACCELERATOR_UNSERVED = auto()
    RESOURCE_CLASH = auto()
    IMAGE_UNKNOWN = auto()
    IMAGE_ARCHITECTURE = auto()
    SCHEDULER_MEANINGLESS = auto()
    OVERCOMMITTED = auto()
    CACHE_QUOTA = auto()
    CACHE_CAPACITY = auto()
    CACHE_NAMESPACE = auto()
    CACHE_UNREACHABLE = auto()
    HEALER_EMPTY = auto()
    HEALER_MEANINGLESS = auto()
    ALERT_MEANINGLESS = auto()
    OBJECT_INVALID = auto()
    FORESITE_VERSION = auto()
    POLICY_VIOLATED = auto()
    POLICY_FILE = auto()
    EXCEPTION_EXPIRED = auto()
    EXCEPTION_UNUSED = auto()
    PATCH_UNUSED = auto()
    PATCH_FAILED = auto()
    PATCH_REFUSED = auto()
    PATCH_EXPIRED = auto()

    for each in _SAID["why"]:
        if each.upper().replace("-", "_") not in vars():
            vars()[each.upper().replace("-", "_")] = each
