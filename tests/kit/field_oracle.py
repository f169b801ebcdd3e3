"""deepdiff as a second opinion on what differs in two values that are laid out alike."""

from collections.abc import Iterator
from typing import Any

from deepdiff import DeepDiff

from components.effects.vocabulary import ABSENT, FieldChange, Path
from preview.differences.fields.pairing import Slot


def values(left: Any, right: Any, _path: Path = ()) -> Iterator[FieldChange]:
    """The values that differ, in the form of ``compared._values``."""
    found = DeepDiff(
        left,
        right,
        view="tree",
        custom_operators=[_WholeTexts()],
        # Fields that start with two underscores are fields.
        ignore_private_variables=False,
        # However little two maps have in common, each field is compared.
        threshold_to_diff_deeper=0,
    )
    for level in (each for levels in found.values() for each in levels):
        steps = level.path(output_format="list")
        path = tuple(step.at if isinstance(step, Slot) else step for step in steps)
        before = ABSENT if level.report_type == "dictionary_item_added" else level.t1
        after = ABSENT if level.report_type == "dictionary_item_removed" else level.t2
        yield FieldChange(path, before, after)


class _WholeTexts:
    """An operator for deepdiff: it need not look for the lines that differ, as nobody asks it."""

    def match(self, level: Any) -> bool:
        return isinstance(level.t1, str) and isinstance(level.t2, str)

    def give_up_diffing(self, level: Any, diff_instance: Any) -> bool:
        if level.t1 != level.t2:
            diff_instance.custom_report_result("values_changed", level)
        return True
