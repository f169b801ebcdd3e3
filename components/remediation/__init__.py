"""Fault remediation: faults of hosts are found, and repaired without a person where that helps."""
