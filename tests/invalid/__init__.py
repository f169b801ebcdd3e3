"""Fault files, and the repositories that they describe; faults.py says how to read one."""
