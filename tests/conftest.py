"""Fixtures that several tests share."""

pytest_plugins = ["tests.controlplane_fixture", "tests.twin.fixture"]
