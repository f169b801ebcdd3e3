"""Fixtures that several tests share."""

import gc

pytest_plugins = [
    "tests.kit.proof",
    "tests.kit.controlplane_fixture",
    "tests.kit.recover_world",
    "tests.kit.remediation_server",
    "tests.kit.survival_world",
    "tests.kit.twin.fixture",
]


def pytest_collection_finish() -> None:
    """Leave what was imported and collected out of every later collection of garbage: it stays
    until the end. Young objects are looked at less often, as most tests are over before."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 10)
