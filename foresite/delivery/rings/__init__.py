"""Rings that wait: whether sites are healthy at the applied revision, and how long to wait."""
