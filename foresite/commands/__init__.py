"""A module a command: ``run`` takes its arguments and returns its exit code."""
