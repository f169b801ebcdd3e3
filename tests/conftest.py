"""Fixtures that several tests share."""

import gc

from hypothesis import settings

pytest_plugins = [
    "tests.kit.proof",
    "tests.kit.controlplane_fixture",
    "tests.kit.rights_server",
    "tests.kit.recover_world",
    "tests.kit.remediation_server",
    "tests.kit.survival_world",
    "tests.kit.twin.fixture",
]

# Every machine draws the same way: where CI is set, Hypothesis would draw the same examples in each
# run. A timing fails no test.
settings.register_profile("foresite", settings.get_profile("default"), derandomize=False,
                          deadline=None, print_blob=True)  # fmt: skip
settings.load_profile("foresite")


def pytest_collection_finish() -> None:
    """Leave what was imported and collected out of every later collection of garbage: it stays
    until the end. Young objects are looked at less often, as most tests are over before."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 10)
