"""Fault remediation: faults of hosts are found, and mended without a person where that helps."""
