"""Fixtures that several tests share."""

pytest_plugins = [
    "tests.controlplane_fixture",
    "tests.recover_world",
    "tests.survival_world",
    "tests.twin.fixture",
]
