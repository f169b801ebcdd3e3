"""The vocabulary of problems: one code per kind of fault, with the sentence that says why it hurts.
A code is stable: users search for it, suppress nothing by it, and tests name it. codes.toml lists
all codes by area; here are those that code names. Tables of messages name the others."""

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
    FILE_EMPTY = auto()
    FILE_CHARACTER = auto()
    MORE_PROBLEMS = auto()
    UNKNOWN_FIELD = auto()
    WRONG_TYPE = auto()
    INVALID_VALUE = auto()
    TODO_LEFT = auto()
    SECRET_IN_FILE = auto()
    EXTRA_REACH = auto()
    EXTRA_RULE = auto()
    OWN_COMPONENT = auto()
    THIRD_PARTY_DANGER = auto()
    FILE_MISSING = auto()
    FILE_CONTENT = auto()
    UNKNOWN_RELEASE = auto()
    UNKNOWN_BUNDLE = auto()
    DUPLICATE_NAME = auto()
    IMAGE_ARCHITECTURE = auto()
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
