"""Fixtures that several tests share."""

pytest_plugins = [
    "tests.kit.controlplane_fixture",
    "tests.kit.recover_world",
    "tests.kit.survival_world",
    "tests.kit.twin.fixture",
]
